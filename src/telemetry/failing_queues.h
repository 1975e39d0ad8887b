// Which work queues have begun to fail: many more of their messages have died within a minute than usual. Long before
// the first one is parked. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/time.h"

namespace retryd::telemetry {

class FailingQueues {
  public:
    /// So few in a minute are nothing to speak of.
    static constexpr std::uint64_t worth_telling = 20;
    /// It fails when there are so many times more than usual.
    static constexpr double times_usual = 10.0;

    struct Change {
        std::string work_queue;
        std::uint64_t messages = 0;  // within the last minute
        double usual = 0.0;          // in a minute
        bool fails = false;          // false: it does no more
        bool operator==(const Change&) const = default;
    };

    /// A message of that queue has died.
    void died(std::string_view work_queue);
    /// What has changed; there is something at most once a minute.
    std::vector<Change> due(core::SteadyTime now);

  private:
    struct Queue {
        std::uint64_t messages = 0;  // within this minute
        double usual = 0.0;
        bool fails = false;
    };
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    std::unordered_map<std::string, Queue, Hash, std::equal_to<>> queues_;
    core::SteadyTime due_{};
};

}  // namespace retryd::telemetry
