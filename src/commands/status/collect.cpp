#include "commands/status/collect.h"

#include <algorithm>
#include <set>

#include "core/names.h"
#include "core/topology.h"

namespace retryd::commands {

namespace {

using Declarer = amqp::Declarer;
using Result = Declarer::Result;

class Stocktaking {
  public:
    Stocktaking(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon)
        : broker_(broker), policy_(policy), features_(core::features_of(broker.identity().version)) {
        status_.broker = broker.identity();
        if (const auto* view = std::get_if<DaemonView>(&daemon)) status_.daemon = *view;
        if (const auto* why_not = std::get_if<std::string>(&daemon))
            not_seen("in flight, rates, totals and faults: " + *why_not);
    }

    Status take() {
        status_.errors = depth_of(policy_.error_queue);
        status_.catch_all = depth_of(policy_.catch_all);
        find_work_queues();
        for (const std::string& name : work_queues_)
            count(name, *core::match(policy_, name));
        count_shared_ladders();
        std::stable_sort(status_.queues.begin(), status_.queues.end(),
                         [](const auto& a, const auto& b) { return weight(a) > weight(b); });
        if (!refusal_.empty()) not_seen("what the broker would not say; the first: " + refusal_);
        return std::move(status_);
    }

  private:
    void find_work_queues() {
        bool any_glob = false;
        for (const core::Entry& entry : policy_.entries) {
            any_glob = any_glob || core::is_glob(entry.match);
            if (!core::is_glob(entry.match) && core::match(policy_, entry.match) == &entry)
                work_queues_.insert(entry.match);
        }
        if (status_.daemon) {
            for (const auto& [name, totals] : status_.daemon->work_queues)
                if (core::match(policy_, name) != nullptr) work_queues_.insert(name);
        }
        if (any_glob) find_work_queues_of_globs();
    }

    void find_work_queues_of_globs() {
        std::string why_not = "Set management.url";
        if (broker_.has_management()) {
            try {
                return find_among(broker_.queues());
            } catch (const http::Error& error) {
                why_not = error.what();
            }
        }
        if (status_.daemon) return not_seen("work queues of globs that the daemon does not name: " + why_not);
        not_seen("the work queues of globs: AMQP lists no queues. " + why_not +
                 ", or have the daemon answer at http.listen: it names those that it knows");
    }

    /// Of all the queues that a glob may match those that have had something to retry or to park.
    void find_among(const std::vector<http::ListedQueue>& queues) {
        std::set<std::string> names;
        for (const http::ListedQueue& queue : queues)
            names.insert(queue.name);
        for (const std::string& name : names) {
            const core::Entry* entry = core::match(policy_, name);
            if (entry == nullptr) continue;
            const auto rungs = rung_names(*entry, name);
            const bool parks = names.count(core::parking_queue_of(entry->parked, name, features_)) > 0;
            const bool waits =
                std::any_of(rungs.begin(), rungs.end(), [&](const std::string& rung) { return names.count(rung) > 0; });
            if (parks || waits) work_queues_.insert(name);
        }
    }

    /// Its own ones.
    static std::vector<std::string> rung_names(const core::Entry& entry, const std::string& work_queue) {
        std::vector<std::string> names;
        if (entry.ladder.return_path == core::ReturnPath::headers) return names;
        for (const core::Milliseconds delay : core::distinct_delays(entry.ladder))
            names.push_back(core::rung_name_of(entry.ladder, work_queue, delay, false));
        return names;
    }

    void count(const std::string& name, const core::Entry& entry) {
        WorkQueueStatus queue{name, entry.ladder.name, entry.ladder.return_path == core::ReturnPath::headers, {}, {},
                              {}};
        if (!queue.shared) queue.rungs = rungs_of(entry.ladder, name);
        if (entry.parked.exchange.empty()) {
            queue.parked = depth_of(core::parking_queue_of(entry.parked, name, features_));
        }
        if (status_.daemon) {
            const auto at = status_.daemon->work_queues.find(name);
            if (at != status_.daemon->work_queues.end()) queue.totals = at->second;
        }
        status_.queues.push_back(std::move(queue));
    }

    void count_shared_ladders() {
        std::set<std::string> counted;
        for (const core::Entry& entry : policy_.entries) {
            if (entry.ladder.return_path != core::ReturnPath::headers) continue;
            if (counted.insert(entry.ladder.name).second)
                status_.ladders.push_back({entry.ladder.name, rungs_of(entry.ladder, "")});
        }
    }

    std::vector<RungDepth> rungs_of(const core::Ladder& ladder, const std::string& work_queue) {
        std::vector<RungDepth> rungs;
        for (const core::Milliseconds delay : core::distinct_delays(ladder)) {
            RungDepth rung{delay, depth_of(core::rung_name_of(ladder, work_queue, delay, false))};
            if (features_.priority_blocks_expiry && rung.depth.messages) {
                const Depth high = depth_of(core::rung_name_of(ladder, work_queue, delay, true));
                *rung.depth.messages += high.messages.value_or(0);
            }
            rungs.push_back(std::move(rung));
        }
        return rungs;
    }

    Depth depth_of(const std::string& queue) {
        const auto answer = broker_.carry_out(Declarer::CheckQueue{queue});
        if (answer.result == Result::refused && refusal_.empty()) refusal_ = answer.text;
        if (answer.result != Result::done) return {queue, {}};
        return {queue, answer.counts.messages};
    }

    void not_seen(std::string what) { status_.not_seen.push_back(std::move(what)); }

    Broker& broker_;
    const core::Policy& policy_;
    const core::BrokerFeatures features_;
    std::set<std::string> work_queues_;
    std::string refusal_;
    Status status_;
};

}  // namespace

std::int64_t waiting(const std::vector<RungDepth>& rungs) {
    std::int64_t sum = 0;
    for (const RungDepth& rung : rungs)
        sum += rung.depth.messages.value_or(0);
    return sum;
}

std::int64_t weight(const WorkQueueStatus& queue) {
    return waiting(queue.rungs) + (queue.parked ? queue.parked->messages.value_or(0) : 0);
}

Status collect_status(Broker& broker, const core::Policy& policy, const DaemonAnswer& daemon) {
    return Stocktaking(broker, policy, daemon).take();
}

}  // namespace retryd::commands
