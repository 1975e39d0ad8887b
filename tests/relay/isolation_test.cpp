// A target that refuses, does not answer or is missing holds up no other.
#include <algorithm>

#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::relay::isolation_test {
namespace {

using Tags = std::vector<core::DeliveryTag>;
using Lines = std::vector<std::string>;
using core::Milliseconds;

const std::string rung = "email.retry.5s";

/// Time goes by, and the broker answers what it answers.
void live(Fixture& f, Milliseconds time, Milliseconds tick = Milliseconds{100}) {
    for (Milliseconds passed{}; passed < time; passed += tick) {
        f.confirm_all();
        f.pass(tick);
    }
    f.confirm_all();
}

/// A rung that has been found silent: four publications have no answer.
void make_silent(Fixture& f) {
    f.answer_declares();
    f.broker.silent.insert(rung);
    for (int i = 0; i < 4; ++i)
        f.deliver();
    live(f, Milliseconds{1'000});
}

long count(const Lines& lines, const std::string& beginning) {
    return std::count_if(lines.begin(), lines.end(), [&](const auto& line) { return line.starts_with(beginning); });
}

/// A message that has taken a detour on its way to the catch-all.
core::DeliveryTag deliver_parked_detour(Fixture& f, const std::string& reason, const std::string& claimed_queue) {
    const core::Field entry[] = {{"queue", core::Value::of_longstr("retryd.detour.2s")},
                                 {"reason", core::Value::of_longstr("expired")},
                                 {"count", core::Value::of_long(1)}};
    const core::Value entries[] = {{core::Kind::table, core::Table{entry, 3}}};
    const core::Field headers[] = {{"x-death", {core::Kind::array, core::Array{entries, 1}}},
                                   {"retryd-queue", core::Value::of_longstr(claimed_queue)},
                                   {"retryd-attempt", core::Value::of_long(1)},
                                   {"retryd-parked-reason", core::Value::of_longstr(reason)}};
    core::Message message;
    message.properties.headers = core::Table{headers, 4};
    message.body = "detoured";
    return f.broker.deliver(f.relay, message, f.now);
}

}  // namespace

TEST_CASE("a silent rung gets a few messages; once that is known the others are detoured at once") {
    Fixture f;
    f.answer_declares();
    f.broker.silent.insert(rung);
    for (int i = 0; i < 10; ++i)
        f.deliver();
    CHECK(f.relay.in_flight() == 4);
    live(f, Milliseconds{400});
    CHECK(f.lying_in("retryd.detour.2s") == 6);
    live(f, Milliseconds{600});
    CHECK(f.relay.in_flight_in_silence() == 4);
    f.deliver();
    CHECK(f.lying_in("retryd.detour.2s") == 7);
    CHECK(f.relay.waiting_bytes() == 0);
    f.deliver({"email", "rejected", "email", 1});
    CHECK(f.lying_in("email.retry.30s") == 1);
}

TEST_CASE("a silence is told once, when it has lasted for some seconds: not that of a queue that is slow at a start") {
    Fixture f;
    make_silent(f);
    REQUIRE(f.relay.in_flight_in_silence() == 4);
    SECTION("it lasts") {
        live(f, Milliseconds{4'000});
        CHECK(count(f.reporter.lines, "silent") == 0);
        live(f, Milliseconds{20'000});
        CHECK(count(f.reporter.lines, "silent " + rung) == 1);
    }
    SECTION("it ends before") {
        live(f, Milliseconds{3'000});
        f.broker.silent.clear();
        f.confirm_all();
        live(f, Milliseconds{20'000});
        CHECK(count(f.reporter.lines, "silent") == 0);
    }
    SECTION("while the broker takes nothing it says nothing about the queue") {
        f.relay.pause();
        live(f, Milliseconds{20'000});
        CHECK(count(f.reporter.lines, "silent") == 0);
    }
}

TEST_CASE("a late confirm is acked: nothing is requeued, nothing published twice") {
    Fixture f;
    make_silent(f);
    const std::size_t published = f.broker.routing_keys.size();
    f.broker.silent.clear();
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1, 2, 3, 4});
    CHECK(f.broker.requeued.empty());
    CHECK(f.broker.routing_keys.size() == published);
    CHECK(f.relay.in_flight_in_silence() == 0);
    f.deliver();
    CHECK(f.lying_in(rung) == 1);
}

TEST_CASE("a silent rung is tried after growing pauses, and no more than twice without an answer") {
    Fixture f;
    make_silent(f);
    std::vector<int> tries;
    for (int second = 1; second <= 1'000; ++second) {
        const std::size_t before = f.relay.in_flight();
        f.deliver();
        live(f, Milliseconds{1'000});
        if (f.relay.in_flight() > before) tries.push_back(second);
    }
    REQUIRE(tries.size() == 2);
    CHECK(tries[0] >= 14);
    CHECK(tries[0] <= 16);
    CHECK(tries[1] - tries[0] >= 25);
    CHECK(f.broker.requeued.empty());
}

TEST_CASE("what a rung never answers does not keep it from getting messages when it answers others") {
    Fixture f;
    make_silent(f);
    f.pass(Milliseconds{16'000});
    SECTION("it confirms the next") {
        f.deliver();
        f.broker.confirm(f.relay, 5, f.now);
        for (int i = 0; i < 4; ++i)
            f.deliver();
        CHECK(f.relay.in_flight() == 8);
        CHECK(f.relay.in_flight_in_silence() == 4);
        CHECK(f.lying_in("retryd.detour.2s") == 0);
    }
    SECTION("it refuses the next, and confirms that after it") {
        f.deliver();
        f.broker.confirm(f.relay, 5, f.now, false);
        f.pass(Milliseconds{2'000});
        f.deliver();
        CHECK(f.relay.in_flight() == 5);
        f.broker.confirm(f.relay, 6, f.now);
        f.deliver();
        CHECK(f.relay.in_flight() == 5);
    }
}

TEST_CASE("a rung that answers in between and is silent again is tried more and more seldom") {
    Fixture f;
    make_silent(f);
    std::set<ChannelIndex> channels;
    int next = 5;
    for (int second = 0; second < 1'000; ++second) {
        const std::size_t before = f.relay.in_flight();
        f.deliver();
        if (f.relay.in_flight() > before && f.broker.routing_keys.back() == rung) {
            f.broker.confirm(f.relay, static_cast<int>(f.broker.routing_keys.size()), f.now);
            f.deliver();
            ++next;
        }
        live(f, Milliseconds{1'000});
    }
    CHECK(next >= 8);
    CHECK(next <= 12);
}

TEST_CASE("a slow rung has no more under way than it confirms in a second") {
    Fixture f;
    f.answer_declares();
    f.warm_up();
    int confirmed = 12;
    std::size_t most = 0;
    for (int i = 0; i < 400; ++i) {
        for (int j = 0; j < 20; ++j)
            f.deliver();
        most = std::max(most, f.relay.in_flight());
        // One every 100 ms, and the detours at once.
        for (int number = confirmed + 1; number <= static_cast<int>(f.broker.routing_keys.size()); ++number) {
            if (f.broker.routing_keys[static_cast<std::size_t>(number - 1)] == rung) continue;
            try {
                f.broker.confirm(f.relay, number, f.now);
            } catch (const std::logic_error&) {  // long confirmed
            }
        }
        do {
            ++confirmed;
        } while (f.broker.routing_keys[static_cast<std::size_t>(confirmed - 1)] != rung);
        f.broker.confirm(f.relay, confirmed, f.now);
        f.pass(Milliseconds{100});
    }
    CHECK(f.relay.in_flight() <= 12);
}

TEST_CASE("a declare that is not answered: detours, until it is") {
    Fixture f;
    f.deliver();
    CHECK(f.relay.waiting_bytes() > 0);
    const auto detours = std::stable_partition(f.broker.declares.begin(), f.broker.declares.end(),
                                               [](const auto& d) { return d.key.find("detour") != std::string::npos; });
    const std::vector<FakeBroker::Declared> open(detours, f.broker.declares.end());
    f.broker.declares.erase(detours, f.broker.declares.end());
    f.answer_declares();
    live(f, Milliseconds{200});
    CHECK(f.lying_in("retryd.detour.2s") == 0);
    live(f, Milliseconds{100});
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    f.relay.on_declared("\n" + rung, DeclareOutcome::unanswered, "", f.now);
    CHECK(f.reporter.lines.back() == "silent " + rung);
    f.deliver();
    CHECK(f.lying_in("retryd.detour.2s") == 2);
    CHECK(f.broker.declares.size() == 1);
    f.answer_declares();
    f.deliver();
    CHECK(f.lying_in(rung) == 1);
    f.confirm_all();
    f.deliver();
    CHECK(f.lying_in(rung) == 2);
}

TEST_CASE("a work queue whose check is not answered: its messages are detoured within 300 ms") {
    Fixture f;
    f.answer_declares();
    f.deliver({"web.shop"});
    live(f, Milliseconds{200});
    CHECK(f.relay.waiting_bytes() > 0);
    live(f, Milliseconds{100});
    CHECK(f.relay.waiting_bytes() == 0);
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    f.deliver({"web.shop"});
    CHECK(f.lying_in("retryd.detour.2s") == 2);
    CHECK(f.header("retryd.detour.2s", "retryd-queue") == "web.shop");
}

TEST_CASE("a work queue that is gone is known to be when messages come back that did not wait for the answer") {
    Fixture f;
    f.broker.missing = {"web.gone"};
    f.answer_declares();
    f.deliver({"web.gone"});
    live(f, Milliseconds{400});
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    f.broker.answer_checks(f.relay, f.now);
    live(f, Milliseconds{2'000});
    f.deliver_detoured(1, "rejected", 0, "web.gone");
    CHECK(f.lying_in("retryd.parked") == 1);
    CHECK(f.broker.checks.empty());
    live(f, Milliseconds{3'000});  // by now it may be there again
    f.deliver_detoured(1, "rejected", 0, "web.gone");
    CHECK(f.broker.checks == Lines{"web.gone"});
}

TEST_CASE("that a work queue is gone holds for those that did not wait for the answer: others ask, it may have come") {
    Fixture f;
    f.broker.missing = {"web.late"};
    f.answer_declares();
    f.deliver({"web.late"});
    live(f, Milliseconds{400});
    f.broker.answer_checks(f.relay, f.now);
    f.broker.missing.clear();
    f.deliver({"web.late"});
    CHECK(f.broker.checks == Lines{"web.late"});
    CHECK(f.lying_in("retryd.parked") == 0);

    SECTION("known to be there, it is there for all") {
        f.broker.answer_checks(f.relay, f.now);
        f.answer_declares();
        f.deliver_detoured(1, "rejected", 0, "web.late");
        CHECK(f.lying_in("web.late.retry.1s") == 1);
    }
    SECTION("while nobody answers, those that come back are parked as before") {
        f.deliver_detoured(1, "rejected", 0, "web.late");
        CHECK(f.lying_in("retryd.parked") == 1);
    }
    SECTION("an answer after all of that is forgotten finds its messages") {
        live(f, Milliseconds{5'000});
        f.broker.answer_checks(f.relay, f.now);
        f.answer_declares();
        f.deliver({"web.late"});
        CHECK(f.lying_in("web.late.retry.1s") == 1);
    }
}

TEST_CASE("while messages are tried alone a silent rung stops neither them nor the others") {
    PoisonDetector poison;
    poison.isolate(1'000);
    Fixture f(poison);
    f.answer_declares();
    f.broker.silent.insert(rung);
    f.deliver();
    live(f, Milliseconds{1'000});
    CHECK(f.relay.in_flight_in_silence() == 1);
    for (int i = 0; i < 3; ++i)
        f.deliver({"email", "rejected", "email", 1});
    live(f, Milliseconds{500});
    CHECK(f.lying_in("email.retry.30s") == 3);
}

TEST_CASE("what silent rungs were sent does not speak against a message when a connection ends") {
    PoisonDetector poison;
    for (int connection = 0; connection < 10; ++connection) {
        Fixture f(poison);
        f.answer_declares();
        f.broker.silent.insert(rung);
        f.deliver({.redelivered = true});
        live(f, Milliseconds{1'000});
        f.relay.on_connection_lost({.provoked = true, .words = "INTERNAL_ERROR"});
    }
    CHECK_FALSE(poison.isolating());
}

TEST_CASE("what a silent rung was sent takes a detour when it is delivered again on the next connection") {
    Fixture before;
    make_silent(before);
    const SilentTargets silent = before.relay.silent_targets();
    CHECK(silent.size() == 1);
    Fixture f;
    f.relay.were_silent(silent);
    CHECK(f.relay.silent_targets() == silent);
    f.broker.silent.insert(rung);
    f.answer_declares();
    f.deliver({.redelivered = true});
    live(f, Milliseconds{14'000});
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    CHECK(f.relay.in_flight() == 0);
    CHECK(f.relay.silent_targets() == silent);
    SECTION("the rung is tried with a later one, and takes all again when it answers") {
        f.broker.silent.clear();
        f.pass(Milliseconds{2'000});
        f.deliver();
        f.confirm_all();
        CHECK(f.lying_in(rung) == 1);
        CHECK(f.relay.silent_targets().empty());
        f.deliver();
        CHECK(f.lying_in(rung) == 2);
    }
    SECTION("the rung of another work queue that is made later is not concerned") {
        f.deliver({"web.a", "rejected", "web.a", 1});
        live(f, Milliseconds{200});
        CHECK(f.lying_in("retryd.detour.2s") == 1);
    }
}

TEST_CASE("connections that end one after the other do not put off the next try of a rung that was silent") {
    Fixture before;
    make_silent(before);
    SilentTargets silent = before.relay.silent_targets();
    REQUIRE(silent.size() == 1);
    core::Now now = before.now;
    for (int connection = 0; connection < 3; ++connection) {
        Fixture f;
        f.now = now;
        f.relay.were_silent(silent);
        f.answer_declares();
        f.pass(Milliseconds{9'000});
        f.deliver({.redelivered = true});
        f.confirm_all();
        if (f.lying_in(rung) == 1) return;
        silent = f.relay.silent_targets();
        now = f.now;
    }
    FAIL("the rung, which answers all the time, was never tried");
}

TEST_CASE("a detour that was silent is tried at once on the next connection") {
    Fixture before;
    make_silent(before);
    before.broker.silent.insert("retryd.detour.2s");
    before.deliver({.redelivered = true});
    live(before, Milliseconds{2'000});
    Fixture f;
    f.relay.were_silent(before.relay.silent_targets());
    f.answer_declares();
    f.deliver({.redelivered = true});
    live(f, Milliseconds{500});
    CHECK(f.lying_in("retryd.detour.2s") == 1);
}

TEST_CASE("a rung of a queue that only a glob names is known to have been silent before it is declared") {
    Fixture before;
    before.broker.silent.insert("web.a.retry.1s");
    before.deliver({"web.a"});
    before.broker.answer_checks(before.relay, before.now);
    before.answer_declares();
    live(before, Milliseconds{1'000});
    REQUIRE(before.relay.silent_targets().size() == 1);
    Fixture f;
    f.relay.were_silent(before.relay.silent_targets());
    f.deliver({"web.a", "rejected", "", 0});
    f.broker.answer_checks(f.relay, f.now);
    f.answer_declares();
    live(f, Milliseconds{200});
    CHECK(f.lying_in("web.a.retry.1s") == 0);
    CHECK(f.lying_in("retryd.detour.2s") == 1);
}

TEST_CASE("a full rung takes messages again by itself, on a fresh channel") {
    Fixture f;
    f.answer_declares();
    f.broker.full.insert(rung);
    f.deliver();
    f.confirm_all();
    CHECK(f.broker.closed_channels.size() == 1);
    f.pass(Milliseconds{100});
    f.deliver();
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    live(f, Milliseconds{1'000});
    f.broker.full.clear();
    f.deliver();
    CHECK(f.lying_in(rung) == 1);
    f.confirm_all();
    f.deliver();
    CHECK(f.lying_in(rung) == 2);
}

TEST_CASE("a parking queue that refuses: its messages go to the catch-all") {
    Fixture f;
    f.answer_declares();
    f.broker.full.insert("email.parked");
    f.deliver({"email", "rejected", "email", 2});
    f.confirm_all();
    f.deliver({"email", "rejected", "email", 2});
    CHECK(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "attempts-exhausted");
}

TEST_CASE("a catch-all that refuses: all that is for it takes the detour, whether or not it has died somewhere") {
    Fixture f;
    f.answer_declares();
    f.broker.full.insert("retryd.parked");
    f.deliver({"unknown"});
    f.confirm_all();
    CHECK(f.broker.requeued == Tags{1});
    f.deliver({"unknown"});
    CHECK(f.header("retryd.detour.2s", "retryd-queue") == "unknown");
    CHECK(f.header("retryd.detour.2s", "retryd-parked-reason") == "(none)");
    f.deliver_without_death();
    CHECK(f.header("retryd.detour.2s", "retryd-parked-reason") == "no-death");
    CHECK_FALSE(f.has_header("retryd.detour.2s", "x-death"));
    f.confirm_all();
    CHECK(f.lying_in("retryd.detour.2s") == 2);
    CHECK(f.broker.acked == Tags{2, 3});
    CHECK(f.relay.unacked_for_long() == 0);
    f.broker.full.clear();
    live(f, Milliseconds{2'000});
    f.deliver_without_death();
    CHECK(f.lying_in("retryd.parked") == 1);
}

TEST_CASE("what comes from a detour to the catch-all goes there and nowhere else, with what it says of itself") {
    Fixture f;
    f.answer_declares();
    SECTION("nothing is known of it, whatever its headers claim") {
        deliver_parked_detour(f, "no-death", "email");
        CHECK(f.lying_in("retryd.parked") == 1);
        CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-death");
        CHECK(f.header("retryd.parked", "retryd-queue") == "email");
        CHECK(f.header("retryd.parked", "retryd-attempt") == "1");
        CHECK_FALSE(f.has_header("retryd.parked", "x-death"));
        CHECK(f.broker.routing_keys == Lines{"retryd.parked"});
    }
    SECTION("it has been parked before, and somebody has rejected it there") {
        deliver_parked_detour(f, "too-old", "email");
        CHECK(f.header("retryd.parked", "retryd-parked-reason") == "too-old");
    }
    SECTION("the catch-all still takes none") {
        f.broker.full.insert("retryd.parked");
        f.deliver({"unknown"});
        f.confirm_all();
        deliver_parked_detour(f, "no-death", "email");
        CHECK(f.lying_in("retryd.detour.2s") == 1);
        CHECK(f.header("retryd.detour.2s", "retryd-parked-reason") == "no-death");
        CHECK_FALSE(f.has_header("retryd.detour.2s", "x-death"));
    }
}

TEST_CASE("a parked message that somebody rejects while the catch-all refuses waits on a detour, its story kept") {
    Fixture f;
    f.answer_declares();
    f.broker.full.insert("retryd.parked");
    f.deliver({"unknown"});
    f.confirm_all();
    f.deliver({.queue = "email.parked", .carried_queue = "email", .carried_attempt = 2, .parked_before = true});
    CHECK(f.header("retryd.detour.2s", "retryd-parked-reason") == "too-old");
    CHECK(f.header("retryd.detour.2s", "retryd-queue") == "email");
    CHECK(f.header("retryd.detour.2s", "retryd-attempt") == "2");
    f.confirm_all();
    CHECK(f.broker.acked == Tags{2});
}

TEST_CASE("where the detours refuse, too, messages are held back, for longer and longer, and that is said") {
    Fixture f;
    const std::vector<std::string> detours{"retryd.detour.2s", "retryd.detour.30s", "retryd.detour.5m"};
    const bool declared = GENERATE(true, false);
    if (declared) {
        f.broker.full.insert(detours.begin(), detours.end());
    } else {
        f.broker.refused.insert(detours.begin(), detours.end());
    }
    make_silent(f);
    std::vector<int> pauses;
    for (int i = 0; i < 100; ++i) {
        f.deliver();
        const std::string last = f.reporter.lines.empty() ? "" : f.reporter.lines.back();
        if (last.find("detour-refused") != std::string::npos) pauses.push_back(std::stoi(last.substr(last.rfind(' '))));
        live(f, Milliseconds{1'000});
    }
    REQUIRE(pauses.size() > 20);
    CHECK(pauses.front() <= 8'000);
    CHECK(pauses.back() >= 15'000);
    CHECK(f.relay.unacked_for_long() > 4);
}

TEST_CASE(
    "what goes back to the error queue again and again has waited since the first time, what comes anew has not") {
    Fixture f;
    f.answer_declares();
    f.broker.full = {rung, "retryd.detour.2s", "retryd.detour.30s", "retryd.detour.5m"};
    const bool again = GENERATE(true, false);
    f.deliver();
    f.confirm_all();
    const core::SteadyTime begin = f.now.steady;
    Milliseconds longest{};
    std::size_t requeued = 0;
    for (int i = 0; i < 1'200; ++i) {
        if (again ? f.broker.requeued.size() > requeued : i % 10 == 0) f.deliver({.redelivered = again});
        requeued = f.broker.requeued.size();
        live(f, Milliseconds{100});
        if (const auto since = f.relay.unsettled_since()) longest = std::max(longest, f.now.steady - *since);
    }
    if (!again) {
        CHECK(longest < Milliseconds{60'000});
        return;
    }
    REQUIRE(f.relay.unsettled_since());
    CHECK(*f.relay.unsettled_since() - begin <= Milliseconds{5'000});
    f.broker.full.clear();
    live(f, Milliseconds{40'000});
    f.deliver({.redelivered = true});
    live(f, Milliseconds{2'000});
    CHECK_FALSE(f.relay.unsettled_since());
}

TEST_CASE("a detour in trouble leaves its messages to another") {
    Fixture f;
    make_silent(f);
    f.broker.silent.insert("retryd.detour.2s");
    for (int i = 0; i < 6; ++i)
        f.deliver();
    live(f, Milliseconds{2'100});
    CHECK(count(f.reporter.lines, "requeued") == 2);
    live(f, Milliseconds{1'000});
    f.deliver();
    CHECK(f.lying_in("retryd.detour.30s") == 1);
    CHECK(f.relay.waiting_bytes() == 0);
    live(f, Milliseconds{5'000});
    CHECK(count(f.reporter.lines, "silent retryd.detour.2s") == 1);
}

TEST_CASE("detours that are slow for a moment lead to no longer one: messages are held back for a second") {
    Fixture f;
    make_silent(f);
    f.broker.silent.insert("retryd.detour.2s");
    f.broker.silent.insert("retryd.detour.30s");
    for (int i = 0; i < 50; ++i) {
        f.deliver();
        live(f, Milliseconds{200});
    }
    CHECK(f.lying_in("retryd.detour.5m") == 0);
    CHECK(count(f.reporter.lines, "requeued retryd.detour.2s detour-refused 1000") > 10);
    live(f, Milliseconds{5'000});
    for (int i = 0; i < 6; ++i)
        f.deliver();
    CHECK(f.lying_in("retryd.detour.5m") >= 1);  // they have no leader
}

TEST_CASE("the longer the trouble and the more messages wait, the longer is the detour") {
    Fixture f;
    make_silent(f);
    f.deliver();
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    SECTION("age") {
        f.broker.silent.insert(rung);
        live(f, Milliseconds{30'000}, Milliseconds{1'000});
        f.deliver();  // the try
        live(f, Milliseconds{1'000});
        f.deliver();
        CHECK(f.lying_in("retryd.detour.30s") >= 1);
        live(f, Milliseconds{300'000}, Milliseconds{1'000});
        f.deliver();  // the try
        live(f, Milliseconds{1'000});
        f.deliver();
        CHECK(f.lying_in("retryd.detour.5m") >= 1);
    }
    SECTION("number") {
        for (int i = 0; i < 1'100; ++i) {
            f.deliver();
            f.confirm_all();
        }
        CHECK(f.lying_in("retryd.detour.2s") > 1'000);
        CHECK(f.lying_in("retryd.detour.30s") > 50);
    }
}

TEST_CASE("while a try is under way what comes takes the shortest detour: the trouble may be over") {
    Fixture f;
    make_silent(f);
    live(f, Milliseconds{310'000}, Milliseconds{1'000});
    f.deliver();  // the try
    CHECK(f.broker.routing_keys.back() == rung);
    f.deliver();
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    live(f, Milliseconds{1'000});
    f.deliver();
    CHECK(f.lying_in("retryd.detour.5m") == 1);
}

TEST_CASE("one that closes its channel is looked for on the channel of its target, and closes no detour's") {
    Fixture f;
    f.answer_declares();
    for (int i = 0; i < 3; ++i)
        f.deliver();
    f.relay.on_publishing_closed(f.broker.close_channel(), 406, "PRECONDITION_FAILED - message size", f.now);
    CHECK(f.broker.requeued == Tags{1, 2, 3});
    for (int i = 0; i < 3; ++i)
        f.deliver({.redelivered = true});
    f.deliver();
    f.pass(Milliseconds{400});
    CHECK(f.relay.in_flight() == 2);
    CHECK(f.broker.routing_keys == Lines{rung, rung, rung, rung, "retryd.detour.2s"});
    live(f, Milliseconds{500});
    CHECK(f.lying_in(rung) == 3 + 3);
    CHECK(f.lying_in("retryd.detour.2s") == 1);
}

TEST_CASE(
    "what can go nowhere and has come back often is copied in the error queue, before its delivery limit is near") {
    Fixture f;
    f.broker.refused.insert({"retryd.detour.2s", "retryd.detour.30s", "retryd.detour.5m"});
    f.answer_declares();
    f.deliver_without_death();
    f.confirm_all(false);  // the catch-all refuses
    f.deliver_without_death(core::republish_after_deliveries - 1);
    CHECK(f.relay.in_flight() == 0);
    const auto worn = f.deliver_without_death(core::republish_after_deliveries);
    CHECK(f.relay.in_flight() == 1);
    f.confirm_all();
    REQUIRE(f.lying_in("retryd.errors") == 1);
    CHECK(f.header("retryd.errors", "x-delivery-count") == "(none)");
    f.pass(Milliseconds{100});
    f.relay.flush_all();
    CHECK(f.broker.acked == Tags{worn});
}

TEST_CASE("detours spend no attempt, however many rounds; what is exhausted, too old or dropped is treated so") {
    core::Policy policy = Fixture::policy();
    policy.entries[0].on.maxlen = core::Action::drop;
    policy.entries[0].max_age = Milliseconds{60'000};
    Fixture f(policy);
    make_silent(f);
    for (int round = 0; round < 3; ++round) {
        f.deliver_detoured(1);
        CHECK(f.header("retryd.detour.2s", "retryd-attempt") == "1");
        CHECK(f.header("retryd.detour.2s", "retryd-queue") == "email");
        f.confirm_all();
    }
    f.deliver_detoured(3);
    CHECK(f.header("email.parked", "retryd-parked-reason") == "attempts-exhausted");
    f.deliver_detoured(1, "rejected", 1'700'000'000);
    CHECK(f.header("email.parked", "retryd-parked-reason") == "too-old");
    const std::size_t published = f.broker.routing_keys.size();
    f.deliver_detoured(1, "maxlen");
    CHECK(f.broker.routing_keys.size() == published);
    CHECK(count(f.reporter.lines, "dropped email") == 1);
}

TEST_CASE("a new policy does not wait for what is silent, and late confirms are acked all the same") {
    Fixture f;
    make_silent(f);
    f.deliver({"email", "rejected", "email", 1});
    f.relay.prepare_to_adopt();
    CHECK(f.relay.in_flight() > f.relay.in_flight_in_silence());
    f.confirm_all();
    CHECK(f.relay.in_flight() == 4);
    CHECK(f.relay.in_flight_in_silence() == 4);
    f.adopt(Fixture::policy());
    f.broker.silent.clear();
    f.confirm_all();
    CHECK(f.relay.in_flight() == 0);
    CHECK(f.broker.acked.size() == 5);
    CHECK(f.broker.requeued.empty());
    f.deliver();
    CHECK(f.lying_in(rung) == 1);
}

TEST_CASE("while the broker blocks us nobody counts as silent") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.relay.pause();
    for (int i = 0; i < 600; ++i)
        f.pass(Milliseconds{1'000});
    CHECK(f.relay.in_flight_in_silence() == 0);
    CHECK(count(f.reporter.lines, "silent") == 0);
    f.relay.resume(f.now);
    f.pass(Milliseconds{400});
    CHECK(f.relay.in_flight_in_silence() == 0);
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1});
}

TEST_CASE("what waits in our own host says nothing about a target") {
    Fixture f;
    f.answer_declares();
    f.broker.received_all = false;
    f.deliver();
    live(f, Milliseconds{0});
    f.broker.silent.insert(rung);
    f.deliver();
    live(f, Milliseconds{5'000});
    CHECK(f.relay.in_flight_in_silence() == 0);
    f.broker.received_all = true;
    live(f, Milliseconds{200});
    CHECK(f.relay.in_flight_in_silence() == 1);
}

TEST_CASE("after 20 minutes without an answer a message is given back, and its channel given up") {
    Fixture f;
    make_silent(f);
    live(f, Milliseconds{19 * 60'000}, Milliseconds{1'000});
    CHECK(f.broker.requeued.empty());
    live(f, Milliseconds{60'000}, Milliseconds{1'000});
    CHECK(f.broker.requeued == Tags{1, 2, 3, 4});
    CHECK(count(f.reporter.lines, "requeued " + rung + " unanswered") == 4);
    CHECK(f.relay.in_flight() == 0);
    CHECK(f.broker.open_channels.empty());
    f.broker.silent.clear();
    f.deliver();
    f.confirm_all();
    f.deliver();
    CHECK(f.lying_in(rung) == 2);
}

TEST_CASE("unacked_for_long counts what is silent and what pauses; unsettled_since tells the oldest, to the second") {
    Fixture f;
    f.answer_declares();
    CHECK_FALSE(f.relay.unsettled_since());
    f.deliver();
    f.confirm_all();
    f.pass(Milliseconds{1'000});
    CHECK_FALSE(f.relay.unsettled_since());
    f.broker.silent.insert(rung);
    const core::SteadyTime first = f.now.steady;
    f.deliver();
    live(f, Milliseconds{60'000});
    CHECK(f.relay.unacked_for_long() == 1);
    REQUIRE(f.relay.unsettled_since());
    CHECK(*f.relay.unsettled_since() - first <= Milliseconds{1'100});
    f.deliver({"email", "rejected", "email", 1});
    f.confirm_all();
    CHECK(*f.relay.unsettled_since() - first <= Milliseconds{1'100});
    f.broker.silent.clear();
    f.confirm_all();
    CHECK(f.relay.unacked_for_long() == 0);
    CHECK_FALSE(f.relay.unsettled_since());
}

TEST_CASE("while some wait in vain, no more than half of the prefetch waits for others") {
    Fixture f;
    f.answer_declares();
    for (int i = 0; i < 100; ++i)
        f.deliver({"web.a"});
    CHECK(f.relay.waiting_bytes() > 0);
    live(f, Milliseconds{400});
    CHECK(f.relay.waiting_bytes() == 0);
    for (int i = 0; i < 10; ++i)
        f.confirm_all();
    CHECK(f.broker.unacked.empty());
    const std::size_t before = f.lying_in("retryd.detour.2s");
    for (int i = 0; i < 100; ++i)
        f.deliver({"web.b"});
    for (int i = 0; i < 10; ++i)
        f.confirm_all();
    CHECK(f.lying_in("retryd.detour.2s") - before >= 45);
    CHECK(f.lying_in("retryd.detour.2s") - before < 60);
}

}  // namespace retryd::relay::isolation_test
