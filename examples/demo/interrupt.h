// Ctrl-C and SIGTERM, noticed wherever the demo waits.
#pragma once

#include <chrono>

namespace retryd::demo {

/// Thrown up to main, so that every destructor on the way ends what it started.
struct Interrupted {
    int signal;
};

/// To be called once, before anything is started.
void watch_for_interrupt();

/// Throws Interrupted once a signal has come.
void stop_if_interrupted();

/// Throws Interrupted, at once where a signal comes meanwhile.
void rest(std::chrono::milliseconds time);

}  // namespace retryd::demo
