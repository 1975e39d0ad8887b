// `parked_age` and a daemon that is killed: a message is archived before it is dropped, and parked or archived at every
// moment.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "faults/faults.h"
#include "support/catch.h"
#include "support/folder.h"
#include "support/parked_scene.h"

using namespace retryd::test;

namespace {

struct AgeThroughFaults : ParkedScene {
    AgeThroughFaults() : network(broker_address()) {
        config.uris = {uri_of(network.address())};
        entry().parked_age = "{max: 30m, archive: " + folder.path() + "}";
    }
    int archived() const {
        std::ostringstream text;
        for (const auto& file : std::filesystem::directory_iterator(folder.path()))
            text << std::ifstream(file.path(), std::ios::binary).rdbuf();
        return lines_with(text.str(), {"\"queue\""});
    }
    std::set<std::string> archived_bodies() const {
        std::set<std::string> bodies;
        for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
            std::ifstream lines(file.path());
            for (std::string line; std::getline(lines, line);) {
                const auto at = line.rfind("\"body\":");
                if (at != std::string::npos) bodies.insert(line.substr(at));
            }
        }
        return bodies;
    }

    TemporaryFolder folder;
    FaultProxy network;
};

}  // namespace

TEST_CASE("parked_age, kill -9 between archive and drop: what is archived stays parked, and is archived again") {
    AgeThroughFaults s;
    s.park(100);
    const auto missing = s.network.on(every(ack()), fault::swallow());
    s.start();
    REQUIRE(s.network.await_matched(missing));
    // As many as its first consumer holds: no ack makes room for more.
    REQUIRE(await([&] { return s.archived() == 32; }));
    s.daemon.kill();
    REQUIRE(s.await_depth(s.parking, 100));
    s.network.heal();
    s.start();
    REQUIRE(s.await_depth(s.parking, 0));
    CHECK(await([&] { return s.archived() == 132; }));
    s.stop();
}

TEST_CASE("parked_age, kill -9 at any moment: every message is parked or archived", "[slow][night]") {
    constexpr int parked = 3'000;
    AgeThroughFaults s;
    s.park(parked);
    // A daemon that is killed with the last messages in hand, unacked, archives them anew each time: the last one ends.
    for (int round = 0; s.depth(s.parking) > 500; ++round) {
        REQUIRE(round < 50);
        s.start();
        // Each time a little later.
        const int enough = s.archived() + 33 + 50 * (round % 8);
        REQUIRE(await([&] { return s.archived() >= enough; }));
        s.daemon.kill();
        // What it held comes back a moment later.
        await([&] { return s.archived() + static_cast<int>(s.depth(s.parking)) >= parked; });
        CHECK(s.archived() + static_cast<int>(s.depth(s.parking)) >= parked);
    }
    s.start();
    REQUIRE(await([&] { return s.archived_bodies().size() == parked; }));
    s.stop();
    CHECK(s.depth(s.parking) == 0);
}
