// Waits for a condition, instead of sleeping for as long as it might take.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace retryd::test {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr milliseconds patience{60'000};  // for what takes milliseconds, in case the machine is busy

inline milliseconds since(Clock::time_point start) {
    return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
}

/// The longer one has waited, the less often one looks: what takes a minute is not asked for a thousand times, by every
/// test that runs beside others.
inline milliseconds pause_after(Clock::time_point start) {
    return std::clamp(since(start) / 20, milliseconds(30), milliseconds(400));
}

/// Checks until the condition holds (true) or the time is over (false).
template <typename Condition>
bool await(Condition condition, milliseconds within = patience) {
    const Clock::time_point start = Clock::now();
    while (!condition()) {
        if (since(start) >= within) return false;
        std::this_thread::sleep_for(pause_after(start));
    }
    return true;
}

/// … once in so long.
template <typename Condition>
bool await(Condition condition, milliseconds within, milliseconds pause) {
    const Clock::time_point start = Clock::now();
    while (!condition()) {
        if (since(start) >= within) return false;
        std::this_thread::sleep_for(pause);
    }
    return true;
}

/// How late something comes, by the best of several tries: a busy machine delays some of them, what is really slow
/// delays all.
class Lateness {
  public:
    void add(milliseconds waited, milliseconds due) { least_ = std::min(least_, waited - due); }
    milliseconds least() const { return least_; }

  private:
    milliseconds least_ = milliseconds::max();
};

}  // namespace retryd::test
