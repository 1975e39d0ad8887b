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

namespace {

/// Of a rung that no entry asks for any more: whether retryd made it. Others may call their queue so and return from it
/// as a classic rung does, but not through retryd's own exchange, nor with everything that a quorum rung is declared
/// with.
bool is_beyond_doubt(const core::ParsedRung& rung, const QueuePolicies& queue) {
    return rung.return_path == core::ReturnPath::headers ||
           (argument(queue, "dead-letter-strategy") == "\"at-least-once\"" &&
            argument(queue, "overflow") == "\"reject-publish\"");
}

/// Whether it has the name of the parking queue of a work queue with a long name that a glob matches: what the glob
/// would be compared with was cut off.
bool is_shortened_parking(const core::Entry& entry, std::string_view name) {
    constexpr std::size_t hash = 17;                                        // ~3b5ad17216035bad
    constexpr std::size_t shortest_of_them = core::longest_queue_name - 3;  // no character is cut in two
    const std::string_view pattern = entry.parked.queue;
    const std::size_t at = pattern.find(core::queue_placeholder);
    if (at == std::string_view::npos || !core::is_glob(entry.match) || name.size() < shortest_of_them) return false;
    const std::string_view after = pattern.substr(at + core::queue_placeholder.size());
    if (!name.starts_with(pattern.substr(0, at)) || !name.ends_with(after)) return false;
    name.remove_prefix(at);
    name.remove_suffix(after.size());
    if (name.size() <= hash || name[name.size() - hash] != '~') return false;
    if (name.find_first_not_of("0123456789abcdef", name.size() - hash + 1) != std::string_view::npos) return false;
    return name.starts_with(std::string_view{entry.match}.substr(0, entry.match.find_first_of("*?")));
}

}  // namespace

bool is_retryds(const core::Policy& policy, const QueuePolicies& queue) {
    const std::string& name = queue.name;
    if (name == policy.error_queue || core::is_parking_queue(policy, name) || core::is_detour(name)) return true;
    if (core::work_queue_held_in(policy, name, queue.arguments)) return true;
    const auto rung = core::parse_rung(name, queue.arguments);
    if (!rung) {
        return std::any_of(policy.entries.begin(), policy.entries.end(),
                           [&](const core::Entry& entry) { return is_shortened_parking(entry, name); });
    }
    return is_beyond_doubt(*rung, queue) ||
           std::any_of(policy.entries.begin(), policy.entries.end(),
                       [&](const core::Entry& entry) { return core::glob_matches(entry.match, rung->serves); });
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
