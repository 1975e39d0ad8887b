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
    bool may_look = true;
    bool may_probe = true;
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
            if (probe_asked_ && probed) {
                probe_asked_ = false;
                watch.probed(*probed, now_);
            }
            if (delivers) watch.delivered(now_);
            watch.tick(now_, may_look, may_probe);
        }
    }
    /// How long it takes.
    Milliseconds until(State state) {
        const core::SteadyTime begin = now_;
        while (watch.state() != state && now_ - begin < Milliseconds(600'000))
            pass(Milliseconds(500));
        return now_ - begin;
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
        ++probes;
    }

    core::SteadyTime now_{Milliseconds(1'000'000)};
    bool look_asked_ = false;
    bool probe_asked_ = false;
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
    watch.tick(core::SteadyTime{minute}, true, true);
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
    broker.probed = Probed::unanswered;
    broker.until(State::leaderless);
    const int before = broker.probes;
    broker.pass(minute);
    CHECK(broker.watch.state() == State::leaderless);
    CHECK(broker.probes > before + 8);
    broker.probed = Probed::answered;
    CHECK(broker.until(State::works) <= Milliseconds(6'000));
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
    CHECK(refused.probes == 1);
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
