// What the threads share of held messages: who holds, who counts, and how it is told.
#include "daemon/held_queues.h"

#include "core/safe_text.h"
#include "support/catch.h"

namespace retryd::daemon::held_queues_test {
namespace {

using core::Milliseconds;
using State = core::Outage::State;

config::Settings settings_with(bool hold, bool rule) {
    config::Settings settings;
    settings.http.emplace().admin.emplace();
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

    HeldQueues::Shown shown_of(const std::string& work_queue) const {
        for (HeldQueues::Shown& each : held.shown(now.steady)) {
            if (each.work_queue == work_queue) return std::move(each);
        }
        return {};
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
    CHECK(f.held.known_outage("email", f.now.steady).not_yet_known);
    CHECK(f.held.known_outage("web.shop", f.now.steady).not_yet_known);
    f.held.visit("email", [](HeldQueues::Queue& queue) { queue.start_content_known = true; });
    CHECK(!f.held.known_outage("email", f.now.steady).not_yet_known);
    CHECK(f.held.known_outage("web.shop", f.now.steady).not_yet_known);
    f.now.steady += Milliseconds{5'000};
    CHECK(!f.held.known_outage("web.shop", f.now.steady).not_yet_known);
}

TEST_CASE("held: what an entry that does not hold may have left behind is asked for once, and not for a glob") {
    Fixture f;
    f.adopt(false, false);
    CHECK(f.held.take_unknown(f.now.steady) == "email");
    CHECK(!f.held.take_unknown(f.now.steady));
    f.adopt(false, false);
    CHECK(!f.held.take_unknown(f.now.steady));
    f.now.steady += Milliseconds{60'000};
    CHECK(!f.held.take_unknown(f.now.steady));
}

TEST_CASE("held: a queue that is there and said to be empty is asked for again: soon, and later once a minute") {
    Fixture f;
    f.adopt(false, false);
    REQUIRE(f.held.take_unknown(f.now.steady) == "email");
    for (const int pause : {5'000, 10'000, 20'000, 40'000, 60'000, 60'000}) {
        f.held.found_nothing("email", f.now.steady);
        f.now.steady += Milliseconds{pause - 1};
        CHECK(!f.held.take_unknown(f.now.steady));
        f.now.steady += Milliseconds{1};
        CHECK(f.held.take_unknown(f.now.steady) == "email");
        CHECK(!f.held.take_unknown(f.now.steady));
    }
}

TEST_CASE("held: one that is asked for again does not go before those that have not been asked for yet") {
    constexpr Milliseconds unanswered{30'000};
    config::Settings settings = settings_with(false, false);
    for (const char* another : {"sms", "fax"})
        settings.policy.entries.push_back({another, {"s", {Milliseconds{1'000}}}, {"{queue}.parked"}});
    Fixture f;
    f.held.adopt(std::make_shared<const config::Settings>(settings), f.now);
    for (const char* each : {"email", "sms", "fax", "email", "sms", "fax"}) {
        CHECK(f.held.take_unknown(f.now.steady) == each);
        f.now.steady += unanswered;
        f.held.found_nothing(each, f.now.steady);
    }
}

TEST_CASE("held: what was not there is asked for again once there is another broker") {
    Fixture f;
    f.adopt(false, false);
    REQUIRE(f.held.take_unknown(f.now.steady) == "email");
    config::Settings settings = settings_with(false, false);
    settings.broker.endpoints.push_back({.host = "another"});
    f.held.adopt(std::make_shared<const config::Settings>(settings), f.now);
    CHECK(f.held.take_unknown(f.now.steady) == "email");
    CHECK(!f.held.take_unknown(f.now.steady));
}

TEST_CASE("held: of another broker, or vhost, it is not known what is held there, nor whose it is") {
    using Whose = HeldQueues::Whose;
    Fixture f;
    f.adopt(false, true);
    CHECK(f.held.hold("email", f.now).refusal.empty());
    f.held.visit("email", [](HeldQueues::Queue& queue) {
        queue.whose = Whose::ours, queue.messages = 3, queue.start_content_known = true;
    });
    f.now.steady += Milliseconds{60'000};
    config::Settings settings = settings_with(false, true);
    config::Endpoint& endpoint = settings.broker.endpoints.front();
    bool same = false;
    SECTION("another broker") {
        endpoint.host = "another";
    }
    SECTION("another vhost") {
        endpoint.vhost = "another";
    }
    SECTION("the same for another user, or one more node") {
        endpoint.username = "another";
        settings.broker.endpoints.insert(settings.broker.endpoints.begin(), {.host = "another"});
        same = true;
    }
    f.held.adopt(std::make_shared<const config::Settings>(settings), f.now);
    CHECK(f.shown_of("email").state == (same ? State::holding : State::none));
    CHECK(f.held.known_outage("email", f.now.steady).not_yet_known != same);
    REQUIRE(f.held.visit("email", [&](HeldQueues::Queue& queue) {
        CHECK(queue.messages.has_value() == same);
        CHECK((queue.whose == Whose::ours) == same);
    }));
}

TEST_CASE("held: an entry that comes with a reload is asked for, too") {
    Fixture f;
    f.held.adopt(std::make_shared<const config::Settings>(), f.now);
    CHECK(!f.held.take_unknown(f.now.steady));
    f.adopt(false, false);
    CHECK(f.held.take_unknown(f.now.steady) == "email");
}

TEST_CASE("held: nothing is known where no entry holds") {
    Fixture f;
    f.adopt(false, false);
    f.settle("email", relay::Outcome::retried);
    CHECK(f.held.names().empty());
    CHECK(!f.held.known_outage("email", f.now.steady).holding);
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

TEST_CASE(
    "held: a reload takes the entry away, and what lies there goes home where it has a proof; what comes later stays") {
    using Whose = HeldQueues::Whose;
    Fixture f;
    const auto without_entry = std::make_shared<const config::Settings>();
    const auto look = [&](const auto& see) { REQUIRE(f.held.visit("email", see)); };
    SECTION("held by hand") {
        f.adopt(true, false);
        look([](HeldQueues::Queue& queue) { queue.whose = Whose::ours; });
    }
    SECTION("left there by an outage that nobody knows of yet") {
        f.adopt(false, true);
        look([](HeldQueues::Queue& queue) { queue.whose = Whose::ours, queue.messages = 3; });
    }
    f.held.adopt(without_entry, f.now);
    look([&](HeldQueues::Queue& queue) {
        CHECK(queue.outage.state() == State::releasing);
        CHECK(queue.whose == Whose::ours_where_proven);
        CHECK(queue.may_go_home());
        queue.outage.emptied(f.now);
        CHECK(!queue.may_go_home());
        queue.messages = 5;
    });
    f.held.adopt(without_entry, f.now);
    look([](HeldQueues::Queue& queue) { CHECK(!queue.may_go_home()); });
    f.adopt(false, true);
    look([](HeldQueues::Queue& queue) {
        CHECK(queue.may_go_home());
        CHECK(queue.whose == Whose::unknown);
    });
}

TEST_CASE("held: of a queue that no entry matches, or that is not retryd's, a reload releases nothing") {
    using Whose = HeldQueues::Whose;
    Fixture f;
    f.adopt(false, true);
    SECTION("no entry has matched") {
        f.held.found("gone", "gone.held", true, f.now);
        f.held.visit("gone", [](HeldQueues::Queue& queue) { queue.messages = 3; });
        f.held.adopt(std::make_shared<const config::Settings>(), f.now);
        f.held.visit("gone", [](HeldQueues::Queue& queue) { CHECK(!queue.may_go_home()); });
    }
    SECTION("it is not retryd's") {
        f.held.visit("email", [](HeldQueues::Queue& queue) { queue.whose = Whose::not_ours, queue.messages = 3; });
        f.held.adopt(std::make_shared<const config::Settings>(), f.now);
        f.held.visit("email", [](HeldQueues::Queue& queue) {
            CHECK(!queue.may_go_home());
            CHECK(queue.whose == Whose::not_ours);
        });
    }
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

TEST_CASE("held: the desk holds a queue, known or not yet, and releases it; what an operator reads says so") {
    Fixture f;
    f.adopt(false, true);
    for (const std::string queue : {"email", "web.shop"}) {
        CAPTURE(queue);
        const admin::HoldAnswer held = f.held.hold(queue, f.now);
        CHECK(held.refusal.empty());
        CHECK(held.holding);
        CHECK(held.held_queue == queue + ".held");
        CHECK(held.said.find("A restart of retryd forgets that") != std::string::npos);
        CHECK(f.held.known_outage(queue, f.now.steady).holding);
        const HeldQueues::Shown shown = f.shown_of(queue);
        CHECK(shown.by_hand);
        CHECK(shown.held_at_desk == f.now.wall);
        CHECK(describe(shown) == "holding: messages since 08:00, by the desk since 08:00");
        f.now.wall += Milliseconds{60'000};
        CHECK(f.held.hold(queue, f.now).said.find("by the desk already, since 08:00 UTC") != std::string::npos);
        f.now.wall -= Milliseconds{60'000};
        const admin::HoldAnswer released = f.held.release(queue, f.now);
        CHECK(released.refusal.empty());
        CHECK_FALSE(released.holding);
        CHECK(released.per_second == core::OutageRule{}.release);
        CHECK(f.shown_of(queue).state == State::releasing);
        CHECK_FALSE(f.shown_of(queue).held_at_desk);
        CHECK_FALSE(f.held.known_outage(queue, f.now.steady).holding);
        CHECK(f.held.release(queue, f.now).said.find("on its way home already") != std::string::npos);
    }
}

TEST_CASE("held: the desk takes over an outage, and ends one that nobody has taken over") {
    Fixture f;
    f.adopt(false, true);
    const auto outage = [&](State state) {
        f.held.visit("email", [&](HeldQueues::Queue& queue) {
            if (state == State::holding) queue.outage.found_held(true, f.now);
            CHECK(queue.outage.state() == state);
        });
    };
    outage(State::holding);
    CHECK(f.held.release("email", f.now).refusal.empty());
    outage(State::releasing);
    f.held.visit("email", [&](HeldQueues::Queue& queue) { queue.outage.emptied(f.now); });
    outage(State::holding);
    CHECK(f.held.hold("email", f.now).refusal.empty());
    f.held.visit("email", [&](HeldQueues::Queue& queue) { CHECK(queue.outage.may_send(f.now.steady) == 0); });
    CHECK(f.held.release("email", f.now).refusal.empty());
    outage(State::releasing);
}

TEST_CASE("held: what may not be held or released is refused, with why and the way out") {
    Fixture f;
    f.adopt(false, false);
    const auto hold = [&](const std::string& queue) { return f.held.hold(queue, f.now).refusal; };
    const auto release = [&](const std::string& queue) { return f.held.release(queue, f.now).refusal; };
    CHECK(
        hold("email") ==
        "nothing was done: the entry 'email' of `queues:`, which 'email' belongs to, has neither `outage:` nor "
        "`hold:`, so nothing of it is ever held. Add `outage: {}`, which needs `management`, and reload; `hold: true` "
        "holds at once, until it is taken out");
    CHECK(release("email") == hold("email"));
    const std::string odd = "a\n\x1b[31m'";
    CHECK(hold(odd).starts_with("nothing was done: no entry of `queues:` matches " + core::quoted(odd) + ", so"));
    CHECK(hold(odd).find('\x1b') == std::string::npos);
    CHECK(release("nobody") == hold("nobody"));
    CHECK(hold("email.parked") ==
          "nothing was done: 'email.parked' is a queue of retryd's own. Name the work queue whose messages fail");
    CHECK(f.held.names().empty());

    f.adopt(false, true);
    CHECK(release("web.shop").starts_with("nothing was done: it is not known yet"));  // an earlier run may have
    f.now.steady += Milliseconds{60'000};
    CHECK(release("web.shop").starts_with("nothing was done: nothing of 'web.shop' is held"));
    CHECK(release("email").starts_with("nothing was done: it is not known yet"));
    f.held.visit("email", [](HeldQueues::Queue& queue) { queue.messages = 0; });
    CHECK(release("email").starts_with("nothing was done: nothing of 'email' is held"));
    f.held.visit("email", [](HeldQueues::Queue& queue) {
        queue.messages = 3;
        queue.whose = HeldQueues::Whose::not_ours;
        queue.fault = {"it has other arguments", "Name it otherwise"};
    });
    CHECK(release("email") ==
          "nothing was done: what lies in 'email.held' cannot be sent home: it has other arguments. "
          "Name it otherwise");

    f.adopt(true, true);
    CHECK(release("email") ==
          "nothing was done: the entry of 'email' says `hold: true`, so what fails is held as before. Take `hold` out "
          "of the entry and reload: then all of it goes home");
    CHECK(f.held.hold("email", f.now).said.find("its entry says `hold: true`") != std::string::npos);
    CHECK_FALSE(f.shown_of("email").held_at_desk);
}

TEST_CASE("held: what lies there although no outage is known is released, too") {
    Fixture f;
    f.adopt(false, true);
    f.held.visit("email", [](HeldQueues::Queue& queue) { queue.messages = 3; });
    const admin::HoldAnswer answer = f.held.release("email", f.now);
    CHECK(answer.messages == 3);
    CHECK(
        answer.said ==
        "what is held of 'email' goes home now: 3 messages, at first 50 a second. What fails again spends an attempt; "
        "if nearly all of it fails, it is held again as in an outage");
    CHECK(f.shown_of("email").state == State::releasing);
}

TEST_CASE("held: what is here on its way home counts as held until it is there") {
    Fixture f;
    f.adopt(false, true);
    f.held.visit("email", [](HeldQueues::Queue& queue) {
        queue.messages = 0;  // ready
        queue.on_the_way = 60;
    });
    CHECK(f.held.hold("email", f.now).messages == 60);
    CHECK(describe(f.shown_of("email")).starts_with("holding: 60 messages since "));
    CHECK(f.held.release("email", f.now).said.find(" goes home now: 60 messages, ") != std::string::npos);
    CHECK(describe(f.shown_of("email")) == "releasing: 60 messages left, 50 a second");
}

TEST_CASE(
    "held: a reload keeps the desk's hold as long as the entry may hold and there is a desk, and `hold: true` takes "
    "its place") {
    Fixture f;
    f.adopt(false, true);
    REQUIRE(f.held.hold("email", f.now).refusal.empty());
    f.adopt(false, true);
    CHECK(f.shown_of("email").held_at_desk);
    CHECK(f.held.known_outage("email", f.now.steady).holding);
    SECTION("the entry may not hold any more") {
        f.adopt(false, false);
    }
    SECTION("the entry is gone") {
        f.held.adopt(std::make_shared<const config::Settings>(), f.now);
    }
    SECTION("the desk is gone, so that nobody could release it there") {
        config::Settings without_desk = settings_with(false, true);
        without_desk.http->admin.reset();
        f.held.adopt(std::make_shared<const config::Settings>(without_desk), f.now);
    }
    SECTION("the entry holds, and does not any more") {
        f.adopt(true, true);
        CHECK(f.held.known_outage("email", f.now.steady).holding);
        f.adopt(false, true);
    }
    CHECK_FALSE(f.shown_of("email").held_at_desk);
    CHECK(f.shown_of("email").state == State::releasing);
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
