// How many messages are ready in a queue of held messages, and which of the broker's answers are to be believed.
#pragma once

#include <cstdint>
#include <optional>

#include "amqp/topology_commands.h"
#include "core/time.h"

namespace retryd::daemon {

/// For one queue, with one question under way at a time. Taken for empty, what is held there would be given up: a
/// reload that takes its entry away would leave it where it is. So an answer counts only where nothing speaks against
/// it.
class HeldCount {
  public:
    /// Whether to ask now. Often where there may be something: perhaps none is ready because all of them are unacked
    /// here, and will be returned.
    bool due(bool often, core::SteadyTime now) const;
    void asked(core::SteadyTime now);
    /// The question will not be answered.
    void unanswered();
    /// How many are ready, if that answer counts. `counts`: nothing where there is no such queue, or it may not be
    /// asked; `known`: the number as far as it was known before; `consumed`: a consumer of ours takes from that queue.
    std::optional<std::uint64_t> answered(const std::optional<amqp::QueueCounts>& counts,
                                          std::optional<std::uint64_t> known, bool consumed, core::SteadyTime now);

    /// Our consumer has come or gone. What was unacked is ready again some time later, and what the broker hands over
    /// is no longer ready before it is here: no answer to an earlier question counts, and the next is asked only a
    /// while later.
    void lane_changed(core::SteadyTime now) { counted_at_ = busy_at_ = lane_changed_at_ = now; }
    /// Something is unacked or in flight here.
    void busy(core::SteadyTime now) { busy_at_ = now; }

    /// Whether a question found none ready that was asked later than `after` since something was last unacked or in
    /// flight here.
    bool none_since_busy(core::Milliseconds after = {}) const { return none_at_ > busy_at_ + after; }
    /// The broker says so, and may be wrong.
    bool may_be_empty() const { return empty_since_.has_value(); }

  private:
    bool believe_empty(core::SteadyTime when, std::optional<std::uint64_t> known, bool consumed, core::SteadyTime now);

    std::optional<core::SteadyTime> asked_at_;  // the question under way
    core::SteadyTime counted_at_{};             // from when on it is waited until the next question
    core::SteadyTime none_at_{};                // when the last question was asked that found nothing ready
    core::SteadyTime lane_changed_at_{};
    core::SteadyTime busy_at_{};
    std::optional<core::SteadyTime> empty_since_;  // since then the broker says so
};

}  // namespace retryd::daemon
