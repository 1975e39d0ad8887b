#include "admin/plumbing.h"

#include <utility>

#include "admin/dead_letter_way.h"
#include "core/names.h"
#include "core/plumbing.h"
#include "core/source_queues.h"

namespace retryd::admin {

namespace {

/// A queue with a TTL whose argument sends what has waited on: nobody is to consume it.
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
