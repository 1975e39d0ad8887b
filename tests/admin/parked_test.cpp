#include "admin/parked.h"

#include "core/headers.h"
#include "support/catch.h"

// What a parked message tells, and whether a selection means it.

namespace retryd::admin::parked_test {
namespace {

using namespace core::test;

constexpr std::string_view error_queue = "retryd.errors";
constexpr std::uint64_t parked_at = 1'800'000'000;

struct Scene {
    Headers headers;

    core::Table parked_by_retryd() {
        return headers.proven({{"x-death", headers.array({headers.death({})})},
                               {"retryd-queue", text("email")},
                               {"retryd-attempt", number(6)},
                               {"retryd-reason", text("rejected")},
                               {"retryd-parked-reason", text("attempts-exhausted")},
                               {"retryd-parked-at", seconds(parked_at)},
                               {"tenant", text("acme")},
                               {"level", number(3)},
                               {"vip", {core::Kind::boolean, true}}});
    }
    bool selected(const Selection& selection) {
        const core::Table table = parked_by_retryd();
        const core::Message message{{.headers = table, .message_id = "id-1", .type = "order.paid"}, {}};
        return selects(selection, read_parked(table, error_queue, proof_keys), message);
    }
};

core::WallTime at(std::int64_t seconds_since_1970) {
    return core::WallTime{std::chrono::seconds{seconds_since_1970}};
}

}  // namespace

TEST_CASE("of what retryd parked, its headers tell queue, reason, time and attempts") {
    Scene scene;
    const core::Table table = scene.parked_by_retryd();
    const Parked parked = read_parked(table, error_queue, proof_keys);
    CHECK(parked.by_retryd);
    CHECK(parked.queue == "email");
    CHECK(parked.reason == "attempts-exhausted");
    CHECK(parked.at == parked_at);
    CHECK(parked.attempts == 6);
    CHECK(parked.death_reason == "rejected");
}

TEST_CASE("of what comes from a detour the work queue is known with a proof only: anybody's queue may have that name") {
    Headers headers;
    const core::Value died = headers.array({headers.death({.queue = "retryd.detour.2s", .reason = "expired"})});
    const std::vector<core::Field> fields{{"x-death", died}, {"retryd-queue", text("email")}};
    CHECK(read_parked(headers.fields({fields[0], fields[1]}), error_queue, proof_keys).queue.empty());
    CHECK(read_parked(headers.proven({fields[0], fields[1]}), error_queue, proof_keys).queue == "email");
    const core::Value aside = headers.array(
        {headers.death({.queue = "retryd.errors"}), headers.death({.queue = "retryd.detour.2s", .reason = "expired"})});
    CHECK(read_parked(headers.fields({{"x-death", aside}, fields[1]}), error_queue, proof_keys).queue.empty());
}

TEST_CASE("of what the broker dead-lettered, x-death tells the work queue, and its newest entry why and when") {
    Headers headers;
    const core::Value newest =
        headers.death({.queue = "retryd.errors", .reason = "delivery_limit", .time = 1'800'000'100});
    const core::Table table = headers.fields(
        {{"x-death", headers.array({newest, headers.death({.queue = "email"})})}, {"retryd-queue", text("older")}});
    const Parked parked = read_parked(table, error_queue, proof_keys);
    CHECK_FALSE(parked.by_retryd);
    CHECK(parked.queue == "email");
    CHECK(parked.reason == "delivery_limit");
    CHECK(parked.at == 1'800'000'100);
    CHECK(parked.attempts == 0);
}

TEST_CASE("what a message says of its own work queue sends it nowhere") {
    Headers headers;
    const std::vector<core::Field> forged{{"retryd-queue", text("victim")},
                                          {"retryd-parked-reason", text("attempts-exhausted")},
                                          {"retryd-attempt", number(9)},
                                          {"retryd-proof", text("0123456789abcdef")}};
    Parked parked = read_parked(headers.fields(forged), error_queue, proof_keys);
    CHECK_FALSE(parked.by_retryd);
    CHECK(parked.queue.empty());
    CHECK(parked.reason == "attempts-exhausted");  // it may have been parked by an earlier version
    auto moved_by_broker = forged;
    moved_by_broker.push_back(
        {"x-death", headers.array({headers.death({.queue = "retryd.errors", .reason = "rejected"}),
                                   headers.death({.queue = "own"})})});
    parked = read_parked(headers.fields(moved_by_broker), error_queue, proof_keys);
    CHECK(parked.queue == "own");
    CHECK(parked.reason == "rejected");
    CHECK(parked.attempts == 0);
    auto by_earlier_version = forged;
    by_earlier_version.push_back({"x-death", headers.array({headers.death({.queue = "victim"})})});
    parked = read_parked(headers.fields(by_earlier_version), error_queue, proof_keys);
    CHECK(parked.queue == "victim");
    CHECK(parked.reason == "attempts-exhausted");
    CHECK(parked.attempts == 9);
    CHECK_FALSE(parked.carried.proven);
}

TEST_CASE("a copied proof sends a message nowhere that the broker moved here from somebody's own queue") {
    Headers headers;
    const core::Value moved = headers.death({.queue = "retryd.errors", .reason = "rejected"});
    const core::Field reason{"retryd-parked-reason", text("attempts-exhausted")};
    const auto copied = [&](std::initializer_list<core::Value> deaths, bool parked_once) {
        const core::Field died{"x-death", headers.array(deaths)};
        const core::Field queue{"retryd-queue", text("victim")};
        return parked_once ? headers.proven({died, queue, reason}) : headers.proven({died, queue});
    };
    const core::Value own = headers.death({.queue = "own", .reason = "expired"});
    const core::Value before = headers.death({.queue = "own-before", .reason = "expired"});
    const core::Value rung = headers.death({.queue = "retryd.shared.5s", .reason = "expired"});
    for (const bool parked_once : {false, true}) {
        CAPTURE(parked_once);
        const Parked one = read_parked(copied({moved, own}, parked_once), error_queue, proof_keys);
        CHECK(one.queue == "own");
        CHECK_FALSE(one.by_retryd);
        CHECK(one.reason == "rejected");
        // The broker's record tells of several queues: not which of them was his work queue.
        CHECK(read_parked(copied({moved, own, before}, parked_once), error_queue, proof_keys).queue.empty());
        CHECK(read_parked(copied({moved, rung}, parked_once), error_queue, proof_keys).queue == "victim");
        CHECK(read_parked(headers.proven({{"retryd-queue", text("victim")}}), error_queue, proof_keys).queue ==
              "victim");
    }
}

TEST_CASE("a message without a story has no queue, no reason and no time") {
    const Parked parked = read_parked({}, error_queue, proof_keys);
    CHECK(parked.queue.empty());
    CHECK(parked.reason.empty());
    CHECK_FALSE(parked.at);
}

TEST_CASE("forged headers of other types are as if they were not there") {
    Headers headers;
    const core::Table table = headers.fields({{"retryd-parked-reason", text("too-old")},
                                              {"retryd-queue", number(7)},
                                              {"retryd-parked-at", number(-5)},
                                              {"x-death", text("none")}});
    const Parked parked = read_parked(table, error_queue, proof_keys);
    CHECK(parked.queue.empty());
    CHECK(parked.reason == "too-old");
    CHECK_FALSE(parked.at);
}

TEST_CASE("a selection means what fits all of its conditions") {
    Scene scene;
    CHECK(scene.selected({}));
    CHECK(scene.selected({.queue = "email"}));
    CHECK(scene.selected({.queue = "e*"}));
    CHECK_FALSE(scene.selected({.queue = "sms"}));
    CHECK(scene.selected({.queue = "email", .reason = "attempts-*"}));
    CHECK_FALSE(scene.selected({.queue = "email", .reason = "too-old"}));
}

TEST_CASE("a selection by header compares texts, numbers and truth values") {
    Scene scene;
    CHECK(scene.selected({.headers = {{"tenant", "acme"}, {"level", "3"}, {"vip", "true"}}}));
    CHECK(scene.selected({.headers = {{"tenant", "ac*"}}}));
    CHECK_FALSE(scene.selected({.headers = {{"tenant", "acme"}, {"level", "4"}}}));
    CHECK_FALSE(scene.selected({.headers = {{"missing", "*"}}}));
}

TEST_CASE("a selection by time takes what was parked before or after a moment, that moment included") {
    Scene scene;
    CHECK(scene.selected({.parked_before = at(parked_at)}));
    CHECK_FALSE(scene.selected({.parked_before = at(parked_at - 1)}));
    CHECK(scene.selected({.parked_after = at(parked_at)}));
    CHECK_FALSE(scene.selected({.parked_after = at(parked_at + 1)}));
}

TEST_CASE("what nobody knows the time of, or claims an impossible one, is selected by no time") {
    Headers headers;
    for (const core::Table& table :
         {core::Table{}, headers.fields({{"retryd-parked-reason", text("too-old")},
                                         {"retryd-parked-at", seconds(300'000'000'000U)}})}) {
        const Parked parked = read_parked(table, error_queue, proof_keys);
        const core::Message message{{.headers = table}, {}};
        CHECK_FALSE(selects({.parked_before = at(4'000'000'000)}, parked, message));
        CHECK_FALSE(selects({.parked_after = at(0)}, parked, message));
        CHECK(selects({}, parked, message));
    }
}

}  // namespace retryd::admin::parked_test
