// How long the broker takes to confirm: a histogram that one thread writes and any number of others read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "core/time.h"

namespace retryd::telemetry {

class ConfirmTimes {
  public:
    /// The upper bounds of the buckets, included, in milliseconds; what is longer is in one more.
    static constexpr std::array<std::int64_t, 14> bounds{1,   2,   5,     10,    20,    50,     100,
                                                         200, 500, 1'000, 2'000, 5'000, 20'000, 60'000};

    struct Histogram {
        std::array<std::uint64_t, bounds.size() + 1> messages{};  // of each bucket alone
        std::uint64_t sum_ms = 0;
    };

    void add(core::Milliseconds time);
    Histogram histogram() const;

  private:
    std::array<std::atomic<std::uint64_t>, bounds.size() + 1> messages_{};
    std::atomic<std::uint64_t> sum_ms_{0};
};

/// What came between two moments.
ConfirmTimes::Histogram operator-(const ConfirmTimes::Histogram& later, const ConfirmTimes::Histogram& earlier);

/// In milliseconds, as exact as the buckets are; 0 where there is nothing. `part` is 0.5 for the median.
double quantile(const ConfirmTimes::Histogram& histogram, double part);

}  // namespace retryd::telemetry
