#include "interrupt.h"

#include <poll.h>

#include <csignal>

namespace retryd::demo {
namespace {

volatile std::sig_atomic_t caught = 0;

void remember(int signal) {
    caught = signal;
}

}  // namespace

void watch_for_interrupt() {
    struct sigaction action {};
    action.sa_handler = remember;  // without SA_RESTART: waiting ends when a signal comes
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaction(signal, &action, nullptr);
    action.sa_handler = SIG_IGN;  // a connection that broke is told by what the call returns
    sigaction(SIGPIPE, &action, nullptr);
}

void stop_if_interrupted() {
    if (caught != 0) throw Interrupted{caught};
}

void rest(std::chrono::milliseconds time) {
    stop_if_interrupted();
    poll(nullptr, 0, static_cast<int>(time.count()));
    stop_if_interrupted();
}

}  // namespace retryd::demo
