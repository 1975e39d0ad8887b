#include "core/wanted.h"

#include <set>

#include "core/names.h"

namespace retryd::core {
namespace {

using Role = Wanted::Role;

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
Role role_in_rung(const TopologyItem& item) {
    if (std::holds_alternative<QueueSpec>(item)) return Role::rung;
    if (std::holds_alternative<BindingSpec>(item)) return Role::rung_binding;
    const auto* exchange = std::get_if<ExchangeSpec>(&item);
    return exchange != nullptr && exchange->name == return_exchange_name ? Role::return_exchange : Role::rung_exchange;
}

class List {
  public:
    List(const Policy& policy, const BrokerFeatures& features) : policy_(policy), features_(features) {}

    void add_base() {
        for (const TopologyItem& item : base_topology(policy_, features_))
            add({role_in_base(item), "", "", item});
        for (const ErrorBinding& from : policy_.error_bindings)
            add({Role::error_binding, "", "", BindingSpec{policy_.error_queue, from.exchange, from.routing_key, {}}});
    }

    void add_entry(const Entry& entry) {
        const bool shared = entry.ladder.return_path == ReturnPath::headers;
        const bool glob = is_glob(entry.match);
        if (shared || !glob) add_rungs(entry, shared);
        if (!glob || !depends_on_queue(entry.parked)) add_parking(entry);
        if (shared && !glob) add({Role::home_binding, entry.match, "", home_binding(entry.match)});
    }

    std::vector<Wanted> found;

  private:
    static bool depends_on_queue(const Parking& parked) {
        return parked.exchange.empty() && expand_queue(parked.queue, "") != parked.queue;
    }

    Role role_in_base(const TopologyItem& item) const {
        if (std::holds_alternative<BindingSpec>(item)) return Role::error_binding;
        const auto* queue = std::get_if<QueueSpec>(&item);
        if (queue == nullptr) return Role::error_exchange;
        return queue->name == policy_.error_queue ? Role::error_queue : Role::catch_all;
    }

    void add_rungs(const Entry& entry, bool shared) {
        for (const Milliseconds delay : distinct_delays(entry.ladder)) {
            for (TopologyItem& item : rung_topology(policy_, entry.ladder, entry.match, delay, false, features_)) {
                Wanted rung{role_in_rung(item), "", "", std::move(item)};
                if (rung.role != Role::return_exchange)
                    (shared ? rung.ladder : rung.work_queue) = shared ? entry.ladder.name : entry.match;
                add(std::move(rung));
            }
        }
    }

    void add_parking(const Entry& entry) {
        for (TopologyItem& item : parking_topology(entry.parked, entry.match, features_)) {
            const bool theirs = std::holds_alternative<ForeignExchange>(item);
            add({theirs ? Role::parking_exchange : Role::parking, entry.match, "", std::move(item)});
        }
    }

    void add(Wanted item) {
        if (seen_.insert(identity_of(item.item)).second) found.push_back(std::move(item));
    }

    const Policy& policy_;
    const BrokerFeatures& features_;
    std::set<std::string> seen_;
};

}  // namespace

std::string_view to_string(Wanted::Role role) {
    switch (role) {
        case Role::error_exchange:
            return "error exchange";
        case Role::catch_all:
            return "catch-all";
        case Role::error_queue:
            return "error queue";
        case Role::error_binding:
            return "error binding";
        case Role::return_exchange:
            return "return exchange";
        case Role::rung_exchange:
            return "rung exchange";
        case Role::rung:
            return "rung";
        case Role::rung_binding:
            return "rung binding";
        case Role::parking:
            return "parking queue";
        case Role::parking_exchange:
            return "parking exchange";
        case Role::home_binding:
            break;
    }
    return "home binding";
}

std::string name_of(const TopologyItem& item) {
    return std::visit(NameOf{}, item);
}

std::vector<Wanted> wanted(const Policy& policy, const BrokerFeatures& features) {
    List list(policy, features);
    list.add_base();
    for (const Entry& entry : policy.entries) {
        // An exact name that an earlier entry catches is never climbed.
        if (is_glob(entry.match) || match(policy, entry.match) == &entry) list.add_entry(entry);
    }
    return std::move(list.found);
}

std::vector<const Entry*> on_demand(const Policy& policy) {
    std::vector<const Entry*> found;
    for (const Entry& entry : policy.entries) {
        if (is_glob(entry.match)) found.push_back(&entry);
    }
    return found;
}

}  // namespace retryd::core
