#include "amqp/consuming_channels.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace retryd::amqp::consuming_channels_test {
namespace {

using core::Milliseconds;
using Question = ConsumingChannels::Question;
using Did = std::vector<std::string>;

constexpr Channel most = 2'047;

/// A broker that answers on all channels but those that are stuck, as soon as the clock goes on. What the channels do
/// is noted, without the asking.
class Broker : private ConsumingChannels::Commands {
  public:
    explicit Broker(Channel last = most) : channels(*this, last) { channels.start(now_); }

    ConsumingChannels channels;
    Did did;
    int asked = 0;
    std::set<Channel> stuck;
    std::set<Channel> busy;       // with something unsettled
    std::set<Channel> receiving;  // a message
    bool may_open = true;
    bool reads_all = true;

    /// In steps of 50 ms.
    void pass(Milliseconds time) {
        for (const core::SteadyTime end = now_ + time; now_ < end;) {
            now_ += Milliseconds(50);
            answer();
            channels.tick(now_, may_open, reads_all);
        }
    }
    Did take_did() { return std::exchange(did, {}); }
    /// Those that are open on the broker.
    std::size_t open_channels() const { return open_.size(); }
    core::SteadyTime now() const { return now_; }

  private:
    struct Owed {
        Channel channel;
        std::optional<Question> question;  // none: close-ok
    };

    void owe(Channel channel, Question question) {
        owed_.push_back({channel, question});
        channels.sent(channel, question);
    }
    void note(const std::string& what, Channel channel) { did.push_back(what + ' ' + std::to_string(channel)); }
    void answer() {
        for (const Owed& each : std::exchange(owed_, {})) {
            if (stuck.contains(each.channel)) {
                owed_.push_back(each);
            } else if (each.question) {
                channels.answered(each.channel, *each.question);
            } else {
                open_.erase(each.channel);
                channels.closed(each.channel);
            }
        }
    }

    void open(Channel channel, bool spare) override {
        note(spare ? "spare" : "main", channel);
        CHECK(open_.insert(channel).second);
        owe(channel, Question::qos);
        owe(channel, Question::consume);
    }
    void ask(Channel channel) override {
        ++asked;
        owe(channel, Question::qos);
    }
    void cancel(Channel channel) override {
        note("cancel", channel);
        owe(channel, Question::cancel);
    }
    void give_back(Channel channel) override { note("give back", channel); }
    void close(Channel channel) override {
        note("close", channel);
        owed_.push_back({channel, std::nullopt});
    }
    bool is_idle(Channel channel) const override { return !busy.contains(channel); }
    bool receives(Channel channel) const override { return receiving.contains(channel); }

    core::SteadyTime now_{Milliseconds(1'000'000)};
    std::vector<Owed> owed_;
    std::set<Channel> open_;
};

/// The first channel is stuck, and that is known.
void stick(Broker& broker) {
    broker.pass(Milliseconds(1'000));
    broker.stuck.insert(1);
    broker.pass(Milliseconds(2'000));
    REQUIRE(broker.channels.one_at_a_time());
}

}  // namespace

TEST_CASE("where no spare channel may be opened, it is known how long the only one has been silent, without haste") {
    Broker broker;
    broker.may_open = false;
    broker.pass(Milliseconds(2'000));
    CHECK(broker.channels.main_silent_for() <= Milliseconds(50));
    broker.stuck.insert(1);
    broker.pass(Milliseconds(4'000));
    CHECK(broker.channels.main_silent_for() >= Milliseconds(3'000));
    CHECK(broker.channels.main_silent_for() <= Milliseconds(4'000));
    CHECK(broker.channels.next_tick() > broker.now());
    CHECK(broker.channels.spares() == 0);
    broker.channels.acked(1);  // an ack may still be on its way to the queue
    broker.pass(Milliseconds(1'000));
    CHECK(broker.channels.main_silent_for() <= Milliseconds(1'000));
    CHECK(broker.channels.main_silent_for() >= Milliseconds(900));
    broker.stuck.clear();
    broker.pass(Milliseconds(100));
    CHECK(broker.channels.main_silent_for() <= Milliseconds(50));
}

TEST_CASE("as long as it answers there is one channel, and it is asked twice a second") {
    Broker broker;
    CHECK(broker.channels.main() == 1);
    broker.pass(Milliseconds(60'000));
    CHECK(broker.did == Did{"main 1"});
    CHECK(broker.asked >= 100);
    CHECK(broker.asked <= 120);
    CHECK_FALSE(broker.channels.one_at_a_time());
}

TEST_CASE("a broker that is slow as a whole gets a few questions more, and all is as before when it answers") {
    Broker broker;
    broker.pass(Milliseconds(1'000));
    for (Channel channel = 1; channel < 20; ++channel)
        broker.stuck.insert(channel);
    broker.pass(Milliseconds(10'000));
    CHECK(broker.channels.main() == 1);
    CHECK(broker.channels.spares() == 8);
    CHECK_FALSE(broker.channels.one_at_a_time());
    CHECK_FALSE(broker.channels.all_silent());
    CHECK(broker.take_did().size() == 9);  // nothing was cancelled: the broker does not know these consumers yet
    broker.pass(Milliseconds(10'000));
    CHECK(broker.channels.all_silent());
    broker.stuck.clear();
    broker.pass(Milliseconds(100));
    CHECK_FALSE(broker.channels.all_silent());
    broker.pass(Milliseconds(1'000));
    CHECK(broker.channels.spares() == 0);
    CHECK(broker.open_channels() == 1);
    CHECK(broker.channels.main() == 1);
    CHECK_FALSE(broker.channels.one_at_a_time());
}

TEST_CASE("the first one may answer a moment after the second: it is not stuck") {
    Broker broker;
    broker.pass(Milliseconds(1'000));
    broker.stuck = {1};
    while (broker.channels.spares() == 0)
        broker.pass(Milliseconds(50));
    broker.pass(Milliseconds(150));
    broker.stuck.clear();
    broker.pass(Milliseconds(1'000));
    CHECK(broker.did == Did{"main 1", "spare 2", "cancel 2", "close 2"});
    CHECK(broker.channels.main() == 1);
}

TEST_CASE("one that stays silent while another answers gives back what it was given, and others are there instead") {
    Broker broker;
    stick(broker);
    CHECK_FALSE(broker.channels.main());
    CHECK(broker.channels.spares() >= 8);
    CHECK_FALSE(broker.channels.takes(1));
    Did did = broker.take_did();
    did.resize(4);
    CHECK(did == Did{"main 1", "spare 2", "spare 3", "spare 4"});
    broker.pass(Milliseconds(1'000));
    CHECK(broker.take_did() == Did{"give back 1", "give back 1"});
    broker.stuck.clear();
    broker.pass(Milliseconds(500));
    CHECK(broker.take_did().back() == "close 1");
    CHECK_FALSE(broker.channels.closes(1));
    CHECK(broker.channels.spares() == 8);
    CHECK(broker.open_channels() == 8);
}

TEST_CASE("it is known within two seconds") {
    Broker broker;
    broker.pass(Milliseconds(1'000));
    broker.stuck = {1};
    broker.pass(Milliseconds(1'900));
    CHECK(broker.channels.one_at_a_time());
}

TEST_CASE("nothing goes back while something that was delivered is unsettled") {
    Broker broker;
    broker.busy = {1};
    stick(broker);
    broker.pass(Milliseconds(5'000));
    CHECK(broker.channels.takes(1));
    for (const std::string& done : broker.did) {
        CHECK(done != "give back 1");
        CHECK(done != "close 1");
    }
    CHECK(std::count(broker.did.begin(), broker.did.end(), "cancel 1") == 1);
    broker.take_did();
    SECTION("it is settled") {
        broker.busy.clear();
        broker.pass(Milliseconds(100));
        CHECK(broker.take_did() == Did{"give back 1"});
        CHECK_FALSE(broker.channels.takes(1));
    }
    SECTION("the rest comes") {
        broker.stuck.clear();
        broker.pass(Milliseconds(1'000));
        CHECK(broker.take_did() == Did{});
        broker.channels.acked(1);
        broker.busy.clear();
        broker.pass(Milliseconds(200));
        CHECK(broker.take_did() == Did{});  // the ack may be on its way
        broker.pass(Milliseconds(100));
        CHECK(broker.take_did() == Did{"close 1"});
    }
}

TEST_CASE(
    "a channel may be stuck from its beginning: then its consumer is cancelled although it has not been answered") {
    Broker broker;
    broker.stuck = {1};
    broker.pass(Milliseconds(3'000));
    REQUIRE(broker.channels.one_at_a_time());
    CHECK(std::count(broker.did.begin(), broker.did.end(), "cancel 1") == 1);
    CHECK(std::count(broker.did.begin(), broker.did.end(), "give back 1") > 1);
}

TEST_CASE("each spare one that is silent or has something to do is made up for, up to a limit") {
    Broker broker;
    stick(broker);
    broker.stuck.insert({2, 3, 4});
    broker.busy = {5, 6};
    broker.pass(Milliseconds(1'000));
    CHECK(broker.channels.spares() == 8 + 3 + 2);
    for (Channel channel = 1; channel < 100; ++channel)
        broker.stuck.insert(channel);
    broker.pass(Milliseconds(5'000));
    CHECK(broker.open_channels() == 64);
    CHECK_FALSE(broker.channels.all_silent());
    broker.pass(Milliseconds(15'000));
    CHECK(broker.channels.all_silent());
    CHECK(broker.open_channels() == 64);
}

TEST_CASE("those that look whether the first is stuck may be stuck themselves") {
    Broker broker;
    broker.pass(Milliseconds(1'000));
    broker.stuck = {1, 2, 3};
    broker.pass(Milliseconds(4'000));
    CHECK(broker.channels.one_at_a_time());
    CHECK_FALSE(broker.channels.main());
}

TEST_CASE("after a minute without silence there is one channel again") {
    Broker broker;
    stick(broker);
    broker.pass(Milliseconds(30'000));
    broker.stuck.insert(3);
    broker.pass(Milliseconds(5'000));
    broker.stuck.erase(3);
    broker.pass(Milliseconds(55'000));
    CHECK_FALSE(broker.channels.main());
    broker.take_did();
    SECTION("if it answers") {
        broker.pass(Milliseconds(10'000));
        CHECK_FALSE(broker.channels.one_at_a_time());
        CHECK(broker.channels.spares() == 0);
        REQUIRE(broker.channels.main());
        broker.stuck.clear();
        broker.pass(Milliseconds(1'000));
        CHECK(broker.open_channels() == 1);
        CHECK(broker.channels.takes(*broker.channels.main()));
    }
    SECTION("if not, the spare ones go on") {
        for (Channel channel = 11; channel < 20; ++channel)
            broker.stuck.insert(channel);
        broker.pass(Milliseconds(10'000));
        CHECK(std::count(broker.did.begin(), broker.did.end(), "main 11") == 1);
        CHECK(broker.channels.one_at_a_time());
        CHECK_FALSE(broker.channels.main());
        CHECK(broker.channels.spares() >= 8);
        broker.pass(Milliseconds(30'000));
        CHECK(broker.channels.one_at_a_time());
    }
}

TEST_CASE("what is not read, or comes in part, or has come, is no silence") {
    Broker broker;
    broker.pass(Milliseconds(1'000));
    broker.stuck = {1};
    SECTION("nothing is read") {
        broker.reads_all = false;
        broker.pass(Milliseconds(10'000));
    }
    SECTION("a large message") {
        broker.receiving = {1};
        broker.pass(Milliseconds(10'000));
    }
    SECTION("messages") {
        for (int i = 0; i < 20; ++i) {
            broker.channels.delivered(1);
            broker.pass(Milliseconds(500));
        }
    }
    CHECK(broker.take_did() == Did{"main 1"});
}

TEST_CASE("where no other channel may be opened, or the broker allows none, it is only known that nothing comes") {
    Broker broker(1);
    Broker trial;
    trial.may_open = false;
    for (Broker* const each : {&broker, &trial}) {
        each->stuck = {1};
        each->pass(Milliseconds(20'000));
        CHECK(each->take_did() == Did{"main 1"});
        CHECK(each->channels.all_silent());
    }
}

TEST_CASE("when not even a new channel is answered the broker is ending the connection; as long as one is, it is not") {
    Broker broker;
    stick(broker);
    broker.pass(Milliseconds(10'000));
    CHECK_FALSE(broker.channels.connection_ends());
    SECTION("none is answered") {
        for (Channel channel = 1; channel < ConsumingChannels::end_of_numbers; ++channel)
            broker.stuck.insert(channel);
        broker.pass(Milliseconds(7'000));
        CHECK_FALSE(broker.channels.connection_ends());
        broker.pass(Milliseconds(2'000));
        CHECK(broker.channels.connection_ends());
        broker.stuck = {1};
        broker.pass(Milliseconds(1'000));
        CHECK_FALSE(broker.channels.connection_ends());
    }
    SECTION("there were as many as may be before, since they answered late") {
        for (Channel channel = 2; channel < ConsumingChannels::end_of_numbers; ++channel)
            broker.busy.insert(channel);
        broker.pass(Milliseconds(10'000));
        REQUIRE(broker.open_channels() == ConsumingChannels::most_spares);
        broker.busy.clear();
        for (Channel channel = 1; channel < ConsumingChannels::end_of_numbers; ++channel)
            broker.stuck.insert(channel);
        broker.pass(Milliseconds(8'000));
        CHECK_FALSE(broker.channels.connection_ends());
        broker.pass(Milliseconds(3'000));
        CHECK(broker.channels.connection_ends());
    }
    SECTION("all that there are have a message to wait for") {
        for (Channel channel = 2; channel <= ConsumingChannels::most_spares; ++channel) {
            broker.pass(Milliseconds(500));
            broker.stuck.insert(channel);
        }
        broker.pass(Milliseconds(20'000));
        CHECK_FALSE(broker.channels.connection_ends());
        CHECK(broker.channels.all_silent());
        CHECK(broker.open_channels() <= ConsumingChannels::most_spares + 1);
    }
}

TEST_CASE("new ones take the place of the spare ones") {
    Broker broker;
    stick(broker);
    broker.pass(Milliseconds(500));
    broker.take_did();
    broker.channels.renew_spares();
    broker.pass(Milliseconds(1'000));
    const Did did = broker.take_did();
    CHECK(std::count_if(did.begin(), did.end(), [](const auto& done) { return done.starts_with("spare"); }) == 8);
    CHECK(std::count_if(did.begin(), did.end(), [](const auto& done) { return done.starts_with("close"); }) == 8);
    CHECK(broker.channels.spares() == 8);
    CHECK(broker.channels.one_at_a_time());
}

}  // namespace retryd::amqp::consuming_channels_test
