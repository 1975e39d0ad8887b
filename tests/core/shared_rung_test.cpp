#include "core/names.h"
#include "core/topology.h"
#include "support/catch.h"

namespace retryd::core::shared_rung_test {
namespace {

using namespace std::chrono_literals;

const BrokerFeatures rabbit_3_9 = features_of({3, 9, 29});
const BrokerFeatures rabbit_4_0 = features_of({4, 0, 5});

Ladder shared_ladder() {
    Ladder ladder{"shared", {5s}};
    ladder.return_path = ReturnPath::headers;
    return ladder;
}

}  // namespace

TEST_CASE("a shared rung is a fanout exchange and a queue of one name, behind which the return exchange lies") {
    Policy policy;
    policy.error_exchange = "my.errors";
    const Topology rung = rung_topology(policy, shared_ladder(), "email", 5s, false, rabbit_4_0);
    const Arguments to_return{{"x-queue-type", "quorum"},
                              {"x-message-ttl", std::int64_t{5000}},
                              {"x-dead-letter-exchange", "retryd.return"},
                              {"x-dead-letter-strategy", "at-least-once"},
                              {"x-overflow", "reject-publish"}};
    CHECK(rung == Topology{ExchangeSpec{"retryd.return", "headers", {{"alternate-exchange", "my.errors"}}},
                           ExchangeSpec{"retryd.shared.5s", "fanout", {}}, QueueSpec{"retryd.shared.5s", to_return, {}},
                           BindingSpec{"retryd.shared.5s", "retryd.shared.5s", "", {}}});
}

TEST_CASE("a shared rung is the same for all work queues, and classic before 3.10") {
    CHECK(rung_topology({}, shared_ladder(), "email", 5s, false, rabbit_4_0) ==
          rung_topology({}, shared_ladder(), "other", 5s, false, rabbit_4_0));
    const Topology old = rung_topology({}, shared_ladder(), "email", 5s, false, rabbit_3_9);
    CHECK(std::get<QueueSpec>(old[2]).arguments == Arguments{{"x-queue-type", "classic"},
                                                             {"x-message-ttl", std::int64_t{5000}},
                                                             {"x-dead-letter-exchange", "retryd.return"}});
}

TEST_CASE("a work queue is bound to the return exchange by its name in a header") {
    CHECK(home_binding("email") ==
          BindingSpec{"email", "retryd.return", "", {{"x-match", "all"}, {"retryd-queue", "email"}}});
}

TEST_CASE("a shared rung is known by its name, and nothing else is taken for one") {
    for (const auto delay : {1ms, 300000ms, 5400000ms}) {
        CHECK(looks_like_shared_rung(shared_rung_name("shared", delay, false)));
        CHECK(looks_like_shared_rung(shared_rung_name("a-b_1", delay, true)));
    }
    for (const char* name :
         {"retryd.errors", "retryd.parked", "retryd.5s", "retryd..5s", "my.shared.5s", "retryd.shared.",
          "retryd.shared.5s.low", "retryd.shared.soon", "retryd.a.b.5s", "retryd.shared.5s.high.high"}) {
        CAPTURE(name);
        CHECK_FALSE(looks_like_shared_rung(name));
    }
}

TEST_CASE("lanes lie evenly between the delay less the width and the delay") {
    CHECK(lanes_of(10s, {20, 5}) == std::vector<Milliseconds>{8s, 8500ms, 9s, 9500ms, 10s});
    CHECK(lanes_of(10s, {20, 2}) == std::vector<Milliseconds>{8s, 10s});
    CHECK(lanes_of(10s, {}) == std::vector<Milliseconds>{10s});
    CHECK(lanes_of(3ms, {99, 4}) == std::vector<Milliseconds>{1ms, 1ms, 2ms, 3ms});
}

TEST_CASE("every lane is one roll of the dice away, and none is taken by a roll out of range") {
    const Jitter jitter{20, 5};
    CHECK(lane_of(10s, jitter, 0.0) == 8s);
    CHECK(lane_of(10s, jitter, 0.2) == 8500ms);
    CHECK(lane_of(10s, jitter, 0.59) == 9s);
    CHECK(lane_of(10s, jitter, 0.99) == 10s);
    CHECK(lane_of(10s, jitter, 1.0) == 10s);
    CHECK(lane_of(10s, jitter, -1.0) == 8s);
}

TEST_CASE("the rungs of a ladder with lanes are all lanes of all steps, each delay once") {
    Ladder ladder{"l", {10s, 8s, 10s}};
    ladder.jitter = {20, 2};
    CHECK(distinct_delays(ladder) == std::vector<Milliseconds>{8s, 10s, 6400ms});
}

TEST_CASE("parking is a queue of ours or an exchange that has to be there") {
    CHECK(parking_topology({"{queue}.parked", "", std::nullopt}, "email", rabbit_4_0) ==
          Topology{parking_queue_spec("email.parked", rabbit_4_0)});
    CHECK(parking_topology({"", "team.dlx", "x"}, "email", rabbit_4_0) == Topology{ForeignExchange{"team.dlx"}});
}

TEST_CASE("before 3.10 the name of a parking queue is cut to what such a broker can make") {
    const std::string work_queue(255, 'q');
    const Parking parked{"{queue}.parked"};
    CHECK(parking_queue_of(parked, work_queue, rabbit_4_0).size() == 255);
    CHECK(parking_queue_of(parked, work_queue, rabbit_3_9).size() == 200);
    CHECK(parking_queue_of(parked, "email", rabbit_3_9) == "email.parked");
}

}  // namespace retryd::core::shared_rung_test
