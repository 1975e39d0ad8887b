// So many a second, evenly.
#pragma once

#include <cstdint>

#include "core/time.h"

namespace retryd::relay {

/// The first is due at once. What could not be sent in time (the broker took nothing) is not made up for in a burst.
class Pace {
  public:
    /// 0: as fast as it goes.
    explicit Pace(int per_second) : per_second_(per_second) {}

    bool due(core::SteadyTime now) { return per_second_ == 0 || now >= next(now); }

    /// When the next one is due; it may be past.
    core::SteadyTime next(core::SteadyTime now) {
        constexpr core::Milliseconds longest_lag{1'000};
        if (per_second_ == 0) return now;
        const core::SteadyTime planned = start_ + core::Milliseconds{1'000 * sent_ / per_second_};
        if (sent_ > 0 && now - planned <= longest_lag) return planned;
        start_ = now;
        sent_ = 0;
        return now;
    }

    void sent() { ++sent_; }

  private:
    int per_second_;
    core::SteadyTime start_{};
    std::int64_t sent_ = 0;
};

}  // namespace retryd::relay
