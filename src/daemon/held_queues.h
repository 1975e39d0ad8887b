// The state of held messages by work queue: shared by the threads that relay, release, count and show them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/desk_task.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/outage.h"
#include "core/policy.h"
#include "core/time.h"
#include "relay/reporter.h"
#include "telemetry/log.h"

namespace retryd::daemon {

/// Thread-safe. Logs the beginning of an outage, each relapse, the release and its end.
class HeldQueues {
  public:
    /// `log` must outlive it.
    explicit HeldQueues(telemetry::Log& log) : log_(log) {}

    /// Puts a policy into force.
    void adopt(const std::shared_ptr<const config::Settings>& settings, const core::Now& now);

    // ── for the relay ──

    core::KnownOutage known_outage(std::string_view work_queue, core::SteadyTime now) const;
    void settled(const relay::Settled& message, const core::Now& now);

    // ── for the thread that releases ──

    struct Fault {
        std::string cause;
        std::string remedy;
        bool operator==(const Fault&) const = default;
    };
    /// Any application may use such a queue name. Before a message is touched, it must be known that the queue is
    /// retryd's: each look at a message counts towards its queue's delivery limit.
    enum class Whose {
        unknown,
        ours,               // declared by retryd, or with exactly its arguments
        ours_where_proven,  // perhaps retryd's: only messages with its proof count
        not_ours            // somebody else's; nothing in it is touched
    };
    struct Queue {
        std::string work_queue;
        std::string held_queue;
        core::Outage outage;
        std::optional<std::uint64_t> messages = {};  // ready messages that are held
        std::uint64_t on_the_way = 0;                // unacked here at the time of that count, so not part of it
        bool shared = false;                         // its ladder is shared
        bool configured = false;                     // its entry may hold messages now
        bool was_configured = false;  // its entry could hold at some time in this run, and has matched ever since
        bool known_entry = false;     // an entry matches the work queue
        bool arguments_seen = false;  // seen through the management API: the arguments are retryd's
        Whose whose = Whose::unknown;
        std::uint64_t stays =
            0;  // messages that cannot go home at all: somebody else's, since retryd would not have held them
        bool gone = false;  // the work queue is gone: what was sent home was parked
        bool reported_gone = false;
        bool start_content_known = false;                 // it is known what was in the queue at the start
        std::optional<core::WallTime> held_at_desk = {};  // since when somebody at the desk holds it
        Fault fault = {};                                 // why nothing can be sent home; empty if it can
        Fault reported_fault = {};

        /// An entry matches, or a reload has removed the entry and its held messages are not home yet.
        bool may_go_home() const { return known_entry || outage.state() == core::Outage::State::releasing; }
        /// Whether retryd has declared the queue of held messages in this run, or would do so now.
        bool declares_held_queue() const { return configured || (!known_entry && may_go_home()); }
        /// The number for display: all messages that are not home yet.
        std::optional<std::uint64_t> not_home() const {
            return messages ? std::optional{*messages + on_the_way} : std::nullopt;
        }
    };

    /// A work queue whose entry no longer holds, but of which an earlier run may have left held messages, if there is
    /// no management API to list them. Each is returned once in the life of the process, because the broker logs every
    /// question for a queue that does not exist; and again after found_nothing().
    std::optional<std::string> take_unknown(core::SteadyTime now);
    /// Its queue of held messages is empty or has not answered, or the connection ended before. RabbitMQ counts no
    /// messages in a quorum queue that it cannot ask (3.10.8 and 4.3.6, run). So it is asked for again: after 5 s, and
    /// then after twice as long each time, up to a minute.
    void found_nothing(const std::string& work_queue, core::SteadyTime now);
    /// A queue that is named like one of held messages exists and is not empty.
    void found(const std::string& work_queue, const std::string& held_queue, bool arguments_seen, const core::Now& now);
    /// The same, but no entry matches: nothing in it is touched, and the log says so once.
    void found_without_entry(const std::string& held_queue, std::uint64_t messages);
    std::vector<std::string> names() const;
    /// Calls `see` with that queue under the mutex, and logs what has changed; false if it is not known.
    template <class Visit>
    bool visit(const std::string& work_queue, const Visit& see) {
        const std::lock_guard lock(mutex_);
        const auto found = queues_.find(work_queue);
        if (found == queues_.end()) return false;
        see(found->second);
        tell(found->second);
        return true;
    }

    // ── for the thread that counts ──

    std::vector<std::string> wanting_counters(core::SteadyTime now) const;

    // ── for who is signed in at the desk ──

    /// Holds the failures of that work queue until release(), the end of the process, or a reload that names another
    /// broker, or after which its entry may no longer hold, holds permanently (`hold: true`), or there is no desk. The
    /// work queue need not be known yet.
    admin::HoldAnswer hold(const std::string& work_queue, const core::Now& now);
    /// Sends its held messages home, unless its entry has `hold: true`.
    admin::HoldAnswer release(const std::string& work_queue, const core::Now& now);

    // ── for those who show it ──

    struct Shown {
        std::string work_queue;
        std::string held_queue;
        core::Outage::State state = core::Outage::State::none;
        bool by_hand = false;  // held at the desk or by `hold: true`
        std::optional<std::uint64_t> messages;
        std::optional<core::WallTime> since;
        std::optional<core::WallTime> held_at_desk;  // since when it is held at the desk
        std::optional<core::Milliseconds> probe_failed_ago;
        std::optional<core::Milliseconds> next_in;
        double rate = 0;
    };
    std::vector<Shown> shown(core::SteadyTime now) const;

  private:
    void follow_entry(Queue& queue, const core::Now& now) const;
    static void lose_entry(Queue& queue, const core::Now& now);
    Queue* add(std::string_view work_queue, const core::Now& now);
    void tell(Queue& queue);
    void tell_hold(const Queue& queue);
    void leave_broker();
    std::string why_not_released(const std::string& work_queue, const core::Entry* entry, core::SteadyTime now) const;

    telemetry::Log& log_;
    mutable std::mutex mutex_;
    std::shared_ptr<const config::Settings> settings_;
    std::optional<core::SteadyTime> began_;
    std::multimap<core::SteadyTime, std::string> unknown_;          // by when it is to be asked for
    std::map<std::string, core::Milliseconds, std::less<>> pause_;  // before the next time; of all ever unknown
    std::set<std::string, std::less<>> told_without_entry_;
    std::map<std::string, Queue, std::less<>> queues_;  // by work queue
};

/// For example `holding: 12,400 messages since 14:02, last probe failed 8 s ago, next in 2 s`; times are UTC.
std::string describe(const HeldQueues::Shown& held);

}  // namespace retryd::daemon
