// What is declared on the broker: names and arguments, computed from the policy and the broker's version. Declaring it
// is amqp's part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/broker_features.h"
#include "core/policy.h"

namespace retryd::core {

using Argument = std::variant<std::int64_t, std::string, bool>;
using Arguments = std::vector<std::pair<std::string, Argument>>;

/// What only queues of held messages have.
inline constexpr const char* single_active_consumer = "x-single-active-consumer";

/// Of queues in which a message may be looked at as often as an operator likes: a number that is never reached.
inline constexpr std::int64_t high_delivery_limit = 1'000'000;

/// Of the error queue: so often a message may come back to it before the broker moves it to the catch-all. Only one
/// that ends the connection of whoever it is delivered to gets there (relay/head_trial.h). Far from what restarts and
/// lost connections come to, also where a message arrives with the count of its work queue, 21 as a rule
/// (RabbitMQ 4.3).
inline constexpr std::int64_t error_delivery_limit = 100;
/// A message that has come back to the error queue that often, and would have to be requeued once more, is published
/// there anew instead: the copy counts from 0. Up to 4.2 every requeue counts towards the limit.
inline constexpr std::int64_t republish_after_deliveries = error_delivery_limit / 2;

/// A durable exchange, not auto-deleted.
struct ExchangeSpec {
    std::string name;
    std::string type;  // fanout, headers
    Arguments arguments;
    bool operator==(const ExchangeSpec&) const = default;
};

/// A durable queue, neither exclusive nor auto-deleted.
struct QueueSpec {
    std::string name;
    Arguments arguments;
    /// Arguments that may be missing on a queue that is already there: a queue made under 3.x keeps its arguments
    /// through the upgrade to 4.x, where we would add x-delivery-limit. Accepted, with a warning that names the policy.
    std::vector<std::string> optional_arguments;
    /// What earlier builds of retryd declared: a queue that has it is used as it is.
    struct Older {
        std::string argument;
        std::int64_t value = 0;
        bool harmful = false;  // on this version of RabbitMQ: worth a warning
        bool operator==(const Older&) const = default;
    };
    std::vector<Older> older = {};
    bool operator==(const QueueSpec&) const = default;
};

struct BindingSpec {
    std::string queue;
    std::string exchange;
    std::string routing_key;
    Arguments arguments;
    bool operator==(const BindingSpec&) const = default;
};

/// A foreign exchange: it has to be there, whatever its type.
struct ForeignExchange {
    std::string name;
    bool operator==(const ForeignExchange&) const = default;
};

using TopologyItem = std::variant<ExchangeSpec, QueueSpec, BindingSpec, ForeignExchange>;
/// In the order of declaring.
using Topology = std::vector<TopologyItem>;

/// Whether it is declared with the limit of the error queue.
bool is_limited(const QueueSpec& queue);

QueueSpec error_queue_spec(const Policy& policy, const BrokerFeatures& features);
/// A parking queue, the catch-all included: quorum, no TTL, and on RabbitMQ 4 a delivery limit that nobody
/// reaches.
QueueSpec parking_queue_spec(std::string name, const BrokerFeatures& features);

/// Where messages of a work queue are held: as a parking queue, but that one consumer after the other has it all, so
/// that of several daemons one releases, and in their order.
QueueSpec held_queue_spec(std::string_view work_queue, const BrokerFeatures& features);

/// By its name and all its arguments; a foreign queue may have them as well.
bool looks_like_held_queue(std::string_view queue, const Arguments& arguments);
/// The work queue whose messages retryd holds in a queue of that name with these arguments, or held under an earlier
/// configuration: an entry matches it, and the arguments are all that retryd declares on some version of RabbitMQ.
/// Nothing where the queue is foreign; with other arguments it is, whatever its name.
std::optional<std::string> work_queue_held_in(const Policy& policy, std::string_view queue, const Arguments& arguments);

/// Without these nothing can be consumed: error exchange, catch-all, error queue and the binding between them.
Topology base_topology(const Policy& policy, const BrokerFeatures& features);
/// What leads the dead letters of a foreign exchange to the error queue.
BindingSpec error_binding(const Policy& policy, const ErrorBinding& from);

/// Where messages wait outside of the error queue while their rung or parking queue takes none: after the delay the
/// broker sends them to the error exchange again. A quorum queue where the broker can (3.10 and later).
QueueSpec detour_spec(const Policy& policy, Milliseconds delay, const BrokerFeatures& features);

/// The headers exchange through which shared rungs return messages. What it can route to no work queue goes to the
/// error exchange, its alternate-exchange, and so comes back to us at once.
ExchangeSpec return_exchange_spec(const Policy& policy);
/// What makes the return exchange find a work queue.
BindingSpec return_binding(std::string_view work_queue);

/// The rung of one delay. With ReturnPath::queue: a queue of this work queue's own, from which the broker returns
/// through the default exchange. With ReturnPath::headers: one queue for all work queues, behind a fanout exchange of
/// the same name; the routing key that it is published with is the one that the consumer will see.
/// With XDeath::keep what leaves it goes to the error exchange: RabbitMQ would write its own x-death on any other way,
/// and 4.x would throw away what was there; what retryd itself publishes to a work queue it leaves as it is.
Topology rung_topology(const Policy& policy, const Ladder& ladder, std::string_view work_queue, Milliseconds delay,
                       bool high_priority, const BrokerFeatures& features);
/// The name of that rung: of its queue, and of its exchange where it has one.
std::string rung_name_of(const Ladder& ladder, std::string_view work_queue, Milliseconds delay, bool high_priority);

/// Whether each work queue has a parking queue of its own.
bool parking_depends_on_queue(const Parking& parking);
/// The queue to park in; not for an exchange.
std::string parking_queue_of(const Parking& parking, std::string_view work_queue, const BrokerFeatures& features);
/// That queue, or the exchange that has to be there.
Topology parking_topology(const Parking& parking, std::string_view work_queue, const BrokerFeatures& features);

/// One item of what a configuration wants on the broker before the first message comes.
struct DesiredItem {
    enum class ItemRole {
        error_exchange,
        catch_all,
        error_queue,
        error_binding,  // of the error exchange, or of a foreign dead-letter exchange
        detour,
        return_exchange,
        rung_exchange,  // before a shared rung
        rung,
        rung_binding,
        parking,
        parking_exchange,  // foreign
        held,
        return_binding,
    };
    ItemRole role = ItemRole::error_exchange;
    /// What it serves: one of the two, or neither where it serves all.
    std::string work_queue;  // a glob where it is the same for all its queues
    std::string ladder;      // whose work queues share it
    TopologyItem item;
    bool operator==(const DesiredItem&) const = default;
};

std::string_view to_string(DesiredItem::ItemRole role);

/// The name of an exchange or a queue; `exchange → queue` for a binding.
std::string name_of(const TopologyItem& item);

/// In the order of declaring, nothing twice. Of a glob only what is the same for every queue that it matches; the rungs
/// of messages with a high priority, which are made when the first one comes, are not among them.
std::vector<DesiredItem> desired_topology(const Policy& policy, const BrokerFeatures& features);

/// The entries whose rungs are declared when the first message of a queue comes.
std::vector<const Entry*> on_demand(const Policy& policy);

}  // namespace retryd::core
