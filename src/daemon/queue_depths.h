// How many messages are in retryd's queues: which queues these are (pure), and the thread that asks the broker for
// their depths.
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
#include "http/management.h"
#include "telemetry/stats.h"
#include "telemetry/status.h"

namespace retryd::daemon {

/// A queue that is counted.
struct CountedQueue {
    telemetry::Depth::QueueRole role = telemetry::Depth::QueueRole::errors;
    core::Milliseconds delay{};  // of a rung: its delay
    std::string serves;          // of a rung: the work queue, or the ladder whose work queues share it
    bool shared = false;
    bool operator==(const CountedQueue&) const = default;
};

struct Inventory {
    /// The counted queues by name.
    std::map<std::string, CountedQueue> queues;
    /// Work queues that the configuration names, that messages came from, or that exist on the broker and match an
    /// entry.
    std::vector<std::string> work_queues;  // sorted
};

/// An inventory has at most so many queues, first those that the configuration names: the broker has to be asked for
/// all of them within a minute.
inline constexpr std::size_t most_counted_queues = 4'000;

/// Queues on the broker, with their arguments.
using ListedQueues = std::vector<std::pair<std::string, core::Arguments>>;

/// Sources of queue names besides the configuration.
struct QueueSources {
    std::vector<telemetry::QueueCounts> counted;  // queues that messages were sent to
    ListedQueues listed;                          // queues that the management API lists
};

/// What is known about a work queue (which is not retryd's own).
struct WorkQueueDepth {
    std::uint64_t messages = 0;  // ready messages
    std::uint64_t consumers = 0;
    std::optional<std::uint64_t> acked_lately;  // acks between the last two lists of the management API
    bool operator==(const WorkQueueDepth&) const = default;
};

/// How many work queues are counted in a round: first those in which messages fail, then those that the configuration
/// names. If the management API lists all queues once a minute, only the failing ones are counted here.
inline constexpr std::size_t most_asked_work_queues = 200;

/// Dead letters that the broker holds on rungs and detours, which are neither ready nor unacked there: 0 where they are
/// no more than those on their way. Not of a queue of which nothing has been counted yet.
std::map<std::string, std::uint64_t> held_in(const std::vector<http::ListedQueue>& queues);

Inventory take_inventory(const core::Policy& policy, const core::BrokerFeatures& features, const QueueSources& sources);

/// Asks for the depths in a thread and on a connection of its own, so that a queue that does not answer delays nothing
/// else. It asks by a passive declare, which needs no permission and costs the broker a look-up.
///
/// The broker logs each passive declare of a queue that does not exist. So there are at most a hundred a second, each
/// queue is asked for at most every five seconds, and one that does not exist less and less often.
class QueueDepthPoller {
  public:
    struct Snapshot {
        Inventory inventory;
        /// Ready messages by queue, as counted within the last minute.
        std::map<std::string, std::uint64_t> messages;
        /// held_in(), by queue, according to the management API; empty if that is not asked.
        std::map<std::string, std::uint64_t> held;
        std::map<std::string, WorkQueueDepth> work_queues;  // by name, no older than two minutes
        std::optional<core::WallTime> counted;              // when a queue was last counted
        std::string fault;                                  // why nothing is counted; empty if counting works
    };

    /// Counts nothing yet. `stats` tells the queues that come into being as messages are relayed.
    explicit QueueDepthPoller(std::shared_ptr<const telemetry::MessageStats> stats);
    /// Cuts the connection.
    ~QueueDepthPoller();
    QueueDepthPoller(const QueueDepthPoller&) = delete;
    QueueDepthPoller& operator=(const QueueDepthPoller&) = delete;

    /// What to count from now on; nothing: there is no broker to ask. The same target again changes nothing.
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
