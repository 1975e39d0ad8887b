#include "daemon/inventory.h"

#include <set>

#include "core/made_rung.h"
#include "core/names.h"
#include "core/wanted.h"

namespace retryd::daemon {
namespace {

using Role = telemetry::Depth::Role;

class Taking {
  public:
    Taking(const core::Policy& policy, const core::BrokerFeatures& features) : policy_(policy), features_(features) {}

    void configured() {
        for (const core::Wanted& wanted : core::wanted(policy_, features_)) {
            if (const auto* queue = std::get_if<core::QueueSpec>(&wanted.item)) keep_wanted(wanted, *queue);
        }
        for (const core::Entry& entry : policy_.entries) {
            if (!core::is_glob(entry.match)) work_queues_.insert(entry.match);
        }
    }

    void met(const telemetry::QueueCounts& met) {
        if (met.work_queue == telemetry::other_queues || met.work_queue == telemetry::no_queue) return;
        if (core::match(policy_, met.work_queue) == nullptr) return;
        work_queues_.insert(met.work_queue);
        for (const telemetry::Count& count : met.counts) {
            if (count.target.empty()) continue;
            if (count.role == relay::Role::parking) keep(count.target, {Role::parked, {}, "", false});
            if (count.role != relay::Role::rung) continue;
            const bool shared = core::looks_like_shared_rung(count.target);
            keep(count.target, {Role::rung, count.delay, shared ? ladder_of(met.work_queue) : met.work_queue, shared});
        }
    }

    void listed(const ListedQueues& listed) {
        std::set<std::string_view> names;
        for (const auto& [name, arguments] : listed)
            names.insert(name);
        for (const auto& [name, arguments] : listed) {
            if (const auto rung = core::made_rung(name, arguments)) {
                const bool shared = rung->return_path == core::ReturnPath::headers;
                keep(name, {Role::rung, rung->delay, rung->serves, shared});
                if (!shared) add_work_queue(rung->serves, names);
            } else {
                add_parking_of(name, names);
            }
        }
    }

    Inventory inventory() && { return {std::move(queues_), {work_queues_.begin(), work_queues_.end()}}; }

  private:
    void keep(const std::string& name, KeptQueue queue) {
        if (queues_.size() < most_kept_queues) queues_.try_emplace(name, std::move(queue));
    }

    void keep_wanted(const core::Wanted& wanted, const core::QueueSpec& queue) {
        switch (wanted.role) {
            case core::Wanted::Role::error_queue:
                return keep(queue.name, {Role::errors, {}, "", false});
            case core::Wanted::Role::rung:
                return keep(queue.name, {Role::rung, delay_of(queue), rung_serves(wanted), wanted.work_queue.empty()});
            default:
                return keep(queue.name, {Role::parked, {}, "", false});
        }
    }

    static std::string rung_serves(const core::Wanted& wanted) {
        return wanted.work_queue.empty() ? wanted.ladder : wanted.work_queue;
    }

    static core::Milliseconds delay_of(const core::QueueSpec& queue) {
        for (const auto& [name, value] : queue.arguments) {
            if (name == "x-message-ttl") return core::Milliseconds{std::get<std::int64_t>(value)};
        }
        return {};
    }

    std::string ladder_of(const std::string& work_queue) const { return core::match(policy_, work_queue)->ladder.name; }

    void add_work_queue(const std::string& name, const std::set<std::string_view>& there) {
        if (core::match(policy_, name) == nullptr) return;
        work_queues_.insert(name);
        add_parking_of(name, there);
    }

    /// Where that work queue parks, if it has parked already.
    void add_parking_of(const std::string& work_queue, const std::set<std::string_view>& there) {
        const core::Entry* entry = core::match(policy_, work_queue);
        if (entry == nullptr || !entry->parked.exchange.empty()) return;
        const std::string parking = core::parking_queue_of(entry->parked, work_queue, features_);
        if (there.count(parking) == 0) return;
        if (core::expand_queue(entry->parked.queue, "") != entry->parked.queue) work_queues_.insert(work_queue);
        keep(parking, {Role::parked, {}, "", false});
    }

    const core::Policy& policy_;
    const core::BrokerFeatures& features_;
    std::map<std::string, KeptQueue> queues_;
    std::set<std::string> work_queues_;
};

}  // namespace

Inventory take_inventory(const core::Policy& policy, const core::BrokerFeatures& features, const Seen& seen) {
    Taking taking(policy, features);
    taking.configured();
    for (const telemetry::QueueCounts& met : seen.met)
        taking.met(met);
    taking.listed(seen.listed);
    return std::move(taking).inventory();
}

}  // namespace retryd::daemon
