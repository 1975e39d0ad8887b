// How the threads of the daemon wake each other.
#include "daemon/requests.h"

#include <thread>

#include "support/catch.h"

namespace retryd::daemon::requests_test {

using core::Milliseconds;

TEST_CASE("nothing is asked for at first, and waiting ends with its time") {
    Requests requests;
    CHECK_FALSE(requests.stopping());
    CHECK_FALSE(requests.take_reload());
    CHECK_FALSE(requests.wait(Milliseconds{1}));
}

TEST_CASE("a stop stays asked for, and wakes every wait from then on") {
    Requests requests;
    requests.stop();
    for (int i = 0; i < 2; ++i) {
        CHECK(requests.stopping());
        CHECK(requests.wait(Milliseconds{0}));
    }
    CHECK_FALSE(requests.take_reload());
    CHECK(requests.wait(Milliseconds{0}));
}

TEST_CASE("a reload is taken once, however often it was asked for, and wakes until then") {
    Requests requests;
    requests.reload();
    requests.reload();
    CHECK(requests.wait(Milliseconds{0}));
    CHECK(requests.take_reload());
    CHECK_FALSE(requests.take_reload());
    CHECK_FALSE(requests.wait(Milliseconds{0}));
    requests.reload();
    CHECK(requests.take_reload());
}

TEST_CASE("a stop is not slept through because a reload was taken") {
    Requests requests;
    requests.reload();
    requests.stop();
    CHECK(requests.take_reload());
    CHECK(requests.wait(Milliseconds{0}));
    CHECK(requests.stopping());
}

TEST_CASE("a reload that is taken before it has woken anybody does not leave the wake-up behind") {
    // Another thread asks while this one takes: whatever comes first, once it is over nothing is readable.
    for (int i = 0; i < 1'000; ++i) {
        Requests requests;
        std::thread other([&] { requests.reload(); });
        while (!requests.take_reload())
            std::this_thread::yield();  // on a busy machine the other one would wait for its turn
        other.join();
        requests.take_reload();
        REQUIRE_FALSE(requests.wait(Milliseconds{0}));
    }
}

TEST_CASE("a request of another thread ends the wait") {
    Requests requests;
    std::thread other([&] { requests.reload(); });
    CHECK(requests.wait(Milliseconds{60'000}));
    other.join();
    CHECK(requests.take_reload());
}

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

}  // namespace retryd::daemon::requests_test
