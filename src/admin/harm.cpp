#include "admin/harm.h"

#include <algorithm>
#include <array>

#include "core/names.h"
#include "core/topology.h"

namespace retryd::admin {

namespace {

enum class OwnQueue { rung, detour, other };

/// A key that does harm when a policy sets it on a queue of ours, and what it does.
struct HarmfulKey {
    const char* key;
    const char* to_rung;    // null: none
    const char* to_detour;  // the same
    const char* to_other;   // error queue, catch-all and parking queues

    const char* to(OwnQueue kind) const {
        return kind == OwnQueue::rung ? to_rung : kind == OwnQueue::detour ? to_detour : to_other;
    }
};

constexpr const char* dropped_when_full =
    "when it is full, messages are thrown away, returned too early, or refused and held in the error queue";
constexpr const char* deleted_with_all =
    "the broker deletes the queue, with all that is in it, when it was not used for that long";
constexpr const char* thrown_away_when_full = "when it is full, messages are thrown away or refused";

constexpr std::array harmful_keys{
    HarmfulKey{"expires", "the broker deletes the rung, with all that waits on it, when it was not used for that long",
               deleted_with_all, deleted_with_all},
    HarmfulKey{
        "message-ttl",
        "what waits there returns to its work queue before its delay is over, where that time is the shorter one",
        "what waits there is tried again more often than it need be, where that time is the shorter one",
        "what stays there longer is thrown away, or parked by the broker as expired"},
    HarmfulKey{"max-length", dropped_when_full, dropped_when_full, thrown_away_when_full},
    HarmfulKey{"max-length-bytes", dropped_when_full, dropped_when_full, thrown_away_when_full},
    HarmfulKey{"delivery-limit", nullptr, nullptr,
               "a message that was looked at that often is thrown away, or parked by the broker"},
    HarmfulKey{
        "overflow",
        "the return to the work queue is at-most-once, and what the broker keeps for a queue that is full or gone is "
        "lost",
        "the return to the error queue is at-most-once", "its own dead-lettering is at-most-once"},
};

OwnQueue kind_of_queue(const std::string& name) {
    if (core::looks_like_detour(name)) return OwnQueue::detour;
    return core::looks_like_rung(name) || core::looks_like_shared_rung(name) ? OwnQueue::rung : OwnQueue::other;
}

/// A policy may say what does no harm.
bool is_harmless(const std::string& key, const std::string& value, const QueuePolicies& queue, bool error_queue) {
    if (key == "delivery-limit") {
        // A limit that is too high for the error queue is the matter of check_error_queue().
        const bool high =
            error_queue ? number_of(value).value_or(0) >= core::error_delivery_limit : is_high_limit(value);
        return high || value.starts_with('-') || queue.type != "quorum";
    }
    // Of a classic queue the argument wins, and the default drops nothing where nothing is limited.
    if (key == "overflow") return value == "\"reject-publish\"" || queue.type != "quorum";
    return false;
}

}  // namespace

bool is_retryds(const core::Policy& policy, const QueuePolicies& queue) {
    const std::string& name = queue.name;
    if (name == policy.error_queue || core::is_parking_queue(policy, name) || core::is_detour(name)) return true;
    if (core::work_queue_held_in(policy, name, queue.arguments)) return true;
    const auto rung = core::parse_rung(name, queue.arguments);
    return rung && std::any_of(policy.entries.begin(), policy.entries.end(), [&](const core::Entry& entry) {
               return rung->return_path == core::ReturnPath::queue ? core::glob_matches(entry.match, rung->serves)
                                                                   : entry.ladder.name == rung->serves;
           });
}

Harm harm_of(const core::Definition& definition, const QueuePolicies& queue, const std::string& error_queue) {
    Harm harm{"", "", definition};
    for (const HarmfulKey& harmful : harmful_keys) {
        const char* does = harmful.to(kind_of_queue(queue.name));
        const auto set = definition.find(harmful.key);
        if (does == nullptr || set == definition.end()) continue;
        if (is_harmless(harmful.key, set->second, queue, queue.name == error_queue)) continue;
        harm.settings.append(harm.settings.empty() ? "" : ", ").append(set->first + ' ' + set->second);
        harm.consequence.append(harm.consequence.empty() ? "" : "; ").append(does);
        harm.rest.erase(harmful.key);
    }
    return harm;
}

}  // namespace retryd::admin
