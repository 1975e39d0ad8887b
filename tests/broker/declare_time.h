// How long it takes to declare a queue at the moment, for the limit of what has to wait for that.
#pragma once

#include <algorithm>
#include <atomic>
#include <stop_token>
#include <string>
#include <thread>

#include "support/await.h"
#include "support/client.h"
#include "support/environment.h"
#include "support/forged.h"

namespace retryd::test {

/// As long as it lives, a thread of its own declares one quorum queue after the other, named so and numbered. Machine
/// tells how slow answers are that need no new process; a queue is several of them.
class DeclareTime {
  public:
    explicit DeclareTime(const std::string& name)
        : thread_([this, name](const std::stop_token& over) { measure(name, over); }) {}

    /// So far, that of one that is not answered yet included.
    milliseconds slowest() const { return std::max(slowest_.load(), since(began_.load())); }

  private:
    void measure(const std::string& name, const std::stop_token& over) {
        constexpr int most = 20;
        Client client{broker_address()};
        for (int i = 0; i < most && !over.stop_requested(); ++i) {
            began_ = Clock::now();
            client.declare_queue(name + std::to_string(i), {{"x-queue-type", longstr("quorum")}});
            slowest_ = std::max(slowest_.load(), since(began_.load()));
        }
        began_ = Clock::time_point::max();
    }

    std::atomic<milliseconds> slowest_{milliseconds(0)};
    std::atomic<Clock::time_point> began_{Clock::now()};
    std::jthread thread_;
};

}  // namespace retryd::test
