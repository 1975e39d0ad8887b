// What a session cannot do without is declared, and the broker does not answer.
#include "faults/through_faults.h"

using namespace retryd::test;

namespace {

When declare_ok() {
    return {.direction = Direction::to_daemon, .method = method::queue_declare_ok};
}

}  // namespace

TEST_CASE("a broker that does not answer a declare at the start: said, and the next one of the list is used",
          "[slow]") {
    ThroughFaults s;
    s.config.uris.push_back(uri_of(broker_address()));
    const auto swallowed = s.network.on(declare_ok(), fault::swallow());
    s.daemon.start(s.config.yaml());
    REQUIRE(s.network.await_matched(swallowed));
    CHECK_FALSE(s.consuming());
    REQUIRE(await([&] { return s.consuming(); }, 2 * patience));
    CHECK(s.daemon.lines_with({"has not answered for 30s when asked to declare queue", "trying the next broker"}) == 1);
    CHECK(s.network.accepted() == 2);
    s.check_goes_on();
    s.stop();
}

TEST_CASE("a broker that stops answering declares once messages are consumed: said once, and they go on",
          "[slow][night]") {
    constexpr milliseconds one_round{60'000 + 30'000};
    ThroughFaults s;
    s.start();
    REQUIRE(await([&] { return s.exists("retryd.detour.5m"); }));  // the last that is declared in advance
    s.check_goes_on();
    s.network.on(every(declare_ok()), fault::swallow());
    const std::string told = "has not answered for 30s ";
    const std::string catch_all = told + "when asked to declare queue '" + s.config.catch_all + "'";
    REQUIRE(await([&] { return s.daemon.lines_with({catch_all}) == 1; }, one_round + patience));
    s.check_goes_on();
    // What consumes the error queue asks for it, too.
    CHECK(s.daemon.lines_with({told + "what it was asked about the error queue"}) == 1);
    CHECK(s.daemon.lines_with({told}) == 2);
    CHECK(s.network.accepted() == 2);
    s.stop();
}
