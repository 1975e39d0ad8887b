#include "admin/attach_hints.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "admin/dead_letter_way.h"
#include "admin/finding.h"
#include "admin/framework_retries.h"
#include "admin/work_queues.h"
#include "core/names.h"
#include "core/policy.h"
#include "core/safe_text.h"

namespace retryd::admin {

namespace {

constexpr std::size_t most_names = 10;

/// By what its consumers may tell messages apart; empty where there is nothing.
std::string keys_of(const std::string& queue, const Ways& ways) {
    std::vector<std::string> keys;
    std::set<std::string> known;
    bool pattern = false;
    for (const BrokerBinding* const binding : ways.bindings_to(queue)) {
        const std::string type = ways.type_of(binding->source);
        if (type != "topic" && type != "direct") continue;
        if (known.insert(binding->routing_key).second) keys.push_back(binding->routing_key);
        pattern = pattern || (type == "topic" && binding->routing_key.find_first_of("*#") != std::string::npos);
    }
    return keys.size() > 1 || pattern ? folded(keys, most_names) : "";
}

/// Whether an entry of queues that it may serve says already that they are left out.
bool is_said(const core::Policy& policy, const core::Source& source) {
    return std::any_of(policy.entries.begin(), policy.entries.end(), [&](const core::Entry& entry) {
        return entry.failures == core::FailuresBy::source &&
               (core::is_glob(entry.match) || core::may_name(source, entry.match));
    });
}

/// Its worker rejects as well what it has put into the failure transport (Symfony\Component\Messenger\Worker::ack), and
/// nothing on the broker tells which work queues are its own. A work queue that the source names is not left out by
/// itself: the source may only be there to be emptied.
void add_failure_transports(const core::Policy& policy, std::vector<std::string>& hints) {
    for (const core::Source& source : policy.sources) {
        if (source.dialect != core::Dialect::symfony || is_said(policy, source)) continue;
        const bool named = source.work_queue.place == core::WorkQueueOf::Place::name;
        hints.push_back(
            "source " + core::quoted(source.queue) +
            " is a failure transport of Symfony Messenger, whose workers also reject what they put there: "
            "with a dead-letter exchange on their work queue retryd gets each failure twice, and one message "
            "that always fails becomes two, and these four. Say failures: source in the " +
            (named ? "entry of " + core::quoted(source.work_queue.text) : std::string{"entries of their work queues"}) +
            ": attach leaves out what says so");
    }
}

}  // namespace

std::vector<std::string> attach_hints(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    std::vector<std::string> hints;
    for (const Finding& each : grouped(check_framework_retries(policy, vhost_policies)))
        hints.push_back(each.cause + " (" + std::string{kind_of(each.code).name} + "): " + each.consequence +
                        ". Remedy: " + each.remedy);
    add_failure_transports(policy, hints);
    std::map<std::string, std::vector<PlumbingQueue>> left_out;
    std::set<std::string> plumbing;
    for (PlumbingQueue& each : plumbing_under_globs(policy, vhost_policies)) {
        plumbing.insert(each.queue);
        left_out[each.glob].push_back(std::move(each));
    }
    if (vhost_policies.routing) {
        const Ways ways(*vhost_policies.routing);
        for (const QueuePolicies& queue : vhost_policies.queues) {
            const bool by_name =
                returns_by_name(policy, queue.name) && queue.type != "stream" && !plumbing.contains(queue.name);
            const std::string keys = by_name ? keys_of(queue.name, ways) : "";
            if (keys.empty()) continue;
            hints.push_back("queue " + core::quoted(queue.name) + " is bound with the keys " + keys +
                            ": if its consumers tell messages apart by the routing key, give it a ladder with "
                            "`return: headers`. Without that a message comes back with the routing key " +
                            core::quoted(queue.name) + ", and its own in the header retryd-routing-key");
        }
    }
    for (const auto& [glob, queues] : left_out) {
        std::vector<std::string> names;
        for (const PlumbingQueue& each : queues)
            names.push_back(each.queue);
        hints.push_back("glob " + core::quoted(glob) + " leaves out " + folded(names, most_names) + ": the first " +
                        queues.front().why + ". An entry with the very name of a queue, before the glob, takes it");
    }
    return hints;
}

}  // namespace retryd::admin
