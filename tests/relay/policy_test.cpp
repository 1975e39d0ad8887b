// What an entry says beyond its ladder: drop, max_age, jitter, parking exchanges, the dead-letter exchanges of others.
#include <algorithm>

#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::relay::policy_test {
namespace {

using Tags = std::vector<core::DeliveryTag>;
using Lines = std::vector<std::string>;

core::Policy with(const core::Parking& parked) {
    core::Policy policy;
    policy.entries.push_back({"email", {"l", {core::Milliseconds{1000}}}, parked});
    return policy;
}

DeadMessage used_up(const std::string& routing_key = "order.paid") {
    DeadMessage dead{"email", "rejected", "email", 1};
    dead.routing_key = routing_key;
    return dead;
}

}  // namespace

TEST_CASE("a parking queue that the work queues of a glob share is declared before any message comes") {
    core::Policy policy;
    policy.entries.push_back({"web.*", {"l", {core::Milliseconds{1000}}}, {"dead"}});
    policy.entries.push_back({"log.*", {"l", {core::Milliseconds{1000}}}, {"{queue}.parked"}});
    Fixture f(policy);
    f.answer_declares();
    CHECK(f.broker.queues.contains("dead"));
    CHECK_FALSE(f.broker.queues.contains(".parked"));
}

TEST_CASE("a dropped message is acked without being published anywhere, and reported with its reason") {
    core::Policy policy = Fixture::policy();
    policy.entries[0].on.rejected = core::Action::drop;
    Fixture f(policy);
    f.answer_declares();
    f.deliver();
    f.relay.flush(f.now);
    CHECK(f.relay.in_flight() == 0);
    CHECK(f.broker.acked == Tags{1});
    CHECK(f.reporter.lines == Lines{"dropped email  rejected"});
}

TEST_CASE("a dropped message asks nothing of the broker, however many names are forged") {
    core::Policy policy = Fixture::policy();
    policy.entries[1].on.rejected = core::Action::drop;
    Fixture f(policy);
    f.answer_declares();
    f.deliver({"web.a"});
    f.deliver({"web.b"});
    CHECK(f.broker.checks.empty());
    CHECK(f.broker.declares.empty());
}

TEST_CASE("what a consumer says of the wait chooses the rung, and goes no further; to a detour it goes along") {
    core::Policy policy = Fixture::policy();
    policy.entries[0].verdict = true;
    Fixture f(policy);
    f.answer_declares();
    DeadMessage dead;
    dead.retry_after = "30";
    f.deliver(dead);
    CHECK(f.lying_in("email.retry.30s") == 1);
    CHECK_FALSE(f.has_header("email.retry.30s", "x-opt-retry-after"));
    f.broker.full.insert("email.retry.30s");
    f.deliver(dead);
    f.confirm_all();
    f.deliver(dead);
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    CHECK(f.header("retryd.detour.2s", "x-opt-retry-after") == "30");
}

TEST_CASE("where the entry does not listen, what a consumer says of the wait is a header like any other") {
    Fixture f;
    f.answer_declares();
    DeadMessage dead;
    dead.retry_after = "30";
    f.deliver(dead);
    CHECK(f.header("email.retry.5s", "x-opt-retry-after") == "30");
}

TEST_CASE("the age of a message is told by the clock that comes in") {
    core::Policy policy = Fixture::policy();
    policy.entries[0].max_age = std::chrono::hours{24};
    Fixture f(policy);
    f.answer_declares();
    DeadMessage dead{"email", "rejected", "email", 1};
    dead.first_death = 1'800'000'000 - 25 * 3600;
    f.deliver(dead);
    CHECK(f.header("email.parked", "retryd-parked-reason") == "too-old");
    dead.first_death = 1'800'000'000 - 23 * 3600;
    f.deliver(dead);
    CHECK(f.lying_in("email.retry.30s") == 1);
    f.confirm_all();
    f.pass(std::chrono::hours{2});
    f.deliver(dead);
    CHECK(f.lying_in("email.parked") == 2);
}

TEST_CASE(
    "messages take the lanes of a rung in even shares, whatever the random numbers are; one that is decided again its "
    "own") {
    core::Policy policy = with({"{queue}.parked"});
    policy.entries[0].ladder.jitter = {20, 3};
    for (const double random : {0.0, 0.4, 0.9}) {
        Fixture f(policy, {}, true, nullptr, random);
        f.relay.pause();
        for (int i = 0; i < 30; ++i)
            f.deliver();
        f.answer_declares();
        f.relay.resume(f.now);
        f.confirm_all();
        for (const char* lane : {"email.retry.800ms", "email.retry.900ms", "email.retry.1s"}) {
            CHECK(f.lying_in(lane) >= 9);
            CHECK(f.lying_in(lane) <= 11);
        }
    }
}

TEST_CASE("parked to an exchange: with the configured key, with the queue's name in it, or with the producer's") {
    for (const auto& [configured, used] : std::vector<std::pair<std::optional<std::string>, std::string>>{
             {"dead", "dead"}, {"dead.{queue}", "dead.email"}, {"", ""}, {std::nullopt, "order.paid"}}) {
        CAPTURE(used);
        Fixture f(with({"", "team.dlx", configured}));
        f.broker.exchanges["team.dlx"] = "graveyard";
        f.broker.queues["graveyard"];
        f.answer_declares();
        f.deliver(used_up());
        CHECK(f.lying_in("graveyard") == 1);
        CHECK(f.broker.routing_keys == Lines{used});
        f.confirm_all();
        CHECK(f.broker.acked == Tags{1});
        CHECK(f.reporter.lines == Lines{"parked email team.dlx attempts-exhausted"});
    }
}

TEST_CASE("a parking exchange is looked for, never declared; where it is missing the catch-all takes its messages") {
    Fixture f(with({"", "team.dlx", "dead"}));
    REQUIRE(f.broker.declares.size() == 5);  // a rung, the exchange, three detours
    CHECK(f.broker.declares[1].topology == core::Topology{core::ForeignExchange{"team.dlx"}});
    f.broker.refused.insert("team.dlx");
    f.answer_declares();
    f.deliver(used_up());
    CHECK(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "attempts-exhausted");
    CHECK(f.reporter.lines == Lines{"refused team.dlx 406 in the broker's words"});
}

TEST_CASE("a parking exchange that leads nowhere: nothing is acked, and the catch-all takes it the next time") {
    Fixture f(with({"", "team.dlx", "dead"}));
    f.broker.exchanges["team.dlx"] = "not there";
    f.answer_declares();
    f.deliver(used_up());
    f.confirm_all();
    CHECK(f.broker.acked.empty());
    CHECK(f.reporter.lines == Lines{"unroutable team.dlx dead", "requeued team.dlx returned 0"});
    CHECK(f.broker.requeued == Tags{1});
    f.deliver(used_up());
    f.confirm_all();
    CHECK(f.lying_in("retryd.parked") == 1);
    CHECK(f.broker.acked == Tags{2});
    f.pass(core::Milliseconds{60'000});
    f.broker.exchanges["team.dlx"] = "graveyard";
    f.broker.queues["graveyard"];
    f.deliver(used_up());
    CHECK(f.lying_in("graveyard") == 1);
    f.confirm_all();
    CHECK(f.reporter.lines[3] == "healed team.dlx");
}

TEST_CASE("a reload ends the fault that a parking exchange leads nowhere, and asks at once whether it still does") {
    Fixture f(with({"", "team.dlx", "dead"}));
    f.broker.exchanges["team.dlx"] = "not there";
    f.answer_declares();
    f.deliver(used_up());
    f.confirm_all();
    f.reporter.lines.clear();
    SECTION("with another key") {
        f.adopt(with({"", "team.dlx", "good"}));
        CHECK(f.reporter.lines == Lines{"not-needed team.dlx"});
    }
    SECTION("with the same") {
        f.adopt(with({"", "team.dlx", "dead"}));
        f.answer_declares();
        f.deliver(used_up());
        f.confirm_all();
        CHECK(f.reporter.lines ==
              Lines{"not-needed team.dlx", "unroutable team.dlx dead", "requeued team.dlx returned 0"});
    }
}

TEST_CASE("one key of the producers that leads nowhere does not stop the others of the same exchange") {
    Fixture f(with({"", "team.dlx", std::nullopt}));
    f.broker.exchanges["team.dlx"] = "not there";
    f.answer_declares();
    f.deliver(used_up("odd"));
    f.broker.exchanges["team.dlx"] = "graveyard";
    f.broker.queues["graveyard"];
    f.deliver(used_up("usual"));
    f.confirm_all();
    CHECK(f.broker.acked == Tags{2});
    CHECK(f.lying_in("graveyard") == 1);
    CHECK(f.broker.requeued == Tags{1});
    f.deliver(used_up("odd"));
    f.deliver(used_up("usual"));
    f.confirm_all();
    CHECK(f.lying_in("retryd.parked") == 1);
    CHECK(f.lying_in("graveyard") == 2);
    CHECK(f.broker.acked == Tags{2, 3, 4});
}

TEST_CASE("a message is not taken for arrived because another entry parks with its very routing key") {
    core::Policy policy = with({"", "team.dlx", std::nullopt});
    policy.entries.push_back({"sms", {"l", {core::Milliseconds{1000}}}, {"", "team.dlx", "dead"}});
    Fixture f(policy);
    f.broker.exchanges["team.dlx"] = "not there";
    f.answer_declares();
    f.deliver(used_up("dead"));
    f.confirm_all();
    CHECK(f.broker.acked.empty());
}

TEST_CASE(
    "what was parked before goes to no parking exchange: no message runs round and round, others are parked there") {
    Fixture f(with({"", "team.dlx", "dead"}));
    f.broker.exchanges["team.dlx"] = "graveyard";
    f.broker.queues["graveyard"];
    f.answer_declares();
    DeadMessage back = used_up();
    back.parked_before = true;
    f.deliver(back);
    CHECK(f.lying_in("graveyard") == 0);
    CHECK(f.lying_in("retryd.parked") == 1);
    CHECK(f.reporter.lines == Lines{"parked-before team.dlx"});
    f.deliver(used_up());
    CHECK(f.lying_in("graveyard") == 1);
}

TEST_CASE("an exchange that may not be published to is done without, and everybody else goes on") {
    Fixture f(with({"", "team.dlx", "dead"}));
    f.broker.exchanges["team.dlx"] = "graveyard";
    f.broker.queues["graveyard"];
    f.answer_declares();
    f.deliver();
    f.deliver(used_up());
    f.close_publishing(403, "ACCESS_REFUSED - cannot publish to internal exchange 'team.dlx' in vhost '/'");
    CHECK(f.broker.dead_lettered.empty());
    CHECK(f.broker.requeued == Tags{2});
    f.deliver(used_up());
    f.confirm_all();
    CHECK(f.lying_in("retryd.parked") == 1);
    CHECK(f.broker.acked == Tags{1, 3});
    CHECK(f.reporter.lines[0].starts_with("refused team.dlx the broker refuses to let retryd publish to it: ACCESS"));
    // Looked for again, it is there, as before: that alone is no healing.
    f.pass(core::Milliseconds{60'000});
    f.deliver(used_up());
    f.answer_declares();
    CHECK(f.reporter.lines.back() != "healed team.dlx");
    f.confirm_all();
    CHECK(std::count(f.reporter.lines.begin(), f.reporter.lines.end(), "healed team.dlx") == 1);
}

TEST_CASE("queues of our own are no work queues, whatever an x-death says: no rungs are made for them") {
    core::Policy policy = Fixture::policy();
    policy.entries.push_back({"*", {"any", {core::Milliseconds{1000}}}, {"{queue}.parked"}});
    Fixture f(policy);
    f.answer_declares();
    for (const char* queue : {"email.retry.5s", "retryd.shared.5s", "retryd.parked", "email.parked", "any.parked"}) {
        f.deliver({queue});
        f.confirm_all();
    }
    CHECK(f.broker.checks.empty());
    CHECK(f.lying_in("retryd.parked") == 5);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-entry");
}

TEST_CASE("what somebody has rejected in a parking queue goes to the catch-all with its story kept") {
    Fixture f;
    f.answer_declares();
    DeadMessage rejected{"email.parked", "rejected", "email", 3};
    rejected.parked_before = true;
    f.deliver(rejected);
    REQUIRE(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-queue") == "email");
    CHECK(f.header("retryd.parked", "retryd-attempt") == "3");
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "too-old");
}

TEST_CASE("what a parking queue throws out does not push out another at once: it waits first") {
    Fixture f;
    f.answer_declares();
    DeadMessage thrown_out{"retryd.parked", "maxlen", "email", 3};
    thrown_out.parked_before = true;
    f.deliver(thrown_out);
    CHECK(f.lying_in("retryd.parked") == 0);
    REQUIRE(f.lying_in("retryd.detour.5m") == 1);
    CHECK(f.header("retryd.detour.5m", "retryd-queue") == "email");
    CHECK(f.header("retryd.detour.5m", "retryd-parked-reason") == "too-old");
    f.confirm_all();
    CHECK(f.broker.acked.size() == 1);
}

namespace {

/// Of those that are asked for at the moment.
std::size_t bindings_declared(const Fixture& f) {
    return static_cast<std::size_t>(std::count_if(
        f.broker.declares.begin(), f.broker.declares.end(),
        [](const auto& declared) { return std::holds_alternative<core::BindingSpec>(declared.topology.front()); }));
}

}  // namespace

TEST_CASE("other dead-letter exchanges are bound at start; a refused one is reported and tried again every minute") {
    core::Policy policy = Fixture::policy();
    policy.error_bindings = {{"legacy.dlx", "#"}, {"other.dlx", "a.#"}};
    Fixture f(policy);
    CHECK(f.broker.declares[0].topology == core::Topology{core::BindingSpec{"retryd.errors", "legacy.dlx", "#", {}}});
    CHECK(f.broker.declares[1].topology == core::Topology{core::BindingSpec{"retryd.errors", "other.dlx", "a.#", {}}});
    f.broker.refused.insert("legacy.dlx");
    f.answer_declares();
    CHECK(f.reporter.lines == Lines{"refused legacy.dlx 406 in the broker's words"});
    CHECK(f.relay.next_tick() == f.now.steady + core::Milliseconds{60'000});
    f.pass(core::Milliseconds{60'000});
    CHECK(bindings_declared(f) == 2);
    f.broker.refused.clear();
    f.answer_declares();
    CHECK(f.reporter.lines.back() == "healed legacy.dlx");
}

TEST_CASE("other dead-letter exchanges are bound again every minute: somebody may have made them anew") {
    core::Policy policy = Fixture::policy();
    policy.error_bindings = {{"legacy.dlx", "#"}};
    Fixture f(policy);
    f.answer_declares();
    for (int minute = 0; minute < 3; ++minute) {
        CHECK(f.relay.next_tick() == f.now.steady + core::Milliseconds{60'000});
        f.pass(core::Milliseconds{59'999});
        CHECK(f.broker.declares.empty());
        f.pass(core::Milliseconds{1});
        CHECK(bindings_declared(f) == 1);
        while (!f.broker.declares.empty()) {
            f.answer_declares();
            f.pass({});
        }
    }
    CHECK(f.reporter.lines.empty());
}

}  // namespace retryd::relay::policy_test
