#include "system/signals.h"

#include <unistd.h>

#include "support/catch.h"

// Signals that a test sends to itself: raise() returns only when the signal is pending, or its handler has run.

namespace retryd::system::signals_test {
namespace {

using core::Milliseconds;

volatile std::sig_atomic_t handled = 0;

void note(int signal) {
    handled = signal;
}

bool is_blocked(int signal) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return sigismember(&mask, signal) == 1;
}

}  // namespace

TEST_CASE("signals: one that has come is pending until it is taken, and kills nobody") {
    const Signals signals{SIGINT, SIGTERM};
    CHECK_FALSE(signals.pending());
    CHECK(signals.wait(Milliseconds{1}) == 0);
    raise(SIGTERM);
    CHECK(signals.pending());
    CHECK(signals.wait(Milliseconds{60'000}) == SIGTERM);
    CHECK_FALSE(signals.pending());
}

TEST_CASE("signals: a wait ends when another descriptor becomes readable") {
    const Signals signals{SIGHUP};
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    REQUIRE(write(ends[1], "x", 1) == 1);
    CHECK(signals.wait(Milliseconds{60'000}, ends[0]) == 0);
    raise(SIGHUP);
    CHECK(signals.wait(Milliseconds{60'000}, ends[0]) == SIGHUP);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("signals: at the end what was not taken is discarded, and the mask is as before") {
    {
        const Signals signals{SIGINT, SIGTERM};
        raise(SIGINT);
        raise(SIGTERM);
        CHECK(is_blocked(SIGTERM));
    }
    CHECK_FALSE(is_blocked(SIGTERM));
    CHECK_FALSE(is_blocked(SIGINT));
}

TEST_CASE("signals: while they are delivered the handler runs at once, and afterwards they wait again") {
    const Signals signals{SIGHUP};
    handled = 0;
    {
        const Signals::Delivered at_once(signals, note);
        raise(SIGHUP);
        CHECK(handled == SIGHUP);
        CHECK_FALSE(signals.pending());
    }
    handled = 0;
    raise(SIGHUP);
    CHECK(handled == 0);
    CHECK(signals.wait(Milliseconds{60'000}) == SIGHUP);
}

}  // namespace retryd::system::signals_test
