// The queues that retryd looks after, as far as they are known: by the configuration, by what went by, by what the
// management API lists. Pure.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "amqp/sync_admin.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/policy.h"
#include "core/time.h"
#include "core/topology.h"
#include "telemetry/stats.h"
#include "telemetry/status.h"

namespace retryd::daemon {

/// A queue on the broker, with the arguments that it was declared with.
using ListedQueues = std::vector<std::pair<std::string, core::Arguments>>;

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
    /// Those with an entry of their own, those met and those listed, as long as an entry matches.
    std::vector<std::string> work_queues;  // sorted
};

/// No more than so many queues, those that the configuration names first: all of them have to be asked for within a
/// minute.
inline constexpr std::size_t most_kept_queues = 4'000;

/// What is known beside the configuration.
struct Seen {
    std::vector<telemetry::QueueCounts> met;
    ListedQueues listed;
};

Inventory take_inventory(const core::Policy& policy, const core::BrokerFeatures& features, const Seen& seen);

// Counts the messages in the queues that retryd looks after: on a connection and in a thread of its own, so that a
// queue that does not answer holds up nothing else.
//
// It asks for no more than a hundred queues a second, for each at most every five seconds, and seldom for those that
// are not there: the broker logs each such question.

struct QueueDepthState;

class QueueDepthPoller {
  public:
    /// Whose queues are counted, and where.
    struct Subject {
        std::shared_ptr<const config::Settings> settings;
        config::Endpoint endpoint;
        bool operator==(const Subject&) const = default;
    };
    struct Seen {
        Inventory inventory;
        /// Of the last minute: what is older might be wrong by now.
        std::map<std::string, std::uint64_t> messages;
        std::optional<core::WallTime> counted;  // the last one
        std::string fault;                      // why nothing is counted; empty where it is
    };

    /// Counts nothing yet. `tally` names queues that are made while messages go by.
    explicit QueueDepthPoller(std::shared_ptr<const telemetry::MessageStats> stats);
    /// Cuts its connection. A thread that hangs all the same is left behind after a second; it touches nothing but
    /// what it owns.
    ~QueueDepthPoller();
    QueueDepthPoller(const QueueDepthPoller&) = delete;
    QueueDepthPoller& operator=(const QueueDepthPoller&) = delete;

    /// From now on; nothing: no broker is there to ask. The same again changes nothing.
    void watch(const std::optional<Subject>& subject);

    Seen seen() const;

  private:
    std::shared_ptr<QueueDepthState> state_;
    std::thread thread_;
};

// What QueueDepthPoller and its thread share. Both own it: the thread may outlive the other.

struct QueueDepthState {
    struct Counted {
        std::uint64_t messages = 0;
        core::SteadyTime at{};
    };

    std::shared_ptr<const telemetry::MessageStats> stats;

    std::mutex mutex;  // of all that follows
    std::condition_variable changed;
    bool stop = false;
    bool ended = false;
    std::optional<QueueDepthPoller::Subject> subject;
    int socket = -1;  // of the connection, while there is one
    Inventory inventory;
    std::map<std::string, Counted> counted;
    std::optional<core::WallTime> last;
    std::string fault;

    /// Whether that is still what to count.
    bool goes_on(const QueueDepthPoller::Subject& with) {
        const std::lock_guard lock(mutex);
        return !stop && subject == with;
    }

    /// While it lives, the end of the watch cuts the connection.
    class Cuttable {
      public:
        Cuttable(QueueDepthState& state, int fd) : state_(state) { set(fd); }
        ~Cuttable() { set(-1); }
        Cuttable(const Cuttable&) = delete;
        Cuttable& operator=(const Cuttable&) = delete;

      private:
        void set(int fd) {
            const std::lock_guard lock(state_.mutex);
            state_.socket = fd;
        }
        QueueDepthState& state_;
    };
};

// What the thread of a QueueDepthPoller does.

class QueueDepthWorker {
  public:
    explicit QueueDepthWorker(std::shared_ptr<QueueDepthState> state) : state_(std::move(state)) {}

    /// Until it is to stop.
    void run();

  private:
    using Subject = QueueDepthPoller::Subject;

    /// A queue that could not be counted, and when it is asked for again.
    struct Pause {
        core::Milliseconds length{};
        core::SteadyTime until{};
    };

    std::optional<Subject> await_subject();
    void count(const Subject& subject);
    void count_all(const Subject& subject, amqp::SyncAdminConnection& broker);
    void count_one(const std::string& queue, amqp::SyncAdminConnection& broker);
    void take_inventory(const Subject& subject, const core::BrokerFeatures& features);
    void list_queues(const Subject& subject);
    void leave_alone(const std::string& queue);
    void failed(const Subject& subject, const std::string& why);

    std::shared_ptr<QueueDepthState> state_;
    std::optional<Subject> counting_;
    std::map<std::string, Pause> paused_;
    ListedQueues listed_;
    core::SteadyTime list_again_{};
    core::Milliseconds backoff_{};
};

}  // namespace retryd::daemon
