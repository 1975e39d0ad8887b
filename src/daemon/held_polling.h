// What RabbitMQ's management API is asked, again and again, of messages that are or may be held. Each question has a
// thread of its own, for the answer may take its time, and neither what is sent home nor what is counted waits.
#pragma once

#include <memory>
#include <optional>

#include "daemon/held_queues.h"
#include "daemon/side_thread.h"

namespace retryd::daemon {

/// What is counted of the work queues that may be in an outage.
class CounterPoller {
  public:
    /// The thread runs from here on.
    explicit CounterPoller(std::shared_ptr<HeldQueues> held);

    void follow(const std::optional<BrokerTarget>& target) { state_->follow(target); }

  private:
    std::shared_ptr<SideThreadState> state_ = std::make_shared<SideThreadState>();
    SideThread thread_;
};

/// Queues of held messages that an earlier run has left: the management API knows all queues.
class HeldSearch {
  public:
    /// The thread runs from here on.
    explicit HeldSearch(std::shared_ptr<HeldQueues> held);

    void follow(const std::optional<BrokerTarget>& target) { state_->follow(target); }

  private:
    std::shared_ptr<SideThreadState> state_ = std::make_shared<SideThreadState>();
    SideThread thread_;
};

}  // namespace retryd::daemon
