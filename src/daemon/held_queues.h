// What is held, of which work queue, and why: what the threads that relay, release, count and show share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
    /// Names are anybody's: whose queue it is must be known before a message of it is touched, for each look at one
    /// counts towards the delivery limit of its queue.
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
        bool shared = false;                         // its ladder is
        bool configured = false;                     // its entry holds
        bool known_entry = false;                    // one matches its work queue
        bool arguments_seen = false;                 // by the management API: they are those of retryd's
        Whose whose = Whose::unknown;
        bool looked = false;  // what lay there at the start is known
        Fault fault = {};     // why nothing can be sent home; empty where it can
        Fault told_fault = {};
    };

    /// A work queue of which held messages may have been left behind by an entry that does not hold any more, and that
    /// was not asked for before: each once, where no management API tells of them all.
    std::optional<std::string> take_unknown();
    /// There is a queue with the name of one of held messages, and something in it.
    void found(const std::string& work_queue, const std::string& held_queue, bool arguments_seen, const core::Now& now);
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

    // ── for those who show it ──

    struct Shown {
        std::string work_queue;
        std::string held_queue;
        core::Outage::State state = core::Outage::State::none;
        bool by_hand = false;
        std::optional<std::uint64_t> messages;
        std::optional<core::WallTime> since;
        std::optional<core::Milliseconds> probe_failed_ago;
        std::optional<core::Milliseconds> next_in;
        double rate = 0;
    };
    std::vector<Shown> shown(core::SteadyTime now) const;

  private:
    void follow_entry(Queue& queue, const core::Now& now) const;
    Queue* add(std::string_view work_queue, const core::Now& now);
    void tell(Queue& queue);

    telemetry::Log& log_;
    mutable std::mutex mutex_;
    std::shared_ptr<const config::Settings> settings_;
    std::optional<core::SteadyTime> began_;
    std::vector<std::string> unknown_;
    std::map<std::string, Queue, std::less<>> queues_;  // by work queue
};

/// `holding: 12,400 messages since 14:02, last probe failed 8 s ago, next in 2 s`; the time is UTC.
std::string describe(const HeldQueues::Shown& held);

}  // namespace retryd::daemon
