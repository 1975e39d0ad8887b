// What the threads share of held messages: who holds, who counts, and how it is told.
#include "daemon/held_queues.h"

#include "support/catch.h"

namespace retryd::daemon::held_queues_test {
namespace {

using core::Milliseconds;
using State = core::Outage::State;

config::Settings settings_with(bool hold, bool rule) {
    config::Settings settings;
    settings.policy.entries.push_back({"email", {"s", {Milliseconds{1'000}}}, {"{queue}.parked"}});
    settings.policy.entries.push_back({"web.*", {"s", {Milliseconds{1'000}}}, {"{queue}.parked"}});
    for (core::Entry& entry : settings.policy.entries) {
        entry.hold = hold;
        if (rule) entry.outage = core::OutageRule{};
    }
    return settings;
}

struct Fixture {
    void adopt(bool hold, bool rule) {
        held.adopt(std::make_shared<const config::Settings>(settings_with(hold, rule)), now);
    }
    void settle(std::string_view work_queue, relay::Outcome outcome, std::int64_t attempt = 1) {
        relay::Settled message{.outcome = outcome, .work_queue = work_queue};
        message.target = "email.held";
        message.attempt = attempt;
        held.settled(message, now);
    }

    telemetry::Log log{{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain};
    core::Now now{core::WallTime{Milliseconds{1'800'000'000'000}}, core::SteadyTime{Milliseconds{1'000'000}}};
    HeldQueues held{log};
};

}  // namespace

TEST_CASE("held: queues with an exact name are known from the configuration, those of a glob from what fails") {
    Fixture f;
    f.adopt(false, true);
    CHECK(f.held.names() == std::vector<std::string>{"email"});
    f.settle("web.shop", relay::Outcome::retried);
    f.settle("other", relay::Outcome::retried);
    CHECK(f.held.names() == std::vector<std::string>{"email", "web.shop"});
    CHECK(f.held.wanting_counters(f.now.steady) == std::vector<std::string>{"web.shop"});
}

TEST_CASE(
    "held: after the start it is unknown whether an earlier run held, until somebody has looked, or for some seconds") {
    Fixture f;
    f.adopt(false, true);
    CHECK(f.held.holding("email", f.now.steady).unknown);
    CHECK(f.held.holding("web.shop", f.now.steady).unknown);
    f.held.visit("email", [](HeldQueues::Queue& queue) { queue.looked = true; });
    CHECK(!f.held.holding("email", f.now.steady).unknown);
    CHECK(f.held.holding("web.shop", f.now.steady).unknown);
    f.now.steady += Milliseconds{5'000};
    CHECK(!f.held.holding("web.shop", f.now.steady).unknown);
}

TEST_CASE("held: what an entry that does not hold may have left behind is asked for once, and not for a glob") {
    Fixture f;
    f.adopt(false, false);
    CHECK(f.held.take_unknown() == "email");
    CHECK(!f.held.take_unknown());
    f.adopt(false, false);
    CHECK(!f.held.take_unknown());
}

TEST_CASE("held: nothing is known where no entry holds") {
    Fixture f;
    f.adopt(false, false);
    f.settle("email", relay::Outcome::retried);
    CHECK(f.held.names().empty());
    CHECK(!f.held.holding("email", f.now.steady).holds);
}

TEST_CASE("held: a reload that takes the hold away releases, whether the entry stays or not") {
    Fixture f;
    f.adopt(true, false);
    CHECK(f.held.shown(f.now.steady)[0].state == State::holding);
    f.settle("email", relay::Outcome::held);
    SECTION("it stays") {
        f.adopt(false, false);
    }
    SECTION("it is gone") {
        f.held.adopt(std::make_shared<const config::Settings>(), f.now);
    }
    CHECK(f.held.shown(f.now.steady)[0].state == State::releasing);
    CHECK(f.held.shown(f.now.steady)[0].messages == 1);
}

TEST_CASE("held: a queue of held messages that is found belongs to its work queue") {
    Fixture f;
    f.adopt(false, true);
    f.held.found("gone", "gone.held", true, f.now);
    f.held.found("email", "email.held", false, f.now);
    CHECK(f.held.names() == std::vector<std::string>{"email", "gone"});
}

TEST_CASE(
    "held: whose a queue is gets asked anew when another entry is behind its name, unless it is known as retryd's") {
    using Whose = HeldQueues::Whose;
    Fixture f;
    f.adopt(false, false);
    f.held.found("email", "email.held", false, f.now);
    const auto whose = [&](Whose now) {
        Whose before = Whose::unknown;
        f.held.visit("email", [&](HeldQueues::Queue& queue) { before = std::exchange(queue.whose, now); });
        return before;
    };
    whose(Whose::not_ours);
    f.adopt(false, false);
    CHECK(whose(Whose::not_ours) == Whose::not_ours);
    f.adopt(true, false);
    CHECK(whose(Whose::ours) == Whose::unknown);
    f.adopt(false, false);
    CHECK(whose(Whose::ours) == Whose::ours);
}

TEST_CASE("held: what is not retryd's is not shown") {
    Fixture f;
    f.adopt(false, false);
    f.held.found("email", "email.held", false, f.now);
    f.held.visit("email", [](HeldQueues::Queue& queue) { queue.whose = HeldQueues::Whose::not_ours; });
    CHECK(f.held.shown(f.now.steady).empty());
}

TEST_CASE("held: what an operator reads") {
    HeldQueues::Shown shown;
    shown.messages = 12'400;
    CHECK(describe(shown) == "12,400 messages held");
    shown.state = State::holding;
    shown.since = core::WallTime{std::chrono::hours{14} + std::chrono::minutes{2}};
    shown.probe_failed_ago = Milliseconds{8'100};
    shown.next_in = Milliseconds{1'900};
    CHECK(describe(shown) == "holding: 12,400 messages since 14:02, last probe failed 8 s ago, next in 2 s");
    shown.by_hand = true;
    CHECK(describe(shown) == "holding: 12,400 messages since 14:02, by hand");
    shown.state = State::releasing;
    shown.messages = 1;
    shown.rate = 100;
    CHECK(describe(shown) == "releasing: 1 message left, 100 a second");
    shown.state = State::none;
    shown.messages = 0;
    CHECK(describe(shown).empty());
}

}  // namespace retryd::daemon::held_queues_test
