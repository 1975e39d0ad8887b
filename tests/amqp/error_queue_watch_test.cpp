#include "amqp/error_queue_watch.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace retryd::amqp::error_queue_watch_test {
namespace {

using core::Milliseconds;
using State = ErrorQueueWatch::State;
using Looked = ErrorQueueWatch::Looked;
using Probed = ErrorQueueWatch::Probed;

/// A broker that answers as it is told to, as soon as the clock goes on.
class Broker : private ErrorQueueWatch::Commands {
  public:
    Broker() : watch(*this) { watch.consuming(now_); }

    ErrorQueueWatch watch;
    std::optional<Looked> looked = Looked::answered;
    std::optional<std::uint64_t> consumers = 1;
    std::optional<Probed> probed = Probed::answered;  // none: no answer
    bool connects = true;
    bool may_look = true;
    bool may_probe = true;
    bool has_room = true;
    bool delivers = false;
    int looks = 0;
    int probes = 0;

    /// In steps of half a second.
    void pass(Milliseconds time) {
        for (const core::SteadyTime end = now_ + time; now_ < end;) {
            now_ += Milliseconds(500);
            if (look_asked_ && looked) {
                look_asked_ = false;
                watch.looked(*looked, consumers, now_);
            }
            if (probe_asked_ && connects && !std::exchange(probe_sent_, true)) watch.probing(now_);
            if (probe_asked_ && connects && probed) {
                probe_asked_ = false;
                watch.probed(*probed, now_);
            }
            if (delivers) watch.delivered(now_);
            watch.tick(now_, {.look = may_look, .probe = may_probe, .has_room = has_room});
        }
    }
    /// How long it takes.
    Milliseconds until(State state) {
        const core::SteadyTime begin = now_;
        while (watch.state() != state && now_ - begin < Milliseconds(600'000))
            pass(Milliseconds(500));
        return now_ - begin;
    }
    void lose_majority() {
        probed = Probed::unanswered;
        until(State::leaderless);
    }

  private:
    void look() override {
        CHECK_FALSE((look_asked_ || probe_asked_));
        look_asked_ = true;
        ++looks;
    }
    void probe() override {
        CHECK_FALSE((look_asked_ || probe_asked_));
        probe_asked_ = true;
        probe_sent_ = false;
        ++probes;
    }

    core::SteadyTime now_{Milliseconds(1'000'000)};
    bool look_asked_ = false;
    bool probe_asked_ = false;
    bool probe_sent_ = false;
};

constexpr Milliseconds minute{60'000};

}  // namespace

TEST_CASE("error queue: while nothing comes it is looked for and asked for a consumer, about twice a minute") {
    Broker broker;
    broker.pass(10 * minute);
    CHECK(broker.watch.state() == State::works);
    CHECK(broker.looks >= 20);
    CHECK(broker.looks <= 26);
    CHECK(broker.probes >= broker.looks - 1);
    CHECK(broker.probes <= broker.looks);
}

TEST_CASE("error queue: nothing is asked before the broker has answered a basic.consume") {
    class Silent : public ErrorQueueWatch::Commands {
        void look() override { FAIL("looks"); }
        void probe() override { FAIL("probes"); }
    } commands;
    ErrorQueueWatch watch(commands);
    watch.tick(core::SteadyTime{minute}, {.look = true, .probe = true, .has_room = true});
    CHECK(watch.state() == State::works);
}

TEST_CASE("error queue: as long as it delivers it is not asked for a consumer") {
    Broker broker;
    broker.delivers = true;
    broker.pass(10 * minute);
    CHECK(broker.looks > 0);
    CHECK(broker.probes == 0);
}

TEST_CASE("error queue: a consumer that it does not give within seconds means no majority, until it gives one") {
    Broker broker;
    broker.probed.reset();
    const Milliseconds known = broker.until(State::leaderless);
    CHECK(known > Milliseconds(30'000));
    CHECK(known <= minute);
    broker.pass(minute);
    CHECK(broker.watch.state() == State::leaderless);
    CHECK(broker.probes == 1);
    broker.probed = Probed::answered;
    CHECK(broker.until(State::works) <= Milliseconds(1'000));
}

TEST_CASE("error queue: after the broker has given up waiting it is asked again") {
    Broker broker;
    broker.lose_majority();
    const int before = broker.probes;
    broker.pass(minute);
    CHECK(broker.watch.state() == State::leaderless);
    CHECK(broker.probes > before + 8);
    broker.probed = Probed::answered;
    CHECK(broker.until(State::works) <= Milliseconds(6'000));
}

TEST_CASE("error queue: as long as ours has no room it is asked for no other consumer, which would take a message") {
    Broker broker;
    broker.has_room = false;
    broker.pass(10 * minute);
    CHECK(broker.looks >= 20);
    CHECK(broker.probes == 0);
    SECTION("but when none gets anything, for none is known") {
        broker.consumers = 0;
        broker.probed = Probed::unanswered;
        CHECK(broker.until(State::leaderless) <= minute);
    }
    SECTION("and to learn that this is over") {
        broker.has_room = true;
        broker.probed = Probed::unanswered;
        broker.until(State::leaderless);
        broker.has_room = false;
        broker.probed = Probed::answered;
        CHECK(broker.until(State::works) <= Milliseconds(6'000));
        const int before = broker.probes;
        broker.pass(10 * minute);
        CHECK(broker.probes == before);
    }
}

TEST_CASE("error queue: one without a majority is not looked at while it cannot be asked, nor ours its consumer gone") {
    Broker broker;
    broker.lose_majority();
    broker.may_probe = false;
    broker.consumers = 0;
    broker.pass(10 * minute);
    CHECK(broker.watch.state() == State::leaderless);
    broker.may_probe = true;
    broker.probed = Probed::answered;
    CHECK(broker.until(State::works) <= Milliseconds(6'000));
}

TEST_CASE("error queue: a connection that takes long to open tells nothing of the queue") {
    Broker broker;
    broker.connects = false;
    broker.pass(5 * minute);
    CHECK(broker.watch.state() == State::works);
    CHECK(broker.probes == 1);
    broker.connects = true;
    broker.probed.reset();
    const Milliseconds known = broker.until(State::leaderless);
    CHECK(known >= Milliseconds(15'000));
    CHECK(known <= Milliseconds(16'000));
}

TEST_CASE("error queue: one without a majority stays so, and ours its consumer, when the question is cut off") {
    Broker broker;
    broker.consumers = 0;
    broker.lose_majority();
    broker.probed = Probed::unknown;  // no connection is to be had, or somebody closes it each time
    const int before = broker.probes;
    broker.pass(10 * minute);
    CHECK(broker.watch.state() == State::leaderless);
    CHECK(broker.probes >= before + 20);
    broker.probed = Probed::answered;
    broker.consumers = 1;
    CHECK(broker.until(State::works) <= Milliseconds(26'000));
}

TEST_CASE("error queue: a question that could not be asked is asked again soon, but not for ever") {
    Broker broker;
    broker.probed = Probed::unknown;
    broker.pass(minute);
    CHECK(broker.probes == 2);
    CHECK_FALSE(broker.watch.cannot_probe());
    broker.pass(minute);
    CHECK(broker.probes == 3);
    CHECK(broker.watch.cannot_probe());
    broker.pass(10 * minute);
    CHECK(broker.probes <= 5);
    broker.probed = Probed::unanswered;  // it can be asked again
    CHECK(broker.until(State::leaderless) <= 6 * minute);
    CHECK_FALSE(broker.watch.cannot_probe());

    Broker without_leader;
    without_leader.probed = Probed::unknown;
    without_leader.consumers = 0;
    without_leader.pass(Milliseconds(27'000));
    CHECK(without_leader.watch.state() == State::works);
    without_leader.probed = Probed::unanswered;
    CHECK(without_leader.until(State::leaderless) <= Milliseconds(10'000));
}

TEST_CASE("error queue: what it delivers shows that it works, whatever was asked") {
    Broker broker;
    broker.probed.reset();
    broker.until(State::leaderless);
    broker.delivers = true;
    broker.pass(minute);
    CHECK(broker.watch.state() == State::works);
    broker.delivers = false;
    broker.probed = Probed::unanswered;  // the answer to what was asked before
    broker.pass(Milliseconds(1'000));
    CHECK(broker.watch.state() == State::works);
}

TEST_CASE("error queue: without a leader it has no consumer, and that is no reason to make another one") {
    Broker broker;
    broker.consumers = 0;
    broker.probed = Probed::unanswered;
    CHECK(broker.until(State::leaderless) <= minute);
    broker.pass(10 * minute);
    CHECK(broker.watch.state() == State::leaderless);
}

TEST_CASE("error queue: if it gives a consumer, and does not know ours, ours is gone") {
    Broker broker;
    broker.consumers = 0;
    CHECK(broker.until(State::consumer_gone) <= minute);
    CHECK(broker.probes > 0);
}

TEST_CASE("error queue: it knows no consumer for a moment, while it elects a leader") {
    Broker broker;
    broker.consumers = 0;
    broker.pass(Milliseconds(26'000));
    REQUIRE(broker.looks == 1);
    broker.consumers = 1;
    broker.pass(10 * minute);
    CHECK(broker.watch.state() == State::works);
}

TEST_CASE("error queue: where no consumer can be asked for, two looks in a row tell that ours is gone") {
    Broker broker;
    broker.may_probe = false;
    broker.consumers = 0;
    CHECK(broker.until(State::consumer_gone) <= minute);
    CHECK(broker.probes == 0);

    Broker refused;
    refused.probed = Probed::unknown;
    refused.pass(4 * minute);
    CHECK(refused.watch.state() == State::works);
    refused.consumers = 0;
    CHECK(refused.until(State::consumer_gone) <= minute);
}

TEST_CASE("error queue: where nobody knows how many consumers it has, ours is not gone") {
    Broker broker;
    broker.consumers.reset();
    broker.pass(10 * minute);
    CHECK(broker.watch.state() == State::works);
}

TEST_CASE("error queue: one that does not answer a look hangs, until it does, or delivers") {
    Broker broker;
    broker.looked = Looked::silent;
    CHECK(broker.until(State::hangs) <= minute);
    CHECK(broker.probes == 0);
    broker.looked = Looked::answered;
    CHECK(broker.until(State::works) <= Milliseconds(26'000));
    broker.looked = Looked::silent;
    broker.until(State::hangs);
    broker.delivers = true;
    broker.pass(Milliseconds(500));
    CHECK(broker.watch.state() == State::works);
}

TEST_CASE("error queue: a broker under an alarm tells nothing of it") {
    Broker broker;
    broker.looked = Looked::unknown;
    broker.consumers.reset();
    broker.pass(10 * minute);
    CHECK(broker.watch.state() == State::works);
    broker.may_look = false;
    const int before = broker.looks;
    broker.pass(10 * minute);
    CHECK(broker.looks == before);
}

}  // namespace retryd::amqp::error_queue_watch_test
