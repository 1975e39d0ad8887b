// How many messages wait in the queues that retryd looks after: which queues these are (pure), and the thread that asks
// the broker for their depths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "core/broker_features.h"
#include "core/policy.h"
#include "core/time.h"
#include "core/topology.h"
#include "daemon/side_thread.h"
#include "telemetry/stats.h"
#include "telemetry/status.h"

namespace retryd::daemon {

/// A queue that retryd looks after.
struct KeptQueue {
    telemetry::Depth::Role role = telemetry::Depth::Role::errors;
    core::Milliseconds delay{};  // of a rung
    std::string serves;          // of a rung: the work queue, or the ladder whose work queues share it
    bool shared = false;
    bool operator==(const KeptQueue&) const = default;
};

struct Inventory {
    /// By name.
    std::map<std::string, KeptQueue> queues;
    /// Those that the configuration names, that messages came from, or that are on the broker, as far as an entry
    /// matches.
    std::vector<std::string> work_queues;  // sorted
};

/// An inventory has no more queues than this, first those that the configuration names: the broker has to be asked for
/// all of them within a minute.
inline constexpr std::size_t most_kept_queues = 4'000;

/// Queues on the broker, with the arguments that they were declared with.
using ListedQueues = std::vector<std::pair<std::string, core::Arguments>>;

/// Where queues are found that the configuration does not name.
struct QueueSources {
    std::vector<telemetry::QueueCounts> counted;  // messages were sent to them
    ListedQueues listed;                          // the management API has them
};

/// What is known of a work queue, which is not retryd's.
struct WorkQueueDepth {
    std::uint64_t messages = 0;  // ready ones
    std::uint64_t consumers = 0;
    std::optional<std::uint64_t> acked_lately;  // between the last two lists of the management API
    bool operator==(const WorkQueueDepth&) const = default;
};

/// So many work queues are asked for themselves in a round: those in which messages fail, then those that the
/// configuration names. Where the management API lists all of them once a minute, only the former are.
inline constexpr std::size_t most_asked_work_queues = 200;

Inventory take_inventory(const core::Policy& policy, const core::BrokerFeatures& features, const QueueSources& sources);

/// Asks for the depths on a connection and in a thread of its own, so that a queue that does not answer holds up
/// nothing else. Asking is a passive declare, which needs no permission and costs the broker one look-up.
///
/// The broker logs a question for a queue that does not exist. So there are no more than a hundred questions a second,
/// each queue is asked for at most every five seconds, and one that does not exist ever more seldom.
class QueueDepthPoller {
  public:
    struct Snapshot {
        Inventory inventory;
        /// Ready messages by queue; only what was counted within the last minute.
        std::map<std::string, std::uint64_t> messages;
        /// Those that the broker holds, by queue, as the management API tells; none where it is not asked.
        std::map<std::string, std::uint64_t> held;
        std::map<std::string, WorkQueueDepth> work_queues;  // by name, no older than two minutes
        std::optional<core::WallTime> counted;              // the last time that a queue was
        std::string fault;                                  // why nothing is counted; empty where it is
    };

    /// Counts nothing yet. `stats` names the queues that are made while messages go by.
    explicit QueueDepthPoller(std::shared_ptr<const telemetry::MessageStats> stats);
    /// Cuts the connection.
    ~QueueDepthPoller();
    QueueDepthPoller(const QueueDepthPoller&) = delete;
    QueueDepthPoller& operator=(const QueueDepthPoller&) = delete;

    /// What to count from now on; nothing where there is no broker to ask. The same target again changes nothing.
    void poll(const std::optional<BrokerTarget>& target);

    /// The work queues in which messages fail at the moment, the worst first.
    void ask_for(std::vector<std::string> failing);

    Snapshot snapshot() const;

  private:
    struct State;
    class Worker;

    std::shared_ptr<State> state_;
    SideThread thread_;
};

}  // namespace retryd::daemon
