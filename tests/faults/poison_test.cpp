// A message on which the broker chokes: it is found, set aside, and its neighbours go on.
#include "faults/broker_setting.h"
#include "faults/through_faults.h"

using namespace retryd::test;

namespace {

/// It was parked by the broker's own dead-lettering; the others are back.
void check_only_aside(const ThroughFaults& s, const std::string& id) {
    CHECK(s.parked.size() == 1);
    CHECK(s.parked.count(id) == 1);
}

void reject_among_others(ThroughFaults& s) {
    s.reject_many(150);
    s.reject("poison", s.work, "POISON");
    s.reject_many(150);
}

Fault internal_error() {
    return fault::connection_close(541, "INTERNAL_ERROR");
}

const std::string set_aside_for = "each time it was published the broker ended the connection";

/// Once among others, twice alone, and once more where the end came before the others were confirmed.
constexpr int few = 4;

}  // namespace

TEST_CASE("a message at which the broker ends the connection with 541 is set aside after a few, the others arrive") {
    ThroughFaults s;
    s.start();
    const auto ended = s.network.on(every(publication_with("POISON")), internal_error());
    reject_among_others(s);
    s.check_nothing_is_lost();
    check_only_aside(s, "poison");
    CHECK(await([&] { return s.daemon.lines_with({set_aside_for}) == 1; }));
    s.check_goes_on();
    CHECK(s.network.matched(ended) <= few);
    CHECK(s.daemon.lines_with({"connected to"}) <= few + 1);
    s.stop();
}

TEST_CASE("a message at which the broker ends the connection with 541 is set aside although a declare was under way") {
    const std::string declared_last = "retryd.detour.5m";
    ThroughFaults s;
    s.network.on(
        every({.direction = Direction::to_daemon, .method = method::queue_declare_ok, .marker = declared_last}),
        fault::swallow());
    const auto asked = s.network.on(
        {.direction = Direction::to_broker, .method = method::queue_declare, .marker = declared_last}, fault::none());
    s.start();
    REQUIRE(s.network.await_matched(asked));
    const auto ended = s.network.on(every(publication_with("POISON")), internal_error());
    reject_among_others(s);
    s.check_nothing_is_lost();
    check_only_aside(s, "poison");
    CHECK(await([&] { return s.daemon.lines_with({set_aside_for}) == 1; }));
    CHECK(s.daemon.lines_with({"RabbitMQ ended the connection that declares"}) >= 1);
    s.check_goes_on();
    CHECK(s.network.matched(ended) <= few);
    CHECK(s.daemon.lines_with({"connected to"}) <= few + 1);
    s.stop();
}

TEST_CASE("a message at which the connection just ends is set aside after some, the others arrive all the time") {
    ThroughFaults s;
    s.start();
    s.network.on(every(publication_with("POISON")), fault::cut());
    s.reject_many(50);
    s.reject("poison", s.work, "POISON");
    for (int i = 0; i < 20; ++i) {
        s.reject_many(5);
        s.drain_work_queues(milliseconds(50));
    }
    s.check_nothing_is_lost();
    // After how many depends on the neighbours: what is confirmed beside it speaks for the network.
    check_only_aside(s, "poison");
    s.check_goes_on();
    s.stop();
}

TEST_CASE("a message larger than the broker takes is set aside at once, the others arrive, no connection is lost",
          "[own-broker]") {
    ThroughFaults s;
    s.start();
    s.stop();
    s.reject_many(150);
    s.reject("large", s.work, std::string(100 * 1024, '.'));
    s.reject_many(150);
    const BrokerSetting limit("max_message_size", "65536");
    // Not those that answer a look at a queue that is not there.
    const auto closed = s.network.on(
        every({.direction = Direction::to_daemon, .method = method::channel_close, .marker = "message size"}),
        fault::none());
    const int connections = s.network.accepted();
    s.start();
    s.check_nothing_is_lost();
    check_only_aside(s, "large");
    CHECK(s.network.matched(closed) >= 1);
    CHECK(s.network.matched(closed) <= 2);
    CHECK(s.network.accepted() == connections + 2);
    s.check_goes_on();
    s.stop();
}
