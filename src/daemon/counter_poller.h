// Asks RabbitMQ's management API what is counted of the work queues that may be in an outage: a thread of its own, for
// it may take its time to answer.
#pragma once

#include <memory>
#include <optional>

#include "daemon/held_queues.h"
#include "daemon/side_thread.h"

namespace retryd::daemon {

class CounterPoller {
  public:
    /// The thread runs from here on.
    explicit CounterPoller(std::shared_ptr<HeldQueues> held);

    void follow(const std::optional<BrokerTarget>& target) { state_->follow(target); }

  private:
    std::shared_ptr<SideThreadState> state_ = std::make_shared<SideThreadState>();
    SideThread thread_;
};

}  // namespace retryd::daemon
