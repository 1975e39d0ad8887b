// Nodes of a cluster die under load, and come back.
#include <thread>

#include "cluster/load.h"
#include "support/catch.h"

using namespace retryd::test;

namespace {

const std::string rung = "orders.retry.200ms";

/// The first node that is none of these.
int other_than(int one, int another) {
    for (int node = 1;; ++node) {
        if (node != one && node != another) return node;
    }
}

}  // namespace

TEST_CASE("the node that retryd is connected to is killed: it goes on at another one, and nothing is lost") {
    Cluster cluster;
    Load load(cluster, 1, 1);
    load.run_until_parked();
    cluster.kill(1);
    CHECK(await([&] { return load.consuming(); }, 2 * patience));
    load.run_for(seconds(8));
    cluster.start(1);
    load.check();
}

TEST_CASE("a follower of the rungs is killed: nothing is lost", "[night]") {
    Cluster cluster;
    Load load(cluster, 1, 1);
    load.run_until_parked();
    const int follower = other_than(cluster.leader_of(rung), 1);
    cluster.kill(follower);
    load.run_for(seconds(8));
    CHECK(load.consuming());
    cluster.start(follower);
    load.check();
}

TEST_CASE("the node that leads the rungs is killed, which is not the one that retryd is connected to", "[night]") {
    Cluster cluster;
    constexpr int leader = 2;
    Load load(cluster, 1, leader);
    load.run_until_parked();
    REQUIRE(cluster.leader_of(rung) == leader);
    cluster.kill(leader);
    CHECK(await([&] { return load.consuming(); }));
    load.run_for(seconds(8));
    cluster.start(leader);
    load.check();
}

TEST_CASE("two of three nodes are away for 30 s: nothing is lost, and everything goes on by itself", "[night]") {
    Cluster cluster;
    Load load(cluster, 1, 1);
    load.run_until_parked();
    cluster.kill(2);
    cluster.kill(3);
    load.run_for(seconds(30));
    cluster.start(2);
    cluster.start(3);
    CHECK(await([&] { return load.consuming(); }));
    load.run_for(seconds(3));
    load.check();
}
