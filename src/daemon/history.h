// How much went by in each of the last intervals.
#pragma once

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

    /// To be called every second or so; keeps what there is when an interval is over.
    void look(const telemetry::MessageStats& stats, core::SteadyTime now);

    struct Lately {
        telemetry::Rates rates;
        telemetry::ConfirmTimes::Histogram confirms;  // of all intervals
    };
    Lately lately(const telemetry::MessageStats& stats) const;

  private:
    struct Sample {
        telemetry::Totals totals;
        telemetry::ConfirmTimes::Histogram confirms;
    };

    mutable std::mutex mutex_;
    std::deque<Sample> samples_;  // one more than intervals
    core::SteadyTime due_{};
};

}  // namespace retryd::daemon
