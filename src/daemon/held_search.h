// Looks for queues of held messages that an earlier run has left, where there is a management API: it knows all queues.
// A thread of its own, for it may take its time to answer, and neither what is sent home nor what is counted waits.
#pragma once

#include <memory>
#include <optional>

#include "daemon/held_queues.h"
#include "daemon/side_thread.h"

namespace retryd::daemon {

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
