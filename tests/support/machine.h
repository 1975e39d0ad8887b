// How slow this machine, its disk and its broker are at the moment, for tests that check a time limit.
#pragma once

#include <atomic>
#include <thread>

#include "support/await.h"

namespace retryd::test {

/// As long as it lives, a thread of its own sends small requests to the broker on a connection of its own and remembers
/// the longest time that one took. If these are quick and the tested thing is late, then the machine is not to blame.
class Machine {
  public:
    Machine();
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// How much longer than its limit something may take that involves several processes: ten times the slowest answer
    /// so far, that of a question that is not answered yet included, at most 10 s.
    milliseconds slack() const;

    /// Like test::await, for what has to come within that time and the slack.
    template <typename Condition>
    bool await(Condition condition, milliseconds within) const {
        const Clock::time_point start = Clock::now();
        while (!condition()) {
            if (since(start) >= within + slack()) return false;
            std::this_thread::sleep_for(pause_after(start));
        }
        return true;
    }

  private:
    std::atomic<milliseconds> slowest_{milliseconds(0)};
    /// What goes on just now counts like an answer that has taken from then until now.
    std::atomic<Clock::time_point> counts_from_;
    std::jthread thread_;  // the last: it uses the others
};

}  // namespace retryd::test
