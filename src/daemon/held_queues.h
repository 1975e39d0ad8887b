// What is held, of which work queue, and why: what the threads that relay, release, count and show share.
#pragma once

#include <cstdint>
#include <deque>
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

/// Thread-safe. What it tells the log: an outage's beginning, each relapse, the release and the end.
class HeldQueues {
  public:
    /// `log` must outlive it.
    explicit HeldQueues(telemetry::Log& log) : log_(log) {}

    /// From now on that policy is in force.
    void adopt(const std::shared_ptr<const config::Settings>& settings, const core::Now& now);

    // ── for the relay ──

    core::Holding holding(std::string_view work_queue, core::SteadyTime now) const;
    void settled(const relay::Settled& message, const core::Now& now);

    // ── for the thread that releases ──

    struct Fault {
        std::string cause;
        std::string remedy;
        bool operator==(const Fault&) const = default;
    };
    /// Any application may use such a name: that the queue is retryd's must be known before a message of it is touched,
    /// for each look at one counts towards the delivery limit of its queue.
    enum class Whose {
        unknown,
        ours,               // declared by retryd, with all its arguments
        ours_where_proven,  // it may be: what carries retryd's proof is
        not_ours            // nothing of it is touched
    };
    struct Queue {
        std::string work_queue;
        std::string held_queue;
        core::Outage outage;
        std::optional<std::uint64_t> messages = {};  // that are held, and ready
        std::uint64_t on_the_way = 0;                // were here when those were counted: of these no count knows
        bool shared = false;                         // its ladder is
        bool configured = false;                     // its entry holds
        bool was_configured = false;                 // it has, in this run, and has matched ever since
        bool known_entry = false;                    // one matches its work queue
        bool arguments_seen = false;                 // by the management API: they are those of retryd's
        Whose whose = Whose::unknown;
        std::uint64_t stays = 0;  // messages that cannot go home at all: of others, as retryd would not have held them
        bool gone = false;        // the work queue: what was sent home is parked
        bool told_gone = false;
        bool looked = false;                              // what lay there at the start is known
        std::optional<core::WallTime> held_at_desk = {};  // since when, by whom is signed in there
        Fault fault = {};                                 // why nothing can be sent home; empty where it can
        Fault told_fault = {};

        /// An entry matches, or a reload has taken it away and what it held is not home yet.
        bool may_go_home() const { return known_entry || outage.state() == core::Outage::State::releasing; }
        /// Retryd has declared it in this run, or would.
        bool held_in() const { return configured || (!known_entry && may_go_home()); }
        /// As whoever looks at it counts them: those that are not home yet.
        std::optional<std::uint64_t> not_home() const {
            return messages ? std::optional{*messages + on_the_way} : std::nullopt;
        }
    };

    /// A work queue of which held messages may have been left behind by an entry that does not hold any more, where no
    /// management API tells of them all: each once in the life of the process, as the broker logs a question for a
    /// queue that is not there.
    std::optional<std::string> take_unknown(core::SteadyTime now);
    /// That one's queue of held messages is there, and empty or does not answer: it is asked for again, a minute later.
    void found_empty(const std::string& work_queue, core::SteadyTime now);
    /// There is a queue with the name of one of held messages, and something in it.
    void found(const std::string& work_queue, const std::string& held_queue, bool arguments_seen, const core::Now& now);
    /// … and no entry matches: nothing of it is touched, and the log says so once.
    void found_without_entry(const std::string& held_queue, std::uint64_t messages);
    std::vector<std::string> names() const;
    /// Calls `see` with that one, alone with it, and tells the log what has come of it; false where it is not there.
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

    /// What fails in that work queue is held until release(), the end of the process, or a reload with which its entry
    /// may not hold any more, or holds by itself (`hold: true`), or there is no desk. The queue need not be known yet.
    admin::HoldAnswer hold(const std::string& work_queue, const core::Now& now);
    /// What is held of it is sent home, unless its entry says `hold: true`.
    admin::HoldAnswer release(const std::string& work_queue, const core::Now& now);

    // ── for those who show it ──

    struct Shown {
        std::string work_queue;
        std::string held_queue;
        core::Outage::State state = core::Outage::State::none;
        bool by_hand = false;  // at the desk, or by its entry
        std::optional<std::uint64_t> messages;
        std::optional<core::WallTime> since;
        std::optional<core::WallTime> held_at_desk;  // since when
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
    std::string why_not_released(const std::string& work_queue, const core::Entry* entry, core::SteadyTime now) const;

    telemetry::Log& log_;
    mutable std::mutex mutex_;
    std::shared_ptr<const config::Settings> settings_;
    std::optional<core::SteadyTime> began_;
    std::vector<std::string> unknown_;
    std::deque<std::pair<core::SteadyTime, std::string>> empty_;  // unknown again by then
    std::set<std::string, std::less<>> asked_for_;                // were unknown
    std::set<std::string, std::less<>> told_without_entry_;
    std::map<std::string, Queue, std::less<>> queues_;  // by work queue
};

/// `holding: 12,400 messages since 14:02, last probe failed 8 s ago, next in 2 s`; the time is UTC.
std::string describe(const HeldQueues::Shown& held);

}  // namespace retryd::daemon
