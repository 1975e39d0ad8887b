// Since when a confirm is overdue. A large message over a slow link may take any time, as long as some of it gets
// through. So the wait counts from when the broker's host had received the whole publication; or, if the transfer has
// stopped before, from when the last bytes got through.
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"

namespace retryd::amqp {

class SendProgress {
  public:
    /// Bytes of a connection since its beginning: those that were to be sent, and those that the other side has.
    struct Position {
        std::uint64_t queued = 0;
        std::uint64_t taken = 0;
    };

    /// For the oldest publication that waits for its confirm, which was sent at that time. To be asked every second or
    /// so once it is old enough to ask; a publication counts as taken at the earliest when that is seen.
    core::SteadyTime waits_since(core::SteadyTime sent, core::SteadyTime now, Position position);

    /// Whether, when last asked, that publication was not wholly taken yet.
    bool under_way() const { return mark_.has_value(); }

  private:
    struct Mark {
        core::SteadyTime at;
        std::uint64_t position = 0;
    };
    /// What is awaited: that all is taken which was there when somebody first asked.
    std::optional<Mark> mark_;
    std::uint64_t taken_ = 0;
    core::SteadyTime moved_at_;
    core::SteadyTime covered_;  // all that was sent until then has been taken
    core::SteadyTime covered_at_;
};

}  // namespace retryd::amqp
