#include "commands/status/collect_status.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "admin/finding.h"
#include "admin/work_queues.h"
#include "commands/common/checked_queue.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "core/topology.h"

namespace retryd::commands {

std::uint64_t waiting_on(const std::vector<telemetry::RungStatus>& rungs) {
    std::uint64_t sum = 0;
    for (const telemetry::RungStatus& rung : rungs)
        sum += rung.messages.value_or(0);
    return sum;
}

std::uint64_t waiting_or_parked(const telemetry::QueueStatus& queue) {
    return waiting_on(queue.rungs) + (queue.parked ? queue.parked->messages.value_or(0) : 0);
}

bool any_unknown(const std::vector<telemetry::RungStatus>& rungs) {
    return std::any_of(rungs.begin(), rungs.end(), [](const telemetry::RungStatus& rung) { return rung.unknown; });
}

bool is_quiet(const telemetry::QueueStatus& queue) {
    const bool known = !any_unknown(queue.rungs) && !(queue.parked && queue.parked->unknown);
    return known && waiting_or_parked(queue) == 0;
}

namespace {

constexpr std::size_t most_named = 10;

class StatusCollector {
  public:
    StatusCollector(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon, bool expected)
        : broker_(broker), policy_(policy), features_(core::features_of(broker.identity().version)) {
        report_.broker = broker.identity();
        if (const auto* status = std::get_if<telemetry::Status>(&daemon)) report_.daemon = *status;
        const auto* why_not = std::get_if<std::string>(&daemon);
        if (why_not == nullptr) return;
        if (expected) {
            report_.no_daemon = *why_not;
        } else {
            add_not_seen("in flight, rates, totals and faults: " + *why_not);
        }
    }

    StatusReport collect() {
        list_queues();
        count_errors();
        report_.catch_all = depth_of(policy_.catch_all);
        for (const core::Milliseconds delay : core::detour_delays)
            report_.detours.push_back(rung_of(core::detour_name(delay), delay));
        for (const std::string& name : find_work_queues())
            add_work_queue(name, *core::match(policy_, name));
        add_shared_ladders();
        add_outages();
        std::stable_sort(report_.queues.begin(), report_.queues.end(), [](const auto& left, const auto& right) {
            return waiting_or_parked(left) > waiting_or_parked(right);
        });
        if (!report_.leaderless.empty()) {
            add_not_seen("how many messages some queues have, for they have no leader now: " +
                         admin::folded(report_.leaderless, most_named) +
                         ". Start the nodes that are away (rabbitmq-queues quorum_status NAME)");
        }
        if (!not_asked_.empty()) {
            add_not_seen("how many messages some queues have, for RabbitMQ could not ask them in time: " +
                         admin::folded(not_asked_, most_named) +
                         ". It is too busy, or they have no leader (rabbitmq-queues quorum_status NAME)");
        }
        if (!refusal_.empty())
            add_not_seen("how many messages some queues have; the broker's first refusal: " + refusal_);
        return std::move(report_);
    }

  private:
    void list_queues() {
        if (broker_.management() == nullptr) {
            no_list_ = "Set management.url";
            return;
        }
        try {
            const auto queues = broker_.management()->queues_with_leaders();
            for (const http::ListedQueue& queue : queues) {
                listed_.push_back(queue.name);
                if (queue.leaderless) listed_leaderless_.insert(queue.name);
            }
            const std::set<std::string> names(listed_.begin(), listed_.end());
            for (const http::ListedQueue& queue : queues) {
                const auto rung = core::parse_rung(queue.name, queue.arguments);
                if (!rung || queue.held.value_or(0) == 0) continue;
                const bool gone = rung->return_path == core::ReturnPath::queue && names.count(rung->serves) == 0;
                if (gone || queue.holds_back())
                    report_.held.push_back({queue.name, rung->serves, static_cast<std::uint64_t>(*queue.held), gone});
            }
        } catch (const http::Error& error) {
            no_list_ = error.what();
        }
    }

    std::set<std::string> find_work_queues() {
        const auto configured = admin::configured_work_queues(policy_);
        std::set<std::string> names(configured.begin(), configured.end());
        if (report_.daemon) {
            for (const telemetry::QueueStatus& queue : report_.daemon->queues)
                if (core::match(policy_, queue.work_queue) != nullptr) names.insert(queue.work_queue);
        }
        const bool any_glob = std::any_of(policy_.entries.begin(), policy_.entries.end(),
                                          [](const core::Entry& entry) { return core::is_glob(entry.match); });
        if (any_glob) add_work_queues_of_globs(names);
        return names;
    }

    void add_work_queues_of_globs(std::set<std::string>& names) {
        if (no_list_.empty()) {
            const auto found = admin::work_queues_in_use(policy_, features_, listed_);
            names.insert(found.begin(), found.end());
        } else if (report_.daemon) {
            add_not_seen("work queues of globs that the daemon does not name: " + no_list_);
        } else {
            add_not_seen("the work queues of globs: AMQP lists no queues. " + no_list_ +
                         ", or have the daemon answer at http.listen: it names those that it knows");
        }
    }

    void add_work_queue(const std::string& name, const core::Entry& entry) {
        telemetry::QueueStatus queue;
        queue.work_queue = name;
        queue.ladder = entry.ladder.name;
        queue.shared = entry.ladder.return_path == core::ReturnPath::headers;
        if (!queue.shared) queue.rungs = count_rungs(entry.ladder, name);
        if (entry.parked.exchange.empty()) {
            const std::string parking = core::parking_queue_of(entry.parked, name, features_);
            queue.parked = depth_of(parking);
        }
        queue.totals = totals_of(name);
        report_.queues.push_back(std::move(queue));
    }

    /// A daemon that runs consumes this one.
    void count_errors() {
        const Counted found = count(policy_.error_queue);
        report_.errors = {policy_.error_queue, found.messages, found.unknown};
        if (found.messages != 0U || found.consumers > 0) return;
        if (report_.daemon) {
            report_.errors_unconsumed = true;
            report_.errors = {policy_.error_queue, std::nullopt, true};
        } else if (!no_list_.empty()) {
            add_not_seen("whether there are no messages in " + core::safe_name(policy_.error_queue) +
                         ": RabbitMQ names no consumer of it, and says the same of a queue that has no leader. " +
                         no_list_);
        }
    }

    /// The states that the daemon reports, and those of all other work queues that may hold. The numbers are the
    /// broker's in any case.
    void add_outages() {
        if (report_.daemon) report_.outages = report_.daemon->outages;
        for (const telemetry::QueueStatus& queue : report_.queues) {
            const core::Entry* const entry = core::match(policy_, queue.work_queue);
            const bool known =
                std::any_of(report_.outages.begin(), report_.outages.end(),
                            [&](const telemetry::HeldStatus& each) { return each.work_queue == queue.work_queue; });
            if (known || entry == nullptr || !core::may_hold(*entry)) continue;
            telemetry::HeldStatus outage;
            outage.work_queue = queue.work_queue;
            outage.queue = core::held_name(queue.work_queue, features_.longest_quorum_name);
            outage.by_hand = entry->hold;
            report_.outages.push_back(std::move(outage));
        }
        for (telemetry::HeldStatus& outage : report_.outages) {
            const Counted found = count(outage.queue);
            outage.messages = found.messages;
            outage.unknown = found.unknown;
        }
    }

    /// The totals that the daemon reports; nothing if it does not name the queue.
    std::optional<telemetry::QueueTotals> totals_of(const std::string& work_queue) const {
        if (!report_.daemon) return std::nullopt;
        for (const telemetry::QueueStatus& queue : report_.daemon->queues)
            if (queue.work_queue == work_queue) return queue.totals;
        return std::nullopt;
    }

    void add_shared_ladders() {
        std::set<std::string> added;
        for (const core::Entry& entry : policy_.entries) {
            if (entry.ladder.return_path != core::ReturnPath::headers) continue;
            // Entries with `x_death: keep` have rungs of their own.
            if (added.insert(entry.ladder.name + '/' + std::string{core::to_string(entry.ladder.x_death)}).second)
                report_.ladders.push_back({entry.ladder.name, count_rungs(entry.ladder, "")});
        }
    }

    std::vector<telemetry::RungStatus> count_rungs(const core::Ladder& ladder, const std::string& work_queue) {
        std::vector<telemetry::RungStatus> rungs;
        for (const core::Milliseconds delay : core::distinct_delays(ladder)) {
            telemetry::RungStatus rung = rung_of(core::rung_name_of(ladder, work_queue, delay, false), delay);
            if (features_.priority_blocks_expiry && rung.messages)
                add_high(core::rung_name_of(ladder, work_queue, delay, true), rung);
            rungs.push_back(std::move(rung));
        }
        return rungs;
    }

    void add_high(const std::string& queue, telemetry::RungStatus& rung) {
        const Counted found = count(queue);
        *rung.messages += found.messages.value_or(0);
        rung.unknown = found.unknown;
        if (rung.unknown) rung.messages.reset();
    }

    struct Counted {
        telemetry::Messages messages;  // nothing if the queue does not exist, or `unknown`
        bool unknown = false;
        std::uint32_t consumers = 0;
    };
    /// Of a quorum queue without a leader the broker says that it has neither messages nor consumers, and of a classic
    /// one without its node that it is not there.
    Counted count(const std::string& queue) {
        const bool leaderless = listed_leaderless_.contains(queue);
        const auto [answer, believed] =
            leaderless ? CheckedQueue{broker_.carry_out(amqp::Declarer::CheckQueue{queue})} : counter_.count(queue);
        const bool refused = answer.result == amqp::Declarer::Result::refused;
        if (refused && refusal_.empty()) refusal_ = answer.text;
        if (refused) return {std::nullopt, true};
        const bool nothing = answer.result != amqp::Declarer::Result::done || answer.counts == amqp::QueueCounts{};
        if (nothing && leaderless) {
            report_.leaderless.push_back(queue);
            return {std::nullopt, true};
        }
        if (answer.result != amqp::Declarer::Result::done) return {};
        if (!believed) {
            not_asked_.push_back(queue);
            return {std::nullopt, true};
        }
        return {answer.counts.messages, false, answer.counts.consumers};
    }
    telemetry::QueueDepth depth_of(const std::string& queue) {
        const Counted found = count(queue);
        return {queue, found.messages, found.unknown};
    }
    telemetry::RungStatus rung_of(const std::string& queue, core::Milliseconds delay) {
        const Counted found = count(queue);
        return {queue, delay, found.messages, std::nullopt, found.unknown};
    }

    void add_not_seen(std::string what) { report_.not_seen.push_back(std::move(what)); }

    Broker& broker_;
    const core::Policy& policy_;
    const core::BrokerFeatures features_;
    QueueCounter counter_{broker_};
    std::string refusal_;                 // the first one
    std::vector<std::string> not_asked_;  // queues
    std::vector<std::string> listed_;
    std::set<std::string> listed_leaderless_;
    std::string no_list_;  // why the queues could not be listed
    StatusReport report_;
};

}  // namespace

StatusReport collect_status(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon, bool expected) {
    return StatusCollector(broker, policy, daemon, expected).collect();
}

}  // namespace retryd::commands
