// What the log says of messages that are being parked: a line when it begins, by work queue and reason, and then a sum
// every five minutes while it goes on. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace retryd::telemetry {

class ParkingLog {
  public:
    struct Line {
        std::string work_queue;  // empty: not known
        std::string reason;
        std::string target;
        std::uint64_t messages = 0;  // since the last line
    };

    /// True: parking begins, and a line is due at once.
    bool parked(std::string_view work_queue, std::string_view reason, std::string_view target, core::SteadyTime now);
    /// The sums that are due. One without messages ends it: the next message begins it anew.
    std::vector<Line> due(core::SteadyTime now);

  private:
    struct Parking {
        std::string target;
        std::uint64_t messages = 0;
        core::SteadyTime due{};
    };
    using ByReason = std::map<std::string, Parking, std::less<>>;

    std::map<std::string, ByReason, std::less<>> by_queue_;
    std::size_t size_ = 0;  // of all of them
    core::SteadyTime next_{};
};

}  // namespace retryd::telemetry
