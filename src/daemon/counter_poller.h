// Asks RabbitMQ's management API what is counted of the work queues that may be in an outage: a thread of its own, for
// it may take its time to answer.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "daemon/held_queues.h"
#include "daemon/release_loop.h"

namespace retryd::daemon {

class CounterPoller {
  public:
    /// The thread runs from here on.
    explicit CounterPoller(std::shared_ptr<HeldQueues> held);
    /// A thread that waits for an answer is left behind after a moment; it uses only what it owns.
    ~CounterPoller();
    CounterPoller(const CounterPoller&) = delete;
    CounterPoller& operator=(const CounterPoller&) = delete;

    /// The same target again changes nothing.
    void follow(const std::optional<ReleaseLoop::Target>& target);

  private:
    struct State;
    static void run(const std::shared_ptr<State>& state);
    static void ask(State& state, const ReleaseLoop::Target& target);

    std::shared_ptr<State> state_;
    std::thread thread_;
};

}  // namespace retryd::daemon
