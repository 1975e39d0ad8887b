// The status of retryd as plain data: what waits where, and how the daemon is. The daemon answers it as JSON at
// /status.json, for the status page and for `retryd status`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace retryd::telemetry {

/// How many messages wait in a queue that retryd looks after, for the metrics.
struct Depth {
    enum class Role { errors, rung, detour, held, parked };  // the catch-all is one of the parked

    std::string queue;
    Role role = Role::errors;
    core::Milliseconds delay{};  // of a rung or a detour
    std::uint64_t messages = 0;  // ready ones
    /// Neither ready nor unacked: dead letters that their target has not taken. Nothing where nobody tells.
    std::optional<std::uint64_t> held = std::nullopt;
};

constexpr std::string_view to_string(Depth::Role role) {
    switch (role) {
        case Depth::Role::errors:
            return "errors";
        case Depth::Role::rung:
            return "rung";
        case Depth::Role::detour:
            return "detour";
        case Depth::Role::held:
            return "held";
        case Depth::Role::parked:
            break;
    }
    return "parked";
}

using Messages = std::optional<std::uint64_t>;  // nothing where they are not counted
using Moment = std::optional<core::WallTime>;   // nothing where it is not known

// What waits where. `retryd status` fills in the same types from the broker.

struct QueueDepth {
    std::string queue;
    Messages messages;  // ready ones
    bool operator==(const QueueDepth&) const = default;
};

/// A rung, or a detour.
struct RungStatus {
    std::string queue;
    core::Milliseconds delay{};
    Messages messages;
    Messages held = std::nullopt;  // by the broker: its work queue has not taken them
    bool operator==(const RungStatus&) const = default;
};

/// Messages since the daemon started.
struct QueueTotals {
    std::uint64_t retried = 0;
    std::uint64_t parked = 0;
    std::uint64_t dropped = 0;
    bool operator==(const QueueTotals&) const = default;
};

struct QueueStatus {
    std::string work_queue;
    std::string ladder;
    bool shared = false;                // its messages wait on the ladder's own rungs
    std::vector<RungStatus> rungs;      // the shortest first
    std::optional<QueueDepth> parked;   // /status.json names an exchange that it parks to, `exchange NAME`, uncounted
    std::optional<QueueTotals> totals;  // nothing where they are not known
    /// Of the work queue itself, where the daemon has asked: ready messages, and consumers.
    Messages messages = std::nullopt;
    Messages consumers = std::nullopt;
    bool may_hold = false;  // its entry
};

/// A work queue in which messages fail at the moment.
struct FailingStatus {
    enum class State {
        wholly,   // nothing that it was given has been done, as far as can be seen
        partly,   // some of it has been
        unknown,  // nothing tells
    };
    std::string work_queue;
    State state = State::unknown;
    std::uint64_t failures = 0;          // within the last minute
    std::vector<std::uint64_t> minutes;  // of each of the last minutes that are known, a quarter of an hour at most
    /// Retries whose time was over within the last two minutes, and how many failed again; nothing where the ladder's
    /// delays do not tell.
    Messages came_back;
    Messages failed_again;
    /// When the next retry goes home; nothing where none waits, or nothing is known of it.
    std::optional<core::Milliseconds> next_due;
    bool due_at_most = false;  // it may be earlier
    Messages messages;         // ready in the work queue
    Messages consumers;
    /// Acked within the minute that the management API was last asked for; nothing where it is not.
    Messages acked;
    bool operator==(const FailingStatus&) const = default;
};
/// So many are told; the rest is a number.
inline constexpr std::size_t most_failing_shown = 20;

/// A delivery that waits longer than this is worth a line, and a reason not to be ready.
inline constexpr core::Milliseconds longest_unsettled{60'000};

/// A ladder whose rungs all its work queues share.
struct LadderStatus {
    std::string name;
    std::vector<RungStatus> rungs;
};

/// A work queue whose messages may be held.
struct HeldStatus {
    std::string work_queue;
    std::string queue;  // of held messages
    int outage = 0;     // 1: what fails is held; 2: what is held is being sent home
    Messages messages = {};
    Moment since = {};
    std::string text = {};   // for a person; empty where there is nothing to say
    bool by_hand = false;    // at the desk, or by its entry
    Moment desk_since = {};  // by the desk; nothing where it is not
};

// What the daemon knows of itself.

/// Messages in each interval, the oldest first.
struct Rates {
    core::Milliseconds interval{};
    std::vector<std::uint64_t> retried;
    std::vector<std::uint64_t> parked;
    std::vector<std::uint64_t> dropped;
};

/// What /history.json answers: the last 24 hours, as far as they are kept in memory.
struct DayStatus {
    struct Failing {
        std::string work_queue;
        std::vector<std::uint64_t> failures;  // the oldest first; the last interval is not over
    };
    Rates rates;
    core::Milliseconds failures_interval{};
    std::vector<Failing> failing;  // the most failures first
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
    std::string address = {};  // host:port
    std::string vhost = {};
};

struct LastingFault {
    core::WallTime since{};
    std::string text;
    std::string code = {};  // what kind of fault: reload, blocked, disconnected, refused, failing …
};

/// What the checks of `retryd doctor` have found, made by the daemon itself.
struct FindingStatus {
    std::string code;
    std::string severity;  // problem, warning
    core::WallTime since{};
    std::string cause;
    std::string consequence;
    std::string remedy;
    std::string command;  // may be empty
    std::vector<std::string> names;
};

/// The daemon's own checks; it makes none without a management API.
struct ChecksStatus {
    Moment checked;                       // the last time; nothing before the first
    std::vector<FindingStatus> findings;  // the problems first
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
    QueueDepth errors;
    QueueDepth catch_all;
    std::vector<RungStatus> detours;  // the shortest first
    std::uint64_t in_flight = 0;
    core::Milliseconds oldest_unsettled{};  // how long the oldest delivery has waited that is not settled
    Moment counted;                         // the last time a queue was
    std::vector<QueueStatus> queues;        // sorted by name
    std::size_t queues_left_out = 0;
    std::vector<LadderStatus> ladders;  // the shared ones
    std::vector<ParkedByReason> parked_by_reason;
    std::uint64_t requeued = 0;
    double confirm_p50_ms = 0.0;
    double confirm_p99_ms = 0.0;
    Rates rates;
    std::vector<LastingFault> faults;
    std::optional<ChecksStatus> checks;
    std::vector<HeldStatus> outages;     // of the work queues whose messages may be held
    std::vector<FailingStatus> failing;  // those that fail wholly first, then the most failures
    std::size_t failing_left_out = 0;
    bool desk = false;  // messages may be looked at and changed under /api/, by who signs in
};

/// What /status.json answers. Names that are not UTF-8 are made so.
std::string to_json(const Status& status);
/// What /history.json answers.
std::string to_json(const DayStatus& day, core::WallTime now);

/// Reads what /status.json answered, as far as `retryd status` and `doctor` use it: now, ready, reason, in_flight,
/// oldest_unsettled, rates, faults, the findings, the outages, and of each queue its name and totals. What is missing,
/// or of another type than expected, stays as it is in a new Status. Nothing where the text is no status of retryd.
std::optional<Status> read_status(const std::string& json);

}  // namespace retryd::telemetry
