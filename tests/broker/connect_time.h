// How long it takes to connect at the moment, for the limit of what takes many connections one after the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <stop_token>
#include <thread>

#include "support/await.h"
#include "support/client.h"
#include "support/environment.h"

namespace retryd::test {

/// As long as it lives, a thread of its own connects now and then. Machine tells how slow the answers on one connection
/// are; a login is several processes of the broker's.
class ConnectTime {
  public:
    ConnectTime() : thread_([this](const std::stop_token& over) { measure(over); }) {}

    /// What so many connections take where each takes as long as the slowest so far, at most 5 s.
    milliseconds of(int connections) const { return connections * std::min<milliseconds>(slowest_, seconds(5)); }

  private:
    void measure(const std::stop_token& over) {
        while (!over.stop_requested()) {
            const Clock::time_point start = Clock::now();
            try {
                Client{broker_address()};
                slowest_ = std::max(slowest_.load(), since(start));
            } catch (const std::exception&) {
                continue;  // it says nothing about how long one takes
            }
            for (int i = 0; i < 20 && !over.stop_requested(); ++i)
                std::this_thread::sleep_for(milliseconds(50));
        }
    }

    std::atomic<milliseconds> slowest_{milliseconds(0)};
    std::jthread thread_;
};

}  // namespace retryd::test
