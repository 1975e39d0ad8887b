// How many messages there were in each of the last intervals, for the status page: ten minutes in steps of five
// seconds.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>

#include "core/time.h"
#include "telemetry/stats.h"
#include "telemetry/status.h"

namespace retryd::daemon {

/// Thread-safe.
class History {
  public:
    static constexpr core::Milliseconds interval{5'000};
    static constexpr std::size_t most_intervals = 120;

    /// To be called every second or so. Takes a sample whenever an interval is over.
    void sample(const telemetry::MessageStats& stats, core::SteadyTime now);

    /// Of the intervals that are kept.
    struct Lately {
        telemetry::Rates rates;
        telemetry::ConfirmTimes::Histogram confirms;  // up to this moment
    };
    Lately lately(const telemetry::MessageStats& stats) const;

  private:
    struct Sample {
        telemetry::Totals totals;
        telemetry::ConfirmTimes::Histogram confirms;
    };

    mutable std::mutex mutex_;
    std::deque<Sample> samples_;  // one more than there are intervals
    core::SteadyTime due_{};
};

}  // namespace retryd::daemon
