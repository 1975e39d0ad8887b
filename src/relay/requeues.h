// Deliveries that wait, unacked, to be given back to the error queue.
#pragma once

#include <optional>
#include <vector>

#include "core/message.h"
#include "core/time.h"

namespace retryd::relay {

/// How long after that many failures in a row: doubling from 1 s to 30 s.
core::Milliseconds backoff(int failures);

class Requeues {
  public:
    void add(core::SteadyTime due, core::DeliveryTag tag);
    /// One that is due, taken out; nothing when there is none.
    std::optional<core::DeliveryTag> take_due(core::SteadyTime now);
    std::optional<core::SteadyTime> next() const;

  private:
    struct Waiting {
        core::SteadyTime due;
        core::DeliveryTag tag;
        bool operator>(const Waiting& other) const { return due > other.due; }
    };
    std::vector<Waiting> heap_;  // the next due first
};

}  // namespace retryd::relay
