#include "core/topology.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/names.h"

namespace retryd::core {
namespace {

constexpr const char* delivery_limit = "x-delivery-limit";
constexpr const char* overflow = "x-overflow";

void add_type(Arguments& arguments, QueueType type) {
    // Always said: a vhost's default_queue_type (3.11 and later) would fill it in otherwise.
    arguments.emplace_back("x-queue-type", std::string{to_string(type)});
}

/// Where dead letters go; without a routing key they keep their own.
struct DeadLetters {
    std::string_view exchange;
    std::optional<std::string_view> routing_key;
};

/// Kept until the target has confirmed, where the broker can do that.
void add_dead_letters(Arguments& arguments, const DeadLetters& to, QueueType type, const BrokerFeatures& features) {
    arguments.emplace_back("x-dead-letter-exchange", std::string{to.exchange});
    if (to.routing_key) arguments.emplace_back("x-dead-letter-routing-key", std::string{*to.routing_key});
    if (type == QueueType::quorum && features.quorum_ttl) {
        arguments.emplace_back("x-dead-letter-strategy", "at-least-once");
        arguments.emplace_back(overflow, "reject-publish");
    }
}

/// RabbitMQ 4 would otherwise throw out what was looked at 21 times. Not -1, which means unlimited there: see
/// BrokerFeatures::unlimited_queue_never_rests.
void add_high_delivery_limit(QueueSpec& spec, QueueType type, const BrokerFeatures& features) {
    if (type != QueueType::quorum || !features.default_delivery_limit) return;
    spec.arguments.emplace_back(delivery_limit, high_delivery_limit);
    spec.optional_arguments.emplace_back(delivery_limit);
    spec.older.push_back({delivery_limit, -1, features.unlimited_queue_never_rests});
}

/// One that a message which cannot be delivered reaches, on every version: else it would stay at the head for ever.
void add_reachable_delivery_limit(QueueSpec& spec, QueueType type) {
    if (type != QueueType::quorum) return;
    spec.arguments.emplace_back(delivery_limit, error_delivery_limit);
    spec.optional_arguments.emplace_back(delivery_limit);
    spec.older.push_back({delivery_limit, high_delivery_limit, true});
    spec.older.push_back({delivery_limit, -1, true});
}

/// If a policy sets a limit, the queue then refuses what comes, and throws nothing out. RabbitMQ 3.8.9 does not know
/// that of quorum queues (406 invalid arg 'x-overflow', seen there).
void add_refusal_when_full(QueueSpec& spec, const BrokerFeatures& features) {
    if (!features.quorum_ttl) return;
    spec.arguments.emplace_back(overflow, "reject-publish");
    spec.optional_arguments.emplace_back(overflow);
}

QueueSpec rung_queue(std::string name, QueueType wanted, Milliseconds delay, const DeadLetters& to,
                     const BrokerFeatures& features) {
    const QueueType type = features.quorum_ttl ? wanted : QueueType::classic;
    QueueSpec spec{std::move(name), {}, {}};
    add_type(spec.arguments, type);
    spec.arguments.emplace_back("x-message-ttl", std::int64_t{delay.count()});
    add_dead_letters(spec.arguments, to, type, features);
    return spec;
}

using ItemRole = DesiredItem::ItemRole;

struct NameOf {
    std::string operator()(const ExchangeSpec& exchange) const { return exchange.name; }
    std::string operator()(const QueueSpec& queue) const { return queue.name; }
    std::string operator()(const BindingSpec& binding) const { return binding.exchange + " → " + binding.queue; }
    std::string operator()(const ForeignExchange& exchange) const { return exchange.name; }
};

/// What no two items share.
std::string identity_of(const TopologyItem& item) {
    std::string identity = std::to_string(item.index()) + '\n' + name_of(item);
    if (const auto* binding = std::get_if<BindingSpec>(&item)) identity += '\n' + binding->routing_key;
    return identity;
}

/// A rung's topology is made of these, whatever its ladder returns by.
ItemRole role_in_rung(const TopologyItem& item) {
    if (std::holds_alternative<QueueSpec>(item)) return ItemRole::rung;
    if (std::holds_alternative<BindingSpec>(item)) return ItemRole::rung_binding;
    const auto* exchange = std::get_if<ExchangeSpec>(&item);
    return exchange != nullptr && exchange->name == return_exchange_name ? ItemRole::return_exchange
                                                                         : ItemRole::rung_exchange;
}

/// Gathers what a policy wants, each item once.
class DesiredTopology {
  public:
    DesiredTopology(const Policy& policy, const BrokerFeatures& features) : policy_(policy), features_(features) {}

    void add_base() {
        for (const TopologyItem& item : base_topology(policy_, features_))
            add({role_in_base(item), "", "", item});
        for (const Milliseconds delay : detour_delays)
            add({ItemRole::detour, "", "", detour_spec(policy_, delay, features_)});
        for (const ErrorBinding& from : policy_.error_bindings)
            add({ItemRole::error_binding, "", "", error_binding(policy_, from)});
    }

    void add_entry(const Entry& entry) {
        const bool shared = entry.ladder.return_path == ReturnPath::headers;
        const bool glob = is_glob(entry.match);
        if (shared || !glob) add_rungs(entry, shared);
        if (!glob || !parking_depends_on_queue(entry.parked)) add_parking(entry);
        if (!glob && may_hold(entry)) add({ItemRole::held, entry.match, "", held_queue_spec(entry.match, features_)});
        if (shared && !glob) add({ItemRole::return_binding, entry.match, "", return_binding(entry.match)});
    }

    std::vector<DesiredItem> found;

  private:
    ItemRole role_in_base(const TopologyItem& item) const {
        if (std::holds_alternative<BindingSpec>(item)) return ItemRole::error_binding;
        const auto* queue = std::get_if<QueueSpec>(&item);
        if (queue == nullptr) return ItemRole::error_exchange;
        return queue->name == policy_.error_queue ? ItemRole::error_queue : ItemRole::catch_all;
    }

    void add_rungs(const Entry& entry, bool shared) {
        for (const Milliseconds delay : distinct_delays(entry.ladder)) {
            for (TopologyItem& item : rung_topology(policy_, entry.ladder, entry.match, delay, false, features_)) {
                DesiredItem rung{role_in_rung(item), "", "", std::move(item)};
                if (rung.role != ItemRole::return_exchange)
                    (shared ? rung.ladder : rung.work_queue) = shared ? entry.ladder.name : entry.match;
                add(std::move(rung));
            }
        }
    }

    void add_parking(const Entry& entry) {
        for (TopologyItem& item : parking_topology(entry.parked, entry.match, features_)) {
            const bool theirs = std::holds_alternative<ForeignExchange>(item);
            add({theirs ? ItemRole::parking_exchange : ItemRole::parking, entry.match, "", std::move(item)});
        }
    }

    void add(DesiredItem item) {
        if (seen_.insert(identity_of(item.item)).second) found.push_back(std::move(item));
    }

    const Policy& policy_;
    const BrokerFeatures& features_;
    std::set<std::string> seen_;
};

}  // namespace

bool is_limited(const QueueSpec& queue) {
    const std::pair<std::string, Argument> limit{delivery_limit, error_delivery_limit};
    return std::find(queue.arguments.begin(), queue.arguments.end(), limit) != queue.arguments.end();
}

QueueSpec error_queue_spec(const Policy& policy, const BrokerFeatures& features) {
    QueueSpec spec{policy.error_queue, {}, {}};
    add_type(spec.arguments, policy.error_queue_type);
    add_dead_letters(spec.arguments, {"", policy.catch_all}, policy.error_queue_type, features);
    add_reachable_delivery_limit(spec, policy.error_queue_type);
    return spec;
}

QueueSpec parking_queue_spec(std::string name, const BrokerFeatures& features) {
    QueueSpec spec{std::move(name), {}, {}};
    add_type(spec.arguments, QueueType::quorum);
    add_refusal_when_full(spec, features);
    add_high_delivery_limit(spec, QueueType::quorum, features);
    return spec;
}

QueueSpec held_queue_spec(std::string_view work_queue, const BrokerFeatures& features) {
    QueueSpec spec = parking_queue_spec(held_name(work_queue, features.longest_quorum_name), features);
    spec.arguments.emplace_back(single_active_consumer, true);
    return spec;
}

namespace {

/// Of each that differs by what is declared for held messages.
std::array<BrokerFeatures, 3> features_of_ages() {
    return {features_of({3, 8, 0}), features_of({3, 10, 0}), features_of({4, 0, 0})};
}

}  // namespace

bool looks_like_held_queue(std::string_view queue, const Arguments& arguments) {
    if (!queue.ends_with(held_suffix)) return false;
    const auto ages = features_of_ages();
    return std::any_of(ages.begin(), ages.end(), [&](const BrokerFeatures& features) {
        const Arguments ours = held_queue_spec("", features).arguments;
        return std::is_permutation(arguments.begin(), arguments.end(), ours.begin(), ours.end());
    });
}

std::optional<std::string> work_queue_held_in(const Policy& policy, std::string_view queue,
                                              const Arguments& arguments) {
    if (!looks_like_held_queue(queue, arguments)) return std::nullopt;
    const std::string_view work_queue = queue.substr(0, queue.size() - held_suffix.size());
    if (match(policy, work_queue) != nullptr) return std::string{work_queue};
    // The name of a long one is cut.
    for (const Entry& entry : policy.entries) {
        if (is_glob(entry.match) || match(policy, entry.match) != &entry) continue;
        for (const BrokerFeatures& features : features_of_ages())
            if (held_name(entry.match, features.longest_quorum_name) == queue) return entry.match;
    }
    return std::nullopt;
}

Topology base_topology(const Policy& policy, const BrokerFeatures& features) {
    return {ExchangeSpec{policy.error_exchange, "fanout", {}}, parking_queue_spec(policy.catch_all, features),
            error_queue_spec(policy, features), BindingSpec{policy.error_queue, policy.error_exchange, "", {}}};
}

BindingSpec error_binding(const Policy& policy, const ErrorBinding& from) {
    return {policy.error_queue, from.exchange, from.routing_key, {}};
}

QueueSpec detour_spec(const Policy& policy, Milliseconds delay, const BrokerFeatures& features) {
    return rung_queue(detour_name(delay), QueueType::quorum, delay, {policy.error_exchange, std::nullopt}, features);
}

ExchangeSpec return_exchange_spec(const Policy& policy) {
    return {std::string{return_exchange_name}, "headers", {{"alternate-exchange", policy.error_exchange}}};
}

BindingSpec return_binding(std::string_view work_queue) {
    return {std::string{work_queue},
            std::string{return_exchange_name},
            "",
            {{"x-match", "all"}, {std::string{header::queue}, std::string{work_queue}}}};
}

std::string rung_name_of(const Ladder& ladder, std::string_view work_queue, Milliseconds delay, bool high_priority) {
    return ladder.return_path == ReturnPath::headers
               ? shared_rung_name(ladder.name, delay, high_priority, ladder.x_death)
               : rung_name(work_queue, delay, high_priority, ladder.x_death);
}

Topology rung_topology(const Policy& policy, const Ladder& ladder, std::string_view work_queue, Milliseconds delay,
                       bool high_priority, const BrokerFeatures& features) {
    std::string name = rung_name_of(ladder, work_queue, delay, high_priority);
    const bool keep = ladder.x_death == XDeath::keep;
    if (ladder.return_path == ReturnPath::queue) {
        // The error exchange is a fanout: there the key only tells whose rung it is.
        const std::string_view to = keep ? std::string_view{policy.error_exchange} : "";
        return {rung_queue(std::move(name), ladder.queue_type, delay, {to, work_queue}, features)};
    }
    ExchangeSpec entrance{name, "fanout", {}};
    BindingSpec binding{name, name, "", {}};
    const std::string_view to = keep ? std::string_view{policy.error_exchange} : return_exchange_name;
    // The return exchange first: without it the broker would throw away what leaves a classic rung.
    return {return_exchange_spec(policy), std::move(entrance),
            rung_queue(std::move(name), ladder.queue_type, delay, {to, std::nullopt}, features), std::move(binding)};
}

bool parking_depends_on_queue(const Parking& parking) {
    return parking.exchange.empty() && expand_queue(parking.queue, "") != parking.queue;
}

std::string parking_queue_of(const Parking& parking, std::string_view work_queue, const BrokerFeatures& features) {
    return expand_queue(parking.queue, work_queue, features.longest_quorum_name);
}

Topology parking_topology(const Parking& parking, std::string_view work_queue, const BrokerFeatures& features) {
    if (!parking.exchange.empty()) return {ForeignExchange{parking.exchange}};
    return {parking_queue_spec(parking_queue_of(parking, work_queue, features), features)};
}

std::string_view to_string(DesiredItem::ItemRole role) {
    switch (role) {
        case ItemRole::error_exchange:
            return "error exchange";
        case ItemRole::catch_all:
            return "catch-all";
        case ItemRole::error_queue:
            return "error queue";
        case ItemRole::error_binding:
            return "error binding";
        case ItemRole::detour:
            return "detour";
        case ItemRole::return_exchange:
            return "return exchange";
        case ItemRole::rung_exchange:
            return "rung exchange";
        case ItemRole::rung:
            return "rung";
        case ItemRole::rung_binding:
            return "rung binding";
        case ItemRole::parking:
            return "parking queue";
        case ItemRole::parking_exchange:
            return "parking exchange";
        case ItemRole::held:
            return "held queue";
        case ItemRole::return_binding:
            break;
    }
    return "return binding";
}

std::string name_of(const TopologyItem& item) {
    return std::visit(NameOf{}, item);
}

std::vector<DesiredItem> desired_topology(const Policy& policy, const BrokerFeatures& features) {
    DesiredTopology desired(policy, features);
    desired.add_base();
    for (const Entry& entry : policy.entries) {
        // An exact name that an earlier entry matches gets nothing from this one.
        if (is_glob(entry.match) || match(policy, entry.match) == &entry) desired.add_entry(entry);
    }
    return std::move(desired.found);
}

std::vector<const Entry*> on_demand(const Policy& policy) {
    std::vector<const Entry*> found;
    for (const Entry& entry : policy.entries) {
        if (is_glob(entry.match)) found.push_back(&entry);
    }
    return found;
}

}  // namespace retryd::core
