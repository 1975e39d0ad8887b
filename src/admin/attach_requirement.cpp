#include "admin/attach_requirement.h"

#include <algorithm>
#include <set>
#include <utility>

#include "admin/own_policies.h"
#include "core/names.h"
#include "core/policy.h"
#include "core/safe_text.h"

namespace retryd::admin {

std::string_view to_string(AttachState::State state) {
    switch (state) {
        case AttachState::State::attached:
            return "attached";
        case AttachState::State::to_attach:
            return "to attach";
        case AttachState::State::out_of_reach:
            return "out of reach";
        case AttachState::State::by_source:
            return "by source";
        case AttachState::State::not_there:
            break;
    }
    return "not there";
}

namespace {

using State = AttachState::State;

constexpr const char* at_least_once = "\"at-least-once\"";
constexpr const char* reject_publish = "\"reject-publish\"";

AttachRequirement out_of_reach(FindingCode finding, std::string note, std::string remedy) {
    return {State::out_of_reach, {}, "", std::move(note), std::move(remedy), finding};
}

/// The item to add to `errors.bind`; empty if no binding helps.
std::string remedy_by_binding(const DeadLetterPaths& paths, const QueuePolicies& queue, const std::string& exchange,
                              const core::Policy& policy, const EffectivePolicy& effective) {
    const std::string item = "{exchange: " + core::json_string(exchange) + "}";
    const std::string bind = "name that exchange in errors.bind, ";
    if (paths.graph().type_of(exchange) != "direct") return bind + item;
    const DeadLetterKeys keys = dead_letter_keys(queue, effective, paths.graph(), returns_by_name(policy, queue.name));
    if (keys.any || !can_be_bound("direct", keys.keys)) {
        return bind + "with each key that its messages have, {exchange: " + core::json_string(exchange) +
               ", routing_key: KEY}";
    }
    return bind + bind_items(exchange, keys.keys);
}

/// Nothing can be bound to the default exchange, but the queue that it leads to can be consumed as a source.
std::string remedy_by_source(const VhostPolicies& vhost_policies, const core::Policy& policy,
                             const QueuePolicies& queue, const EffectivePolicy& effective) {
    const auto key = text_of(effective.value(queue, "dead-letter-routing-key").value);
    if (!key || *key == queue.name || core::is_own_queue(policy, *key)) return "";
    const bool there = std::any_of(vhost_policies.queues.begin(), vhost_policies.queues.end(),
                                   [&](const QueuePolicies& each) { return each.name == *key; });
    return there ? "have retryd consume the queue that it leads to, sources: [{queue: " + core::json_string(*key) +
                       ", dialect: generic}]"
                 : "";
}

/// The sources that its dead letters reach; none if one of them may reach no source.
std::set<std::string> sources_behind(const QueuePolicies& queue, const std::string& exchange,
                                     const DeadLetterPaths& paths, const core::Policy& policy,
                                     const VhostPolicies& vhost_policies) {
    const DeadLetterKeys keys =
        dead_letter_keys(queue, EffectivePolicy(vhost_policies), paths.graph(), returns_by_name(policy, queue.name));
    std::set<std::string> found;
    if (keys.any || (!exchange.empty() && !vhost_policies.routing)) return found;
    for (const RoutingKey& key : keys.keys) {
        // The default exchange routes to the queue that is called like the key.
        const Reached reached = exchange.empty() ? Reached{{key.text}} : paths.graph().reached(exchange, key);
        const std::size_t before = found.size();
        for (const QueuePolicies& each : vhost_policies.queues) {
            if (each.name != queue.name && reached.queues.contains(each.name) && core::source_of(policy, each.name))
                found.insert(each.name);
        }
        if (found.size() == before) return {};
    }
    return found;
}

/// The requirement if the broker dead-letters its rejected messages into a source instead of into the error queue.
std::optional<AttachRequirement> attached_by_source(const QueuePolicies& queue, const Setting& exchange,
                                                    const DeadLetterPaths& paths, const core::Policy& policy,
                                                    const VhostPolicies& vhost_policies) {
    const auto name = exchange.source == Source::none ? std::nullopt : text_of(exchange.value);
    if (policy.sources.empty() || !name) return std::nullopt;
    const std::set<std::string> sources = sources_behind(queue, *name, paths, policy, vhost_policies);
    if (sources.empty()) return std::nullopt;
    return AttachRequirement{
        State::attached, {}, "", "what it rejects comes by source " + core::quoted(*sources.begin()), "", std::nullopt};
}

AttachRequirement fixed_by_argument(const QueuePolicies& queue, const std::string& exchange_json,
                                    const DeadLetterPaths& paths, const core::Policy& policy,
                                    const VhostPolicies& vhost_policies) {
    const EffectivePolicy effective(vhost_policies);
    const std::string recreate = "recreate the queue without x-dead-letter-exchange";
    const std::string note =
        "its dead-letter exchange " + exchange_json + " is fixed by argument, and no policy overrides that";
    std::string instead;
    if (effective.value(queue, "message-ttl").source != Source::none) {
        instead = "take it out of the configuration if it only lets messages wait for its TTL";
    } else if (!vhost_policies.routing || !text_of(exchange_json)) {
        if (exchange_json != "\"\"") instead = "name that exchange in errors.bind, {exchange: " + exchange_json + "}";
    } else if (exchange_json == "\"\"") {
        instead = remedy_by_source(vhost_policies, policy, queue, effective);
    } else {
        instead = remedy_by_binding(paths, queue, *text_of(exchange_json), policy, effective);
    }
    return out_of_reach(FindingCode::fixed_dead_letter_exchange, note,
                        instead.empty() ? recreate : instead + ", or " + recreate);
}

/// "messages with the key …", or with one of several.
std::string keys_named(const std::set<RoutingKey>& keys) {
    std::string text = keys.size() == 1 ? "the routing key " : "the routing keys ";
    const char* between = "";
    for (const RoutingKey& key : keys) {
        text.append(between).append(core::quoted(key.text));
        between = ", ";
    }
    return text;
}

/// Adds the note about an exchange of errors.bind whose bindings do not match the keys of the queue's dead letters.
void add_unmatched(AttachRequirement& required, const DeadLetterPath& path, const std::string& exchange) {
    if (path.missing.empty() && !path.keys_unknown) return;
    const std::string subject =
        "its dead-letter exchange " + core::json_string(exchange) + " is a " + path.exchange_type + " exchange";
    required.finding = FindingCode::unmatched_dead_letters;
    if (path.keys_unknown || !can_be_bound(path.exchange_type, path.missing)) {
        required.state = State::out_of_reach;
        required.note =
            subject + ", which takes no wildcards, and with which routing keys its messages come nothing tells";
        required.remedy = "name each of them in errors.bind, {exchange: " + core::json_string(exchange) +
                          ", routing_key: KEY}, or recreate the queue with an x-dead-letter-routing-key";
        return;
    }
    required.state = State::to_attach;
    required.note = subject + ", and the error queue is not bound to it with " + keys_named(path.missing);
    required.remedy =
        "retryd attach --apply binds it, with the keys of all. Have them in errors.bind as well, so that "
        "it is bound again when the exchange has been declared again: " +
        bind_items(exchange, path.missing);
    for (const RoutingKey& key : path.missing)
        required.bindings.push_back({exchange, key.text});
}

class QuorumRequirement {
  public:
    QuorumRequirement(const QueuePolicies& queue, const EffectivePolicy& effective)
        : limited_(effective.is_limited(queue)),
          overflow_(effective.quorum_overflow(queue)),
          strategy_(effective.dead_letter_strategy(queue)) {}

    void add_to(AttachRequirement& required) const {
        if (say_why_not(required)) return;
        if (strategy_.value != at_least_once) required.keys["dead-letter-strategy"] = at_least_once;
        if (overflow_.value != reject_publish) required.keys["overflow"] = reject_publish;
    }

  private:
    /// True if the policy will not make its dead-lettering at-least-once.
    bool say_why_not(AttachRequirement& required) const {
        const auto say = [&](const std::string& why, const std::string& remedy) {
            required.note = "its way to the error queue is at-most-once: " + why;
            required.remedy = remedy;
            required.finding = FindingCode::at_most_once;
            return true;
        };
        if (strategy_.source == Source::argument && strategy_.value != at_least_once) {
            return say("x-dead-letter-strategy is fixed by argument", "recreate the queue without it");
        }
        if (overflow_.value == reject_publish) return false;
        if (overflow_.source != Source::none) {
            return say("at-least-once needs overflow reject-publish, and " + set_by(overflow_.source) + " says " +
                           overflow_.value,
                       "change that there if publishers may be refused when the queue is full");
        }
        if (!limited_) return false;
        return say(
            "at-least-once needs overflow reject-publish, but its length is limited, and publishers would be refused "
            "where now the oldest messages are dropped",
            "set overflow by yourself if they may be");
    }

    static std::string set_by(Source source) {
        if (source == Source::argument) return "its argument x-overflow";
        return source == Source::policy ? "its policy" : "an operator policy";
    }

    bool limited_;
    Setting overflow_;
    Setting strategy_;
};

/// Left out by its entry: nothing is required. If something is wrong nevertheless, `doctor` reports it
/// (admin/by_source.h).
AttachRequirement left_out(const QueuePolicies& queue, const core::Policy& policy, bool ours) {
    AttachRequirement required;
    required.state = State::by_source;
    required.note = "its failures come by a source alone";
    if (!core::may_come_by_source(policy, queue.name)) {
        required.note += ", and no source can name it";
        required.remedy = "retryd doctor tells what to do (no-source)";
    } else if (ours) {
        required.note += ", and it dead-letters to the error queue all the same";
        required.remedy = "retryd doctor tells how to end that (comes-twice)";
    }
    return required;
}

}  // namespace

AttachRequirement requirement_of(const QueuePolicies& queue, const core::Policy& policy,
                                 const VhostPolicies& vhost_policies, const DeadLetterPaths& paths) {
    if (queue.type != "classic" && queue.type != "quorum") {
        return out_of_reach(FindingCode::stream_queue, "a " + queue.type + " queue cannot dead-letter",
                            "take it out of the configuration");
    }
    const EffectivePolicy effective(vhost_policies);
    const Setting exchange = effective.dead_letter_exchange(queue);
    const bool ours = exchange.source != Source::none && leads_to_error_queue(policy, exchange.value);
    if (core::comes_by_source_alone(policy, queue.name)) return left_out(queue, policy, ours);
    if (!ours) {
        if (auto attached = attached_by_source(queue, exchange, paths, policy, vhost_policies)) return *attached;
    }
    if (exchange.source == Source::argument && !ours) {
        return fixed_by_argument(queue, exchange.value, paths, policy, vhost_policies);
    }
    AttachRequirement required;
    if (!ours) {
        required.keys["dead-letter-exchange"] = core::json_string(policy.error_exchange);
        required.taken_from = exchange.value;
    }
    if (queue.type == "quorum" && features_of(vhost_policies.version).quorum_ttl) {
        QuorumRequirement(queue, effective).add_to(required);
    }
    if (!required.keys.empty()) required.state = State::to_attach;
    const auto by = ours ? text_of(exchange.value) : std::nullopt;
    if (!by || *by == policy.error_exchange) return required;
    if (const auto path = paths.path(queue, *by)) add_unmatched(required, *path, *by);
    return required;
}

}  // namespace retryd::admin
