// The status of retryd as plain data: the messages in its queues, and the state of the daemon. The daemon serves it as
// JSON at /status.json, for the status page and for `retryd status`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace retryd::telemetry {

/// The number of messages in one of retryd's queues, for the metrics.
struct Depth {
    enum class QueueRole { errors, rung, detour, held, parked };  // the catch-all counts as parked

    std::string queue;
    QueueRole role = QueueRole::errors;
    core::Milliseconds delay{};  // for a rung or a detour
    std::uint64_t messages = 0;  // ready messages
    /// Messages that are neither ready nor unacked: dead letters that their target has not taken. Nothing if unknown.
    std::optional<std::uint64_t> held = std::nullopt;
};

constexpr std::string_view to_string(Depth::QueueRole role) {
    switch (role) {
        case Depth::QueueRole::errors:
            return "errors";
        case Depth::QueueRole::rung:
            return "rung";
        case Depth::QueueRole::detour:
            return "detour";
        case Depth::QueueRole::held:
            return "held";
        case Depth::QueueRole::parked:
            break;
    }
    return "parked";
}

using Messages = std::optional<std::uint64_t>;  // nothing if not counted
using Moment = std::optional<core::WallTime>;   // nothing if unknown

// Messages in queues. `retryd status` fills in the same types from the broker.

struct QueueDepth {
    std::string queue;
    Messages messages;     // ready messages
    bool unknown = false;  // without messages: it may be there all the same. Only `retryd status` tells
    bool operator==(const QueueDepth&) const = default;
};

/// A rung, or a detour.
struct RungStatus {
    std::string queue;
    core::Milliseconds delay{};
    Messages messages;
    Messages held = std::nullopt;  // dead letters that the work queue has not taken
    bool unknown = false;          // as of a QueueDepth
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
    bool shared = false;               // its messages wait on the ladder's shared rungs
    std::vector<RungStatus> rungs;     // the shortest first
    std::optional<QueueDepth> parked;  // if it parks to an exchange, /status.json has `exchange NAME`, without a number
    std::optional<QueueTotals> totals;  // nothing if unknown
    /// In the work queue itself, if the daemon has asked: ready messages, and consumers.
    Messages messages = std::nullopt;
    Messages consumers = std::nullopt;
    bool may_hold = false;  // its entry may hold
};

/// A work queue in which messages fail now.
struct FailingStatus {
    enum class State {
        wholly,   // no message of it succeeds, as far as can be seen
        partly,   // some messages succeed
        unknown,  // it cannot be told
    };
    std::string work_queue;
    State state = State::unknown;
    std::uint64_t failures = 0;          // within the last minute
    std::vector<std::uint64_t> minutes;  // in each of the last minutes, up to a quarter of an hour
    /// Retries whose delay ended within the last two minutes, and how many of them failed again; nothing if the
    /// ladder's delays do not tell.
    Messages came_back;
    Messages failed_again;
    /// When the next retry goes home; nothing if none waits or it is unknown.
    std::optional<core::Milliseconds> next_due;
    bool due_at_most = false;  // it may be earlier
    Messages messages;         // ready messages in the work queue
    Messages consumers;
    /// Acks within the last minute that the management API reported; nothing if it is not asked.
    Messages acked;
    bool operator==(const FailingStatus&) const = default;
};
/// The most queues that are listed; the rest is a number.
inline constexpr std::size_t most_failing_shown = 20;

/// A delivery that waits longer than this is logged, and makes the daemon not ready.
inline constexpr core::Milliseconds longest_unsettled{60'000};

/// A ladder with shared rungs.
struct LadderStatus {
    std::string name;
    std::vector<RungStatus> rungs;
};

/// A work queue whose messages may be held.
struct HeldStatus {
    std::string work_queue;
    std::string queue;  // the queue of held messages
    int outage = 0;     // 1: failures are held; 2: held messages are being sent home
    Messages messages = {};
    Moment since = {};
    std::string text = {};   // a description; may be empty
    bool by_hand = false;    // held at the desk or by `hold: true`
    Moment desk_since = {};  // since when held at the desk; nothing if it is not
    bool unknown = false;    // as of a QueueDepth
};

// The daemon's own state.

/// Messages in each interval, the oldest first.
struct Rates {
    core::Milliseconds interval{};
    std::vector<std::uint64_t> retried;
    std::vector<std::uint64_t> parked;
    std::vector<std::uint64_t> dropped;
};

/// The answer of /history.json: the last 24 hours, as far as they are kept in memory.
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

/// A finding of the daemon's own checks, which are those of `retryd doctor`.
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
    Moment checked;                       // the last check; nothing before the first one
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
    std::string reason;  // why not ready; or, if ready, what is wrong nevertheless
    std::string config_file;
    BrokerStatus broker;
    std::string error_exchange;
    QueueDepth errors;
    QueueDepth catch_all;
    std::vector<RungStatus> detours;  // the shortest first
    std::uint64_t in_flight = 0;
    core::Milliseconds oldest_unsettled{};  // how long the oldest unsettled delivery has waited
    Moment counted;                         // when a queue was last counted
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
    std::vector<HeldStatus> outages;     // for work queues whose messages may be held
    std::vector<FailingStatus> failing;  // queues that fail wholly come first, then by failures
    std::size_t failing_left_out = 0;
    bool desk = false;  // whoever signs in may look at and change messages under /api/
};

/// The answer of /status.json. Names that are not UTF-8 are escaped.
std::string to_json(const Status& status);
/// The answer of /history.json.
std::string to_json(const DayStatus& day, core::WallTime now);

/// Reads an answer of /status.json, as far as `retryd status` and `doctor` use it: now, ready, reason, in_flight,
/// oldest_unsettled, rates, faults, findings, outages, and name and totals of each queue. Members that are missing or
/// have another type keep their defaults. Nothing if the text is not a status of retryd.
std::optional<Status> read_status(const std::string& json);

}  // namespace retryd::telemetry
