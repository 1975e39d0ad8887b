#include "daemon/status.h"

#include <algorithm>
#include <map>

#include "config/addresses.h"
#include "core/names.h"

namespace retryd::daemon {
namespace {

using telemetry::FailingStatus;
using telemetry::Messages;
using telemetry::QueueStatus;
using telemetry::RungStatus;
using QueueRole = telemetry::Depth::QueueRole;

class StatusBuilder {
  public:
    explicit StatusBuilder(const StatusSources& sources) : in_(sources), policy_(sources.settings.policy) {}

    telemetry::Status build() {
        add_broker();
        status_.error_exchange = policy_.error_exchange;
        status_.errors = {policy_.error_queue, messages_in(policy_.error_queue)};
        status_.catch_all = {policy_.catch_all, messages_in(policy_.catch_all)};
        add_detours();
        status_.in_flight = in_.counts.in_flight;
        status_.oldest_unsettled = in_.counts.oldest_unsettled;
        status_.counted = in_.seen.counted;
        sort_rungs();
        add_queues();
        add_ladders();
        add_sums();
        add_failing();
        status_.rates = in_.lately.rates;
        status_.confirm_p50_ms = telemetry::quantile(in_.lately.confirms, 0.5);
        status_.confirm_p99_ms = telemetry::quantile(in_.lately.confirms, 0.99);
        status_.faults = in_.state.faults;
        return std::move(status_);
    }

  private:
    using Rungs = std::map<std::string, std::vector<RungStatus>>;  // by work queue or shared ladder

    void add_broker() {
        const DaemonState::Snapshot& now = in_.state;
        const bool connected = now.phase == DaemonState::Phase::consuming;
        status_.reason = why_not_ready(now);
        status_.ready = status_.reason.empty();
        if (now.blocked) status_.reason = why_blocked(now);
        const bool known = now.version != core::BrokerVersion{} && is_configured(now.version_of);
        const config::Endpoint endpoint = now.endpoint.value_or(first_endpoint());
        status_.broker = {now.broker,
                          known ? core::to_string(now.version) : "",
                          connected,
                          now.since,
                          now.blocked.has_value(),
                          now.blocked.value_or(""),
                          now.reconnects,
                          now.fault,
                          config::host_and_port(endpoint.host, endpoint.port),
                          endpoint.vhost};
    }

    /// Another node of a cluster may be tried meanwhile, which is not known to be of another version.
    bool is_configured(const config::Endpoint& broker) const {
        const auto& endpoints = in_.settings.broker.endpoints;
        return std::any_of(endpoints.begin(), endpoints.end(),
                           [&](const config::Endpoint& each) { return each.is_same_vhost(broker); });
    }

    /// Before the first connection only the configuration tells it.
    config::Endpoint first_endpoint() const {
        const auto& endpoints = in_.settings.broker.endpoints;
        return endpoints.empty() ? config::Endpoint{} : endpoints.front();
    }

    Messages messages_in(const std::string& queue) const {
        const auto found = in_.seen.messages.find(queue);
        return found == in_.seen.messages.end() ? Messages{} : Messages{found->second};
    }

    Messages held_on(const std::string& queue) const {
        const auto found = in_.seen.held.find(queue);
        return found == in_.seen.held.end() ? Messages{} : Messages{found->second};
    }

    void add_detours() {
        for (const core::Milliseconds delay : core::detour_delays) {
            const std::string queue = core::detour_name(delay);
            status_.detours.push_back({queue, delay, messages_in(queue), held_on(queue)});
        }
    }

    /// Adds the rungs that are known to exist on the broker.
    void sort_rungs() {
        for (const auto& [queue, kept] : in_.seen.inventory.queues) {
            if (kept.role == QueueRole::rung) add(kept.shared ? shared_ : own_, kept.serves, queue, kept.delay);
        }
    }

    void add(Rungs& to, const std::string& serves, const std::string& queue, core::Milliseconds delay) const {
        std::vector<RungStatus>& rungs = to[serves];
        const auto same = [&](const RungStatus& rung) { return rung.queue == queue; };
        if (std::none_of(rungs.begin(), rungs.end(), same))
            rungs.push_back({queue, delay, messages_in(queue), held_on(queue)});
    }

    /// Adds the rungs of the ladder, whether they exist yet or not.
    void add_wanted(Rungs& to, const std::string& serves, const core::Ladder& ladder) const {
        for (const core::Milliseconds delay : core::distinct_delays(ladder))
            add(to, serves, core::rung_name_of(ladder, serves, delay, false), delay);
    }

    static std::vector<RungStatus> sorted(std::vector<RungStatus> rungs) {
        std::stable_sort(rungs.begin(), rungs.end(), [](const auto& a, const auto& b) { return a.delay < b.delay; });
        return rungs;
    }

    void add_queues() {
        std::map<std::string, const telemetry::QueueCounts*> known;
        for (const core::Entry& entry : policy_.entries) {
            if (!core::is_glob(entry.match)) known.emplace(entry.match, nullptr);
        }
        for (const std::string& work_queue : in_.seen.inventory.work_queues)
            known.emplace(work_queue, nullptr);
        for (const telemetry::QueueCounts& counts : in_.counts.queues) {
            if (counts.work_queue != telemetry::other_queues && counts.work_queue != telemetry::no_queue)
                known[counts.work_queue] = &counts;
        }
        for (const auto& [work_queue, counts] : known) {
            const core::Entry* entry = core::match(policy_, work_queue);
            if (entry == nullptr) continue;
            if (status_.queues.size() == most_queues_shown) {
                ++status_.queues_left_out;
            } else {
                status_.queues.push_back(queue(work_queue, *entry, counts));
            }
        }
    }

    QueueStatus queue(const std::string& work_queue, const core::Entry& entry, const telemetry::QueueCounts* counts) {
        QueueStatus status;
        status.work_queue = work_queue;
        status.ladder = entry.ladder.name;
        status.shared = entry.ladder.return_path == core::ReturnPath::headers;
        status.may_hold = core::may_hold(entry);
        if (!status.shared) add_wanted(own_, work_queue, entry.ladder);
        // This includes rungs left over from another ladder, and those for messages with a high priority.
        if (const auto rungs = own_.find(work_queue); rungs != own_.end()) status.rungs = sorted(rungs->second);
        if (entry.parked.exchange.empty()) {
            const std::string parking =
                core::parking_queue_of(entry.parked, work_queue, core::features_of(in_.state.version));
            status.parked = telemetry::QueueDepth{parking, messages_in(parking)};
        } else {
            status.parked = telemetry::QueueDepth{"exchange " + entry.parked.exchange, std::nullopt};
        }
        status.totals = counts != nullptr ? totals_of(*counts) : telemetry::QueueTotals{};
        if (const auto asked = in_.seen.work_queues.find(work_queue); asked != in_.seen.work_queues.end()) {
            status.messages = asked->second.messages;
            status.consumers = asked->second.consumers;
        }
        return status;
    }

    static telemetry::QueueTotals totals_of(const telemetry::QueueCounts& counts) {
        telemetry::QueueTotals totals;
        for (const telemetry::Count& count : counts.counts) {
            switch (count.outcome) {
                case relay::Outcome::parked:
                    totals.parked += count.messages;
                    break;
                case relay::Outcome::dropped:
                    totals.dropped += count.messages;
                    break;
                case relay::Outcome::held:  // the message comes again
                case relay::Outcome::detoured:
                case relay::Outcome::sent_home:  // the retry goes on
                    break;
                case relay::Outcome::retried:
                case relay::Outcome::returned_to_queue:
                    totals.retried += count.messages;
                    break;
            }
        }
        return totals;
    }

    void add_ladders() {
        for (const core::Entry& entry : policy_.entries) {
            if (entry.ladder.return_path == core::ReturnPath::headers)
                add_wanted(shared_, entry.ladder.name, entry.ladder);
        }
        for (auto& [name, rungs] : shared_)
            status_.ladders.push_back({name, sorted(std::move(rungs))});
    }

    void add_sums() {
        std::map<std::string_view, std::uint64_t> reasons;
        for (const telemetry::QueueCounts& queue : in_.counts.queues) {
            for (const telemetry::Count& count : queue.counts) {
                if (count.outcome == relay::Outcome::parked) reasons[count.reason] += count.messages;
            }
        }
        for (const auto& [reason, messages] : reasons)
            status_.parked_by_reason.push_back({std::string{reason}, messages});
        for (const std::uint64_t messages : in_.counts.requeued)
            status_.requeued += messages;
    }

    void add_failing() {
        for (const telemetry::FailureHistory::Queue& queue : in_.lately.failing)
            status_.failing.push_back(failing(queue));
        std::stable_sort(status_.failing.begin(), status_.failing.end(),
                         [](const auto& a, const auto& b) { return is_whole(a) && !is_whole(b); });
        if (status_.failing.size() <= telemetry::most_failing_shown) return;
        status_.failing_left_out = status_.failing.size() - telemetry::most_failing_shown;
        status_.failing.resize(telemetry::most_failing_shown);
    }

    static bool is_whole(const FailingStatus& queue) { return queue.state == FailingStatus::State::wholly; }

    FailingStatus failing(const telemetry::FailureHistory::Queue& queue) const {
        FailingStatus status;
        status.work_queue = queue.work_queue;
        status.failures = queue.last_minute;
        status.minutes = queue.minutes;
        if (const core::Entry* entry = core::match(policy_, queue.work_queue)) {
            compare_returns(queue, entry->ladder, status);
            find_next_due(queue, *entry, status);
        }
        if (const auto asked = in_.seen.work_queues.find(queue.work_queue); asked != in_.seen.work_queues.end()) {
            status.messages = asked->second.messages;
            status.consumers = asked->second.consumers;
            status.acked = asked->second.acked_lately;
        }
        status.state = state_of(status);
        return status;
    }

    /// If the first two delays of a ladder differ from all others, one can tell how many of its first retries failed
    /// again: they were put on the second rung, or parked if there is none.
    static void compare_returns(const telemetry::FailureHistory::Queue& queue, const core::Ladder& ladder,
                                FailingStatus& status) {
        const auto& steps = ladder.steps;
        if (steps.empty() || ladder.jitter.lanes > 1) return;
        if (std::count(steps.begin(), steps.end(), steps[0]) > 1) return;
        if (steps.size() > 1 && std::count(steps.begin(), steps.end(), steps[1]) > 1) return;
        const auto of = [&](core::Milliseconds delay) {
            return std::find_if(queue.rungs.begin(), queue.rungs.end(),
                                [&](const auto& rungs) { return rungs.delay == delay; });
        };
        const auto first = of(steps[0]);
        if (first == queue.rungs.end() || !first->home_lately) return;
        status.came_back = *first->home_lately;
        if (steps.size() == 1) {
            status.failed_again = queue.parked_lately;
        } else {
            const auto second = of(steps[1]);
            status.failed_again = second == queue.rungs.end() ? 0 : second->put_lately;
        }
        // Some of the messages that came back just now are still being processed by consumers.
        status.failed_again = std::min(*status.failed_again, *status.came_back);
    }

    /// What was put on a rung is known for the last quarter of an hour; of what has been there longer only the number
    /// is known.
    void find_next_due(const telemetry::FailureHistory::Queue& queue, const core::Entry& entry,
                       FailingStatus& status) const {
        const bool shared = entry.ladder.return_path == core::ReturnPath::headers;
        const auto take = [&](core::Milliseconds due, bool at_most) {
            if (status.next_due && *status.next_due <= due) return;
            status.next_due = due;
            status.due_at_most = at_most;
        };
        for (const core::Milliseconds delay : core::distinct_delays(entry.ladder)) {
            const Messages waiting = messages_in(
                core::rung_name_of(entry.ladder, shared ? entry.ladder.name : queue.work_queue, delay, false));
            const auto known = std::find_if(queue.rungs.begin(), queue.rungs.end(),
                                            [&](const auto& rungs) { return rungs.delay == delay; });
            const bool is_known = known != queue.rungs.end();
            if (is_known && known->next && waiting != Messages{0}) {
                take(*known->next, !known->all_known);
            } else if (!shared && waiting.value_or(0) > 0) {
                take(delay, true);
            }
        }
    }

    static FailingStatus::State state_of(const FailingStatus& queue) {
        constexpr std::uint64_t enough = 3;
        constexpr std::uint64_t percent = 90;
        const bool tells = queue.came_back.value_or(0) >= enough;
        if (queue.acked) {
            if (*queue.acked > 0) return FailingStatus::State::partly;
            if (queue.failures >= enough) return FailingStatus::State::wholly;
        }
        if (!tells) return FailingStatus::State::unknown;
        return 100 * *queue.failed_again >= percent * *queue.came_back ? FailingStatus::State::wholly
                                                                       : FailingStatus::State::partly;
    }

    const StatusSources& in_;
    const core::Policy& policy_;
    telemetry::Status status_;
    Rungs own_;
    Rungs shared_;
};

}  // namespace

telemetry::Status status_of(const StatusSources& sources) {
    return StatusBuilder(sources).build();
}

std::vector<telemetry::HeldStatus> status_of(const std::vector<HeldQueues::Shown>& held) {
    std::vector<telemetry::HeldStatus> status;
    for (const HeldQueues::Shown& each : held) {
        status.push_back({each.work_queue, each.held_queue, static_cast<int>(each.state), each.messages, each.since,
                          describe(each), each.by_hand, each.held_at_desk});
    }
    return status;
}

std::vector<telemetry::Depth> depths_of(const QueueDepthPoller::Snapshot& seen) {
    std::vector<telemetry::Depth> depths;
    for (const auto& [queue, messages] : seen.messages) {
        const auto kept = seen.inventory.queues.find(queue);
        if (kept != seen.inventory.queues.end()) {
            const auto held = seen.held.find(queue);
            depths.push_back({queue, kept->second.role, kept->second.delay, messages,
                              held == seen.held.end() ? std::nullopt : std::optional(held->second)});
        }
    }
    return depths;
}

}  // namespace retryd::daemon
