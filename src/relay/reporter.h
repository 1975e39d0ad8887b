// What the flow tells the outside. The flow does not log or count: it reports, and telemetry decides what to say.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/decide.h"
#include "core/time.h"

namespace retryd::relay {

enum class RequeueCause { nacked, returned };

/// One message that has arrived where it was sent: confirmed by the broker, about to be acked.
struct Settled {
    std::string_view work_queue;  // empty where it is not known
    std::string_view target;      // the rung or the parking queue
    bool parked = false;
    std::string_view reason;  // as reported_reason() says it
    core::Milliseconds delay{};
    core::Milliseconds confirm_time{};
};

/// A reason as a literal that lives as long as the program: of a death, or the text of `retryd-parked-reason`. All that
/// this version does not know are one (`other`, `reason-other`), so that forged ones cannot multiply.
std::string_view reported_reason(std::string_view death_reason);
std::string_view reported_reason(core::ParkReason reason, std::string_view death_reason);

/// Called from within Relay; the views live only until the call returns.
class Reporter {
  public:
    virtual ~Reporter() = default;

    virtual void settled(const Settled& message) = 0;

    /// Handed to the broker's own dead-lettering, because its headers cannot be read or do not fit a frame.
    virtual void dead_lettered(std::string_view work_queue, std::string_view why) = 0;

    /// Goes back to the error queue after `delay`.
    virtual void requeued(std::string_view target, RequeueCause cause, core::Milliseconds delay) = 0;

    /// A queue of ours cannot be had as it must be; what should go there is parked until it heals.
    virtual void target_refused(std::string_view queue, std::string_view why) = 0;
    virtual void target_healed(std::string_view queue) = 0;
};

}  // namespace retryd::relay
