// Sends held messages home: a thread of its own, with connections of its own, so that nothing here holds up what fails
// at this moment.
//
// It knows the queues of held messages from the configuration, from what is held at this moment, and from those that
// look for them (daemon/held_polling.h, Session::look_for_held): so what an earlier run held is found, although the
// entry may not hold any more. Nothing is touched before it is known whose queue it is, by a declaration with all the
// arguments of retryd's: the broker refuses that where it has others.
#pragma once

#include <memory>
#include <optional>

#include "daemon/held_queues.h"
#include "daemon/side_thread.h"

namespace retryd::daemon {

class ReleaseLoop {
  public:
    /// The thread runs from here on. At the end it waits until what was sent is confirmed and acked.
    explicit ReleaseLoop(std::shared_ptr<HeldQueues> held);

    void follow(const std::optional<BrokerTarget>& target) { state_->follow(target); }

  private:
    class Worker;

    std::shared_ptr<SideThreadState> state_ = std::make_shared<SideThreadState>();
    SideThread thread_;
};

}  // namespace retryd::daemon
