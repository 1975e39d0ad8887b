// How slow this machine and its broker are at the moment: what a limit of time is judged against.
#pragma once

#include <atomic>
#include <thread>

#include "support/await.h"

namespace retryd::test {

/// As long as it lives a thread of its own asks the broker small questions on a connection of its own, with a short
/// sleep between them, and keeps the longest time that one took. What is late by itself is late beside quick answers,
/// too.
class Machine {
  public:
    Machine();
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// What something that asks some processes in turn may take longer than it should: ten times the slowest answer so
    /// far. At most 10 s: beyond that nothing can be said of anybody else.
    milliseconds slack() const;

    /// Like test::await, for what has to come within that time and the slack.
    template <typename Condition>
    bool await(Condition condition, milliseconds within) const {
        const Clock::time_point start = Clock::now();
        while (!condition()) {
            if (since(start) >= within + slack()) return false;
            std::this_thread::sleep_for(milliseconds(10));
        }
        return true;
    }

  private:
    std::atomic<milliseconds> slowest_{milliseconds(0)};
    std::jthread thread_;
};

}  // namespace retryd::test
