#include "admin/replay.h"

#include <algorithm>
#include <deque>
#include <string>

#include "core/compose_scene.h"
#include "core/message.h"
#include "support/catch.h"

// What returns from a parking queue, and what of it a later failure still knows.

namespace retryd::admin::compose_replay_test {
namespace {

using namespace core::test;

constexpr std::string_view error_queue = "retryd.errors";
const ReplayStamp stamp{1'800'000'000, "run1", "email.parked"};

/// A parked message and what a replay makes of it.
struct Replaying : ComposeScene {
    core::Message replayed(std::string_view to = "email") {
        const Parked parked = read_parked(message.properties.header_table(), error_queue, proof_keys);
        return compose_replay(message, parked, to, stamp, compose_context_of(parked, connection_user, keys), scratch);
    }
    void park() {
        died({}, {{"own", text("stays")}});
        message = parked({core::ParkReason::attempts_exhausted, 6});
    }
    using ComposeScene::parked;
    core::ProofKeys keys;  // none: no proof is written
    ReplayScratch scratch;
};

}  // namespace

TEST_CASE("a replayed message begins anew: no death, no count, no age, no reason to be parked") {
    Replaying scene;
    scene.park();
    CHECK(names_of_headers(scene.replayed()) == "own retryd-exchange retryd-routing-key retryd-queue retryd-replays");
}

TEST_CASE("a replay is written down: when, by which run, from where to where, and what was before") {
    Replaying scene;
    scene.park();
    CHECK(header_of(scene.replayed(), "retryd-replays") ==
          "A:[F:{time=T:1800000000, id=S:run1, from=S:email.parked, to=S:email, "
          "parked-reason=S:attempts-exhausted, attempts=l:6}]");
}

TEST_CASE("after a replay that failed, the producer's exchange and key are still known, and the count is fresh") {
    Replaying scene;
    scene.park();
    scene.message = scene.replayed();
    const core::Table before = scene.message.properties.header_table();
    scene.died({.exchange = "", .routing_key = "email"}, {before.begin(), before.end()});
    const core::Message again = scene.retried(attempt_of(*scene.context().death, scene.context().history));
    CHECK(header_of(again, "retryd-attempt") == "l:1");
    CHECK(header_of(again, "retryd-exchange") == "S:shop");
    CHECK(header_of(again, "retryd-routing-key") == "S:order.paid");
    CHECK(newest_replay_id(again.properties.header_table()) == "run1");
}

TEST_CASE("what was set aside stays set aside, and what a broker parked without retryd is set aside now") {
    Replaying scene;
    scene.arrives_with(
        {{"x-death", scene.headers.array({scene.headers.death({})})}, {"CC", scene.headers.array({text("copy")})}});
    scene.message.properties.user_id = "stranger";
    scene.message.properties.expiration = "5000";
    const core::Message returned = scene.replayed();
    CHECK(header_of(returned, "CC") == "(absent)");
    CHECK(header_of(returned, "retryd-cc") == "A:[S:copy]");
    CHECK(header_of(returned, "retryd-user-id") == "S:stranger");
    CHECK(header_of(returned, "retryd-expiration") == "S:5000");
    CHECK_FALSE(returned.properties.user_id);
    CHECK_FALSE(returned.properties.expiration);
    CHECK(returned.properties.delivery_mode == 2);
}

TEST_CASE("sent elsewhere, a message belongs to the queue that it was sent to") {
    Replaying scene;
    scene.park();
    const core::Message returned = scene.replayed("other");
    CHECK(header_of(returned, "retryd-queue") == "S:other");
    CHECK(read_claimed_history(returned.properties.header_table(), "other").routing_key == "order.paid");
}

TEST_CASE("the newest replay stands first, and the seventeenth is forgotten") {
    Replaying scene;
    std::deque<core::OwnedDelivery> rounds;
    for (std::size_t round = 0; round < most_replays + 5; ++round) {
        const std::string queue = "q" + std::to_string(round);
        rounds.emplace_back(core::Delivery{1, false, scene.replayed(queue)});
        scene.message = rounds.back().get().message;
        const auto replays = read_replays(scene.message.properties.header_table());
        CHECK(replays.size() == std::min(round + 1, most_replays));
        CHECK(replays.front().to == queue);
        CHECK(replays.back().to == "q" + std::to_string(round + 1 - replays.size()));
    }
}

TEST_CASE("a forged list of replays is made anew: nothing nested, nothing long, nothing unknown travels on") {
    Replaying scene;
    const std::string long_text(1'000, 'x');
    const core::Value inner = scene.headers.table({{"deep", scene.headers.array({text("er")})}});
    scene.arrives_with(
        {{"retryd-queue", text("email")},
         {"retryd-replays",
          scene.headers.array(
              {scene.headers.table(
                   {{"id", text(long_text)}, {"evil", inner}, {"time", text("soon")}, {"attempts", number(-4)}}),
               text("no table"), scene.headers.table({{"id", text("never read")}})})}});
    const core::Message returned = scene.replayed();
    const auto replays = read_replays(returned.properties.header_table());
    REQUIRE(replays.size() == 2);
    CHECK(replays[1].id.size() == longest_replay_text);
    CHECK(replays[1].time == 0);
    CHECK(replays[1].attempts == 0);
    CHECK(header_of(returned, "retryd-replays").find("evil") == std::string::npos);
}

TEST_CASE("of a forged list that is longer than any of ours no more is read, and no more is ever written") {
    Headers headers;
    const std::vector<core::Value> elements(most_replays + 1, headers.table({{"id", text("x")}}));
    CHECK(read_replays(headers.fields({{"retryd-replays", headers.array(elements)}})).size() == most_replays);
    ReplayFields fields;
    const core::Value written = write_replays(std::vector<Replay>(most_replays + 1), fields);
    CHECK(array_of(&written)->size() == most_replays);
}

TEST_CASE("a list of replays that is none has no newest") {
    Headers headers;
    CHECK(newest_replay_id({}).empty());
    CHECK(newest_replay_id(headers.fields({{"retryd-replays", text("x")}})).empty());
    CHECK(newest_replay_id(headers.fields({{"retryd-replays", headers.array({text("x")})}})).empty());
}

}  // namespace retryd::admin::compose_replay_test
