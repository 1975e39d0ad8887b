#include "admin/work_queues.h"

#include <algorithm>
#include <set>
#include <utility>

#include "admin/dead_letter_path.h"
#include "core/names.h"
#include "core/policy.h"
#include "core/topology.h"

namespace retryd::admin {

namespace {

/// Shared rungs do not tell which work queue they serve.
bool has_own_rung(const core::Ladder& ladder, const std::string& work_queue, const std::set<std::string>& queues) {
    if (ladder.return_path == core::ReturnPath::headers) return false;
    const auto delays = core::distinct_delays(ladder);
    return std::any_of(delays.begin(), delays.end(), [&](core::Milliseconds delay) {
        return queues.contains(core::rung_name_of(ladder, work_queue, delay, false));
    });
}

}  // namespace

std::vector<std::string> configured_work_queues(const core::Policy& policy) {
    std::vector<std::string> names;
    for (const core::Entry& entry : policy.entries) {
        if (!core::is_glob(entry.match) && core::match(policy, entry.match) == &entry) names.push_back(entry.match);
    }
    return names;
}

std::vector<std::string> work_queues_in_use(const core::Policy& policy, const core::BrokerFeatures& features,
                                            const std::vector<std::string>& queues) {
    const std::set<std::string> there(queues.begin(), queues.end());
    std::vector<std::string> found;
    for (const std::string& name : there) {
        const core::Entry* entry = core::match(policy, name);
        if (entry == nullptr) continue;
        const bool parks = there.contains(core::parking_queue_of(entry->parked, name, features));
        if (parks || has_own_rung(entry->ladder, name, there)) found.push_back(name);
    }
    return found;
}

namespace {

/// A delay queue: messages expire in it and are dead-lettered by an argument. It is not meant to be consumed.
bool delays(const core::Policy& policy, const QueuePolicies& queue, const EffectivePolicy& effective) {
    const Setting exchange = effective.dead_letter_exchange(queue);
    return exchange.source == Source::argument && !leads_to_error_queue(policy, exchange.value) &&
           effective.value(queue, "message-ttl").source != Source::none;
}

}  // namespace

std::string why_plumbing(const core::Policy& policy, const QueuePolicies& queue, const EffectivePolicy& effective) {
    if (queue.exclusive) return "is exclusive: it goes with its connection";
    if (queue.auto_delete) return "is auto-delete: it goes with its last consumer";
    if (effective.value(queue, "expires").source != Source::none)
        return "expires: it goes when nobody has used it for a while";
    if (core::is_known_plumbing(queue.name)) return "is called as those that a framework keeps for itself";
    if (delays(policy, queue, effective)) {
        return "only delays: it has a TTL, and its argument x-dead-letter-exchange " +
               effective.dead_letter_exchange(queue).value + " sends on what has waited";
    }
    return "";
}

std::string glob_that_names(const core::Policy& policy, const std::string& queue) {
    for (const core::Entry& entry : policy.entries) {
        if (!core::glob_matches(entry.match, queue)) continue;
        return core::is_glob(entry.match) ? entry.match : "";
    }
    return "";
}

std::vector<PlumbingQueue> plumbing_under_globs(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    const EffectivePolicy effective(vhost_policies);
    std::vector<PlumbingQueue> found;
    for (const QueuePolicies& queue : vhost_policies.queues) {
        const bool others = queue.type == "stream" || queue.name.starts_with("amq.") ||
                            core::is_own_queue(policy, queue.name) ||
                            (!policy.sources.empty() && core::is_source(policy, queue.name));
        if (others) continue;
        std::string glob = glob_that_names(policy, queue.name);
        if (glob.empty()) continue;
        std::string why = why_plumbing(policy, queue, effective);
        if (!why.empty()) found.push_back({queue.name, std::move(glob), std::move(why)});
    }
    return found;
}

}  // namespace retryd::admin
