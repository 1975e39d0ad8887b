// The play itself: the clients in one thread, taking turns.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "chronicle.h"
#include "clients.h"
#include "setting.h"
#include "stage.h"

namespace retryd::demo {

class Act {
  public:
    Act(const Setting& setting, Stage& stage, Chronicle& chronicle);

    /// Sends all mails, one after the other, and waits until each is done or parked. False if one is not in time.
    bool send_and_climb();

    /// Nobody watches the parking queue any more: it belongs to the person who works on it.
    void leave_the_parked() { watcher_.reset(); }

    /// The consumer is mended, and what was parked goes back. False if it is not done in time.
    bool mend_and_replay();

  private:
    using Condition = std::function<bool()>;
    bool await(const Condition& condition, std::chrono::milliseconds time);
    void turn(std::chrono::milliseconds longest_wait);

    Stage& stage_;
    Chronicle& chronicle_;
    Consumer consumer_;
    std::optional<Watcher> watcher_;
    Producer producer_;
};

}  // namespace retryd::demo
