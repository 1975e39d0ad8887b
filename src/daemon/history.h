// How many messages there were before, for the status page: of the last ten minutes in steps of five seconds, of the
// last day in steps of a minute; and in which work queues they fail (telemetry/failure_history.h).
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "core/time.h"
#include "telemetry/failure_history.h"
#include "telemetry/stats.h"
#include "telemetry/status.h"

namespace retryd::daemon {

/// Thread-safe. Takes 50 KiB, and 430 KiB more at most for the work queues in which messages fail.
class History {
  public:
    static constexpr core::Milliseconds interval{5'000};
    static constexpr std::size_t most_intervals = 120;
    static constexpr core::Milliseconds minute{60'000};
    static constexpr std::size_t most_minutes = 1'440;

    /// To be called every second or so. Takes a sample whenever an interval is over.
    void sample(const telemetry::MessageStats& stats, core::SteadyTime now);

    /// Of the intervals that are kept.
    struct Lately {
        telemetry::Rates rates;
        telemetry::ConfirmTimes::Histogram confirms;  // up to this moment
        std::vector<telemetry::FailureHistory::Queue> failing;
    };
    Lately lately(const telemetry::MessageStats& stats) const;

    /// The work queues of which a message failed within the last minute, the most failures first.
    std::vector<std::string> failing() const;

    /// Of the minutes that are over.
    telemetry::DayStatus day() const;

  private:
    struct Sample {
        telemetry::Totals totals;
        telemetry::ConfirmTimes::Histogram confirms;
    };

    mutable std::mutex mutex_;
    std::deque<Sample> samples_;             // one more than there are intervals
    std::deque<telemetry::Totals> minutes_;  // one more than there are minutes
    telemetry::FailureHistory failures_;
    core::SteadyTime due_{};
    core::SteadyTime minute_due_{};
};

}  // namespace retryd::daemon
