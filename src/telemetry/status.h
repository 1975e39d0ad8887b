// What the status page and `retryd status` show, as plain data and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace retryd::telemetry {

// How many messages wait in a queue that retryd looks after.

struct Depth {
    enum class Role { errors, rung, parked };  // the catch-all is one of the parked

    std::string queue;
    Role role = Role::errors;
    core::Milliseconds delay{};  // of a rung
    std::uint64_t messages = 0;  // ready ones
};

constexpr std::string_view to_string(Depth::Role role) {
    switch (role) {
        case Depth::Role::errors:
            return "errors";
        case Depth::Role::rung:
            return "rung";
        case Depth::Role::parked:
            break;
    }
    return "parked";
}

using Messages = std::optional<std::uint64_t>;  // nothing where they are not counted
using Moment = std::optional<core::WallTime>;   // nothing where it is not known

struct RungStatus {
    std::string queue;
    core::Milliseconds delay{};
    Messages messages;
};

struct ParkedStatus {
    std::string queue;
    Messages messages;
};

struct QueueStatus {
    std::string work_queue;
    std::string ladder;
    bool shared = false;            // its rungs are those of the ladder
    std::vector<RungStatus> rungs;  // the shortest first
    ParkedStatus parked;            // an exchange of somebody else's: `exchange NAME`, never counted
    std::uint64_t retried = 0;
    std::uint64_t parked_messages = 0;
    std::uint64_t dropped = 0;
};

struct LadderStatus {
    std::string name;
    std::vector<RungStatus> rungs;
};

struct BrokerStatus {
    std::string name;
    std::string version;
    bool connected = false;
    Moment since;
    bool blocked = false;
    std::string blocked_reason;
    std::uint64_t reconnects = 0;
    std::string fault;
};

/// Messages in each interval, the oldest first.
struct Rates {
    core::Milliseconds interval{};
    std::vector<std::uint64_t> retried;
    std::vector<std::uint64_t> parked;
    std::vector<std::uint64_t> dropped;
};

struct LastingFault {
    core::WallTime since{};
    std::string text;
};

struct ParkedByReason {
    std::string reason;
    std::uint64_t messages = 0;
};

struct Status {
    std::string version;
    core::WallTime now{};
    core::WallTime started{};
    bool ready = false;
    std::string reason;  // why not; or what is not as it should be all the same
    std::string config_file;
    BrokerStatus broker;
    std::string error_exchange;
    std::string error_queue;
    Messages errors;
    ParkedStatus catch_all;
    std::uint64_t in_flight = 0;
    Moment counted;                   // the last time a queue was
    std::vector<QueueStatus> queues;  // sorted by name
    std::size_t queues_left_out = 0;
    std::vector<LadderStatus> ladders;  // the shared ones
    std::vector<ParkedByReason> parked_by_reason;
    std::uint64_t requeued = 0;
    double confirm_p50_ms = 0.0;
    double confirm_p99_ms = 0.0;
    Rates rates;
    std::vector<LastingFault> faults;
};

/// Names that are not UTF-8 are made so.
std::string to_json(const Status& status);

}  // namespace retryd::telemetry
