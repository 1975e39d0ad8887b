// What a session cannot do without is declared, and the broker does not answer.
#include "faults/through_faults.h"

using namespace retryd::test;

namespace {

When declare_ok() {
    return sent_by_broker(50, 11);
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

TEST_CASE("a broker that stops answering declares once messages are consumed: said once, and they go on", "[night]") {
    // Each minute, or once the former round is over: the catch-all and the error queue, and whether it has a consumer.
    constexpr milliseconds second_error_queue{60'000 + 3 * 30'000 + 30'000};
    ThroughFaults s;
    s.start();
    REQUIRE(await([&] { return s.exists("retryd.detour.5m"); }));  // the last that is declared in advance
    s.check_goes_on();
    s.network.on(every(declare_ok()), fault::swallow());
    const std::string told = "has not answered for 30s when asked to ";
    REQUIRE(await([&] { return s.daemon.lines_with({told}) == 3; }, second_error_queue + patience));
    s.check_goes_on();
    CHECK(s.daemon.lines_with({told + "declare queue '" + s.config.catch_all + "'"}) == 1);
    CHECK(s.daemon.lines_with({told + "declare queue '" + s.config.error_queue + "'"}) == 1);
    CHECK(s.daemon.lines_with({told}) == 3);
    CHECK(s.network.accepted() == 2);
    s.stop();
}
