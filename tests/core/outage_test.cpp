// Whether it is an outage: what counts, what must not, and how it ends.
#include "core/outage.h"

#include <algorithm>
#include <cmath>

#include "support/catch.h"

namespace retryd::core::outage_test {

using State = Outage::State;
using Event = Outage::Event;
using Events = std::vector<Event>;

/// A work queue, its consumer and RabbitMQ's counters, in steps of 10 ms. Counters are told every 2 s, as they were
/// at the last full 5 s; what fails is known at once.
class Scene {
  public:
    explicit Scene(std::optional<OutageRule> rule = OutageRule{}) : outage(rule) {}

    OutageRule rule = {};
    Outage outage;
    Now now{WallTime{Milliseconds{1'800'000'000'000}}, SteadyTime{Milliseconds{1'000'000}}};

    // What there is.
    double traffic = 0;        // fresh messages a second
    double failing = 0;        // of them, the share that fails
    bool down = false;         // everything fails, what is sent home too
    bool counters = true;      // they come
    Milliseconds late{5'000};  // … so late
    std::uint64_t held = 0;    // messages, to be sent home
    double taken_every = 0;    // seconds that the consumer takes for a message; 0: none

    // What was seen.
    std::size_t sent_home = 0;
    std::size_t most_a_second = 0;
    Events events;

    void run(Milliseconds time) {
        const SteadyTime until = now.steady + time;
        while (now.steady < until)
            step();
    }
    /// Until it is in that state, at most so long. How long it took.
    Milliseconds until(State state, Milliseconds longest = Milliseconds{120'000}) {
        const SteadyTime begin = now.steady;
        while (outage.state() != state && now.steady - begin < longest)
            step();
        return now.steady - begin;
    }
    void fail(std::int64_t attempt = 1, bool was_held = false) {
        ++real_.delivered;
        outage.failed(attempt, was_held, now);
        if (outage.known(now.steady).holding) ++held;
    }
    void succeed() {
        ++real_.delivered;
        ++real_.acked;
    }
    void tell(const QueueCounters& told) { outage.counted(told, now); }

  private:
    void step() {
        constexpr Milliseconds a_step{10};
        now.steady += a_step;
        now.wall += a_step;
        due_ += traffic * 0.01;
        for (; due_ >= 1; due_ -= 1) {
            failed_ += down ? 1 : failing;
            if (failed_ >= 1) {
                failed_ -= 1;
                fail();
            } else {
                succeed();
            }
        }
        send_home();
        const auto elapsed = (now.steady - SteadyTime{Milliseconds{1'000'000}}).count();
        if (elapsed % std::max<std::int64_t>(late.count(), 100) == 0) emitted_ = real_;
        if (elapsed % 2'000 == 0) {
            if (counters && outage.wants_counters(now.steady)) {
                outage.counted(emitted_, now);
            } else if (!counters) {
                outage.not_counted(now);
            }
        }
        outage.on_tick(now);
        for (const Event event : outage.take_events())
            events.push_back(event);
    }

    void send_home() {
        std::size_t now_sent = 0;
        while (held > 0 && outage.may_send(now.steady) > 0) {
            outage.sent(now);
            --held;
            ++now_sent;
            down ? fail(1, true) : succeed();
        }
        sent_home += now_sent;
        last_second_.push_back(now_sent);
        if (last_second_.size() > 100) last_second_.pop_front();
        std::size_t sum = 0;
        for (const std::size_t sent : last_second_)
            sum += sent;
        most_a_second = std::max(most_a_second, sum);
        if (held == 0 && outage.state() == State::releasing) outage.emptied(now);
    }

    QueueCounters real_;
    QueueCounters emitted_;
    double due_ = 0;
    double failed_ = 0;
    std::deque<std::size_t> last_second_;
};

constexpr Milliseconds s{1'000};

TEST_CASE("everything fails: held within the time that is looked at and 10 s") {
    Scene f;
    f.traffic = 60;
    f.run(60 * s);
    CHECK(f.outage.state() == State::none);
    f.down = true;
    CHECK(f.until(State::holding) <= 40 * s);
    CHECK(f.events == Events{Event::begun});
}

TEST_CASE("everything fails: held as soon whenever it begins between two times of counting") {
    for (Milliseconds begin{}; begin < 5 * s; begin += Milliseconds{500}) {
        CAPTURE(begin.count());
        Scene f;
        f.traffic = 60;
        f.run(60 * s + begin);
        f.down = true;
        CHECK(f.until(State::holding) <= f.rule.within + 10 * s);
    }
}

TEST_CASE("a message in two fails for a while, then none: no outage") {
    for (const double share : {0.5, 0.8}) {
        CAPTURE(share);
        Scene f;
        f.traffic = 60;
        f.run(20 * s);
        f.failing = share;
        f.run(20 * s);
        f.failing = 0;
        f.run(60 * s);
        CHECK(f.events.empty());
    }
}

TEST_CASE("everything fails after a long time with a little poison: held as soon") {
    Scene f;
    f.traffic = 60;
    f.failing = 0.01;
    f.run(120 * s);
    CHECK(f.outage.state() == State::none);
    f.down = true;
    CHECK(f.until(State::holding) <= 40 * s);
}

TEST_CASE("one in a hundred is poison: no outage, at any rate of traffic, and no doubt") {
    for (const double traffic : {1.0, 10.0, 300.0, 5'000.0}) {
        INFO(traffic);
        Scene f;
        f.traffic = traffic;
        f.failing = 0.01;
        f.run(300 * s);
        CHECK(f.outage.state() == State::none);
        CHECK(f.events.empty());
        CHECK(!f.outage.known(f.now.steady).suspected);
    }
}

TEST_CASE("one in two fails: no outage where it takes nine of ten") {
    Scene f;
    f.traffic = 100;
    f.failing = 0.5;
    f.run(300 * s);
    CHECK(f.events.empty());
}

TEST_CASE("two messages that fail again and again: no outage, however often they fail") {
    Scene f;
    for (std::int64_t attempt = 1; attempt <= 300; ++attempt) {
        f.fail(attempt);
        f.fail(attempt);
        f.run(s);
    }
    CHECK(f.events.empty());
}

TEST_CASE("two messages that fail again and again beside a few that succeed: no outage") {
    Scene f;
    f.traffic = 1;
    for (std::int64_t attempt = 1; attempt <= 300; ++attempt) {
        f.fail(attempt);
        f.fail(attempt);
        f.run(s);
    }
    CHECK(f.events.empty());
}

TEST_CASE("fewer messages than it takes: no outage; as many: one") {
    Scene few;
    for (int i = 0; i < 19; ++i)
        few.fail();
    few.run(120 * s);
    CHECK(few.events.empty());
    Scene enough;
    enough.fail();
    enough.run(5 * s);  // the counters are asked for
    for (int i = 0; i < 20; ++i)
        enough.fail();
    enough.run(120 * s);
    CHECK(enough.events == Events{Event::begun});
}

TEST_CASE("missing counters: nothing is held by itself") {
    Scene f;
    f.traffic = 60;
    f.down = true;
    f.counters = false;
    f.run(300 * s);
    CHECK(f.events.empty());
    CHECK(!f.outage.known(f.now.steady).suspected);
}

TEST_CASE("counters that never change, as where nothing is counted: nothing is held by itself") {
    Scene f;
    f.late = Milliseconds{10'000'000};
    f.traffic = 60;
    f.down = true;
    f.run(300 * s);
    CHECK(f.events.empty());
}

TEST_CASE("late counters, a minute: poison in a sudden burst is no outage") {
    Scene f;
    f.late = 60 * s;
    f.traffic = 1'000;
    f.failing = 0.01;
    f.run(300 * s);
    CHECK(f.events.empty());
}

TEST_CASE("a burst of traffic begins with its poison: no outage before the acks are counted") {
    Scene f;
    f.run(3 * s);
    for (int i = 0; i < 100; ++i)
        f.fail();
    for (int i = 0; i < 10'000; ++i)
        f.succeed();
    f.run(60 * s);
    CHECK(f.events.empty());
}

TEST_CASE("a slow consumer: what it has and takes its time for has not failed") {
    Scene f;
    // 20 of 100 fail at once, 80 are unacked for a minute and then succeed.
    QueueCounters told;
    f.tell(told);
    for (int second = 0; second < 60; ++second) {
        if (second < 20) f.outage.failed(1, false, f.now);
        f.now.steady += s;
        told = {100, 0, 0, 80};
        if (second % 2 == 0) f.tell(told);
        f.outage.on_tick(f.now);
    }
    CHECK(f.outage.take_events().empty());
}

TEST_CASE("a consumer that requeues what it cannot do: nothing dead-letters, no outage") {
    Scene f;
    QueueCounters told;
    f.fail();
    for (int second = 0; second < 60; ++second) {
        f.now.steady += s;
        told.delivered += 100;
        told.redelivered += 100;
        f.tell(told);
    }
    CHECK(f.outage.take_events().empty());
}

TEST_CASE("counters that begin anew, as after a restart of the node: no outage comes of it") {
    Scene f;
    QueueCounters told{100'000, 0, 99'000, 0};
    for (int second = 0; second < 120; ++second) {
        if (second == 60) told = {0, 0, 0, 0};
        told.delivered += 100;
        told.acked += 99;
        f.outage.failed(1, false, f.now);
        f.now.steady += s;
        f.tell(told);
    }
    CHECK(f.outage.take_events().empty());
}

TEST_CASE("while it holds, one message is sent home each probe, and all fail: it goes on") {
    Scene f;
    f.traffic = 60;
    f.down = true;
    f.until(State::holding);
    f.run(10 * s);  // some are held
    f.traffic = 0;
    f.run(30 * s);
    f.sent_home = 0;
    f.run(300 * s);
    CHECK(f.outage.state() == State::holding);
    CHECK(f.sent_home >= 28);
    CHECK(f.sent_home <= 31);
    CHECK(f.outage.last_probe_failed());
}

TEST_CASE("while fresh messages fail, probes are one in a thousand, and one in three of their time at least") {
    for (const double traffic : {20.0, 60.0, 200.0}) {
        CAPTURE(traffic);
        Scene f;
        f.traffic = traffic;
        f.run(60 * s);
        f.down = true;
        f.until(State::holding);
        f.sent_home = 0;
        f.run(300 * s);
        CHECK(f.outage.state() == State::holding);
        CHECK(f.sent_home >= 300 / (3 * 10) - 1);
        CHECK(f.sent_home <=
              std::max<std::size_t>(static_cast<std::size_t>(traffic * 300 / 1'000), 300 / (3 * 10)) + 1);
    }
}

TEST_CASE("fresh messages do not come any more: the next probe is sent when it is due") {
    Scene f;
    f.traffic = 60;
    f.run(60 * s);
    f.down = true;
    f.until(State::holding);
    f.run(31 * s);
    f.traffic = 0;
    f.run(11 * s);
    f.sent_home = 0;
    f.run(100 * s);
    CHECK(f.sent_home >= 9);
}

TEST_CASE("fresh traffic that succeeds ends it: released within 30 s, in the end nothing is held") {
    Scene f;
    f.traffic = 60;
    f.down = true;
    f.run(300 * s);
    CHECK(f.held > 15'000);
    f.down = false;
    f.most_a_second = 0;
    CHECK(f.until(State::releasing) <= 15 * s);
    f.until(State::none);
    CHECK(f.held == 0);
    CHECK(f.events == Events{Event::begun, Event::releasing, Event::over});
}

TEST_CASE("without fresh traffic the probes alone end it, within 30 s") {
    Scene f;
    f.traffic = 60;
    f.down = true;
    f.run(60 * s);
    f.traffic = 0;
    f.run(60 * s);
    CHECK(f.outage.state() == State::holding);
    f.down = false;
    f.sent_home = 0;
    CHECK(f.until(State::releasing) <= 30 * s);
    CHECK(f.sent_home == 2);
}

TEST_CASE("one success between failures does not end it") {
    Scene f;
    f.traffic = 60;
    f.down = true;
    f.until(State::holding);
    for (int second = 0; second < 120; ++second) {
        if (second % 10 == 0) f.succeed();
        f.run(s);
    }
    CHECK(f.outage.state() == State::holding);
}

TEST_CASE("the release begins at its rate and doubles; no second sees more") {
    Scene f;
    f.held = 20'000;
    f.outage.by_hand(true, f.now);
    f.outage.by_hand(false, f.now);
    f.run(2 * s);
    CHECK(f.most_a_second <= 53);
    CHECK(f.sent_home >= 95);
    f.run(3 * s);
    CHECK(f.most_a_second <= 106);
    CHECK(f.outage.rate() == 100);
    f.run(30 * s);
    CHECK(f.held == 0);
    CHECK(f.outage.state() == State::none);
}

TEST_CASE("when a tenth of what is sent home fails, the rate halves") {
    Scene f{OutageRule{.release = 64}};
    f.outage.by_hand(true, f.now);
    f.outage.by_hand(false, f.now);
    for (int i = 0; i < 100; ++i) {
        f.outage.sent(f.now);
        if (i % 5 == 0) f.outage.failed(1, true, f.now);
    }
    f.held = 100'000;
    f.run(Milliseconds{3'100});
    CHECK(f.outage.rate() == 32);
    CHECK(f.outage.state() == State::releasing);
}

TEST_CASE("a relapse holds again, by what was sent home alone, and the outage keeps its beginning") {
    Scene f;
    f.traffic = 60;
    f.down = true;
    f.run(120 * s);
    const auto since = f.outage.since();
    f.down = false;
    f.until(State::releasing);
    f.down = true;
    CHECK(f.until(State::holding) <= 2 * s);
    CHECK(f.outage.since() == since);
    CHECK(f.events == Events{Event::begun, Event::releasing, Event::relapsed});
    f.down = false;
    f.until(State::none);
    CHECK(f.held == 0);
}

TEST_CASE("a hold by hand sends no probe and ends with nothing but the hand") {
    Scene f;
    f.held = 100;
    f.outage.by_hand(true, f.now);
    f.traffic = 60;
    f.run(120 * s);
    CHECK(f.sent_home == 0);
    CHECK(f.outage.state() == State::holding);
    f.outage.by_hand(false, f.now);
    f.run(30 * s);
    CHECK(f.held == 0);
    CHECK(f.outage.state() == State::none);
}

TEST_CASE("a hold by hand without a rule does not relapse: what fails halves the rate") {
    Scene f{std::nullopt};
    f.held = 10'000;
    f.down = true;
    f.outage.by_hand(true, f.now);
    f.outage.by_hand(false, f.now);
    f.run(60 * s);
    CHECK(f.outage.state() == State::releasing);
    CHECK(f.outage.rate() <= 2);
}

TEST_CASE(
    "somebody says that an outage is over: it is released at its rate without a probe, and a relapse holds again") {
    Scene f;
    f.traffic = 60;
    f.down = true;
    f.until(State::holding);
    f.run(2 * s);
    f.held = 10'000;
    f.outage.release(f.now);
    CHECK(f.outage.state() == State::releasing);
    CHECK(f.outage.rate() == OutageRule{}.release);
    CHECK(f.until(State::holding) <= 2 * s);
    CHECK(f.events == Events{Event::begun, Event::releasing, Event::relapsed});
    f.down = false;
    f.sent_home = 0;
    f.outage.release(f.now);
    f.run(s);
    CHECK(f.sent_home >= 45);
    CHECK(f.outage.state() == State::releasing);
}

TEST_CASE("a release that is asked for twice, or of what a hand holds, changes nothing") {
    Scene f;
    f.held = 10'000;
    f.outage.by_hand(true, f.now);
    f.outage.release(f.now);
    CHECK(f.outage.state() == State::holding);
    f.outage.by_hand(false, f.now);
    f.run(s);
    const std::size_t sent = f.sent_home;
    f.outage.release(f.now);
    CHECK(f.outage.may_send(f.now.steady) <= 1);
    f.run(s);
    CHECK(f.sent_home - sent <= 53);
    CHECK(f.events == Events{Event::begun, Event::releasing});
}

TEST_CASE("after a hold by hand the rate grows no further than consumers ack what was sent home") {
    Scene f;
    f.outage.by_hand(true, f.now);
    f.traffic = 60;
    f.run(100 * s);
    QueueCounters counters{6'000, 0, 6'000};
    f.outage.by_hand(false, f.now);
    for (int step = 0; step < 2'000; ++step) {  // nothing is acked any more
        f.now.steady += Milliseconds{10};
        for (std::size_t some = f.outage.may_send(f.now.steady); some > 0; --some) {
            f.outage.sent(f.now);
            ++counters.delivered;
        }
        if (step % 200 == 0) f.tell(counters);
        f.outage.on_tick(f.now);
    }
    CHECK(f.outage.state() == State::releasing);
    CHECK(f.outage.rate() <= 8 * OutageRule{}.release);  // what is counted is known late; without it 3,200
}

TEST_CASE("the counters are asked for while a hand holds by a rule, since what follows is judged by them") {
    Scene f;
    f.outage.by_hand(true, f.now);
    CHECK(f.outage.wants_counters(f.now.steady));
    Scene ruleless{std::nullopt};
    ruleless.outage.by_hand(true, ruleless.now);
    CHECK(!ruleless.outage.wants_counters(ruleless.now.steady));
}

TEST_CASE("held messages that are found after a start: the probes tell, and since when is not known") {
    Scene f;
    f.held = 100;
    f.outage.found_held(true, f.now);
    CHECK(f.outage.state() == State::holding);
    CHECK(!f.outage.since());
    CHECK(f.until(State::releasing) <= 30 * s);
    Scene ruleless{std::nullopt};
    ruleless.outage.found_held(true, ruleless.now);
    CHECK(ruleless.outage.state() == State::releasing);
}

TEST_CASE("while it holds the counters are lost: two probes in a row that do not fail end it, and no sooner") {
    Scene f;
    f.traffic = 60;
    f.down = true;
    f.run(60 * s);
    f.counters = false;
    f.run(120 * s);
    CHECK(f.outage.state() == State::holding);
    f.traffic = 0;
    f.down = false;
    const Milliseconds took = f.until(State::releasing, 300 * s);
    CHECK(took >= 2 * f.rule.within);
    CHECK(took < 300 * s);
}

TEST_CASE("a sudden outage is suspected at once, and for no longer than it takes to be sure") {
    Scene f;
    f.traffic = 60;
    f.run(30 * s);
    f.down = true;
    f.run(s);
    CHECK(f.outage.known(f.now.steady).suspected);
    f.until(State::holding);
    CHECK(!f.outage.known(f.now.steady).suspected);
    CHECK(f.outage.known(f.now.steady).holding);
    Scene blind;
    blind.late = Milliseconds{10'000'000};
    blind.traffic = 60;
    blind.down = true;
    blind.run(10 * s);
    CHECK(blind.outage.known(blind.now.steady).suspected);
    blind.run(60 * s);
    CHECK(!blind.outage.known(blind.now.steady).suspected);
}

TEST_CASE("a suspicion outlasts a moment without failures, or without counters, and its beginning stays") {
    Scene f;
    f.traffic = 60;
    f.run(60 * s);
    f.down = true;
    const WallTime died = f.now.wall;
    f.run(5 * s);
    CHECK(f.outage.known(f.now.steady).suspected);
    SECTION("nothing is heard of the broker") {
        f.traffic = 0;
    }
    SECTION("its counters cannot be asked for") {
        f.counters = false;
    }
    for (int i = 0; i < 4; ++i) {
        f.run(1 * s);
        CHECK(f.outage.known(f.now.steady).suspected);
    }
    f.traffic = 60;
    f.counters = true;
    f.until(State::holding);
    REQUIRE(f.outage.since());
    CHECK(*f.outage.since() - died <= 1 * s);
}

TEST_CASE("the outage's beginning is its first failure") {
    Scene f;
    f.run(10 * s);
    f.down = true;
    f.traffic = 60;
    const WallTime began = f.now.wall;
    f.until(State::holding);
    REQUIRE(f.outage.since());
    CHECK(*f.outage.since() - began <= s);
    CHECK(*f.outage.since() >= began);
}

TEST_CASE("the beginning is known where it takes longer to notice than what is looked at") {
    Scene f{OutageRule{.within = 5 * s}};
    f.traffic = 50;
    f.run(30 * s);
    f.failing = 0.01;
    f.run(20 * s);
    f.down = true;
    const WallTime began = f.now.wall;
    f.until(State::holding);
    REQUIRE(f.outage.since());
    CHECK(*f.outage.since() - began <= s);
}

TEST_CASE("a reload that takes the rule away releases what is held") {
    Scene f;
    f.traffic = 60;
    f.down = true;
    f.until(State::holding);
    f.outage.adopt(std::nullopt, f.now);
    CHECK(f.outage.state() == State::releasing);
}

TEST_CASE("nobody is asked for counters where nothing fails") {
    Scene f;
    CHECK(!f.outage.wants_counters(f.now.steady));
    f.fail();
    CHECK(f.outage.wants_counters(f.now.steady));
    f.run(120 * s);
    CHECK(!f.outage.wants_counters(f.now.steady));
}

}  // namespace retryd::core::outage_test
