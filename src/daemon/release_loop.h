// Sends held messages home: a thread of its own, with connections of its own, so that nothing here holds up what fails
// at this moment.
//
// It knows the queues of held messages from the configuration, from what is held at this moment, and by looking: where
// there is a management API, for all that are on the broker; else the session looks once, for those of every entry with
// an exact name. So what an earlier run held is found, although the entry may not hold any more, or be gone.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "config/settings.h"
#include "daemon/held_queues.h"

namespace retryd::daemon {

class ReleaseLoop {
  public:
    /// Where held messages are, as long as there is a connection to that broker.
    struct Target {
        std::shared_ptr<const config::Settings> settings;
        config::Endpoint endpoint;
        bool operator==(const Target&) const = default;
    };

    /// The thread runs from here on.
    explicit ReleaseLoop(std::shared_ptr<HeldQueues> held);
    /// Waits until what was sent is confirmed and acked; but after a while the thread is left behind: it uses only what
    /// it owns.
    ~ReleaseLoop();
    ReleaseLoop(const ReleaseLoop&) = delete;
    ReleaseLoop& operator=(const ReleaseLoop&) = delete;

    /// The same target again changes nothing.
    void follow(const std::optional<Target>& target);

  private:
    struct State;
    class Worker;

    std::shared_ptr<State> state_;
    std::thread thread_;
};

}  // namespace retryd::daemon
