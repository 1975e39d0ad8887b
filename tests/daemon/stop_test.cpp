#include <thread>

#include "daemon/run.h"
#include "support/catch.h"

namespace retryd::daemon::stop_test {

using core::Milliseconds;

TEST_CASE("a stop that nobody asked for is not there, and waiting for it ends with its time") {
    const StopLatch stop;
    CHECK_FALSE(stop.requested());
    CHECK_FALSE(stop.wait(Milliseconds{1}));
}

TEST_CASE("a requested stop stays requested") {
    StopLatch stop;
    stop.request();
    stop.request();
    CHECK(stop.requested());
    CHECK(stop.requested());
}

TEST_CASE("a request from another thread wakes the one that waits") {
    StopLatch stop;
    std::thread other([&] { stop.request(); });
    CHECK(stop.wait(Milliseconds{60'000}));
    other.join();
}

}  // namespace retryd::daemon::stop_test
