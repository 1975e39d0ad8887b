// Where exchanges lead: which queues get a message with a certain routing key, as far as exchange types and bindings
// tell.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace retryd::admin {

struct BrokerExchange {
    std::string type;            // direct, fanout, topic, headers, or a plugin's type
    std::string alternate = {};  // the alternate exchange; empty: none
};

struct BrokerBinding {
    std::string source;  // an exchange, never the default one
    std::string destination;
    bool to_exchange = false;  // the destination is an exchange, not a queue
    std::string routing_key;
    bool has_arguments = false;  // to compare headers with
};

/// All exchanges and bindings of a vhost, without those of the default exchange, which leads to every queue by its
/// name.
struct Routing {
    std::map<std::string, BrokerExchange> exchanges;
    std::vector<BrokerBinding> bindings;
};

/// The routing key of a message, or a pattern for several.
struct RoutingKey {
    std::string text;
    bool pattern = false;  // a topic pattern: any key that it matches
    auto operator<=>(const RoutingKey&) const = default;
};

/// Whether a topic exchange would route the key, or every key of the pattern, by that binding. For a pattern the answer
/// may be false although it is covered, if that is not obvious.
bool topic_covers(std::string_view binding_key, const RoutingKey& key);

/// Where a message with that key ends up.
struct Reached {
    std::set<std::string> queues;
    /// There may be more queues: on the way is an exchange of a plugin's type or one that does not exist, a headers
    /// comparison, or a pattern that matches only in part.
    bool doubtful = false;
};

/// Keeps a reference to `routing`.
class RoutingGraph {
  public:
    explicit RoutingGraph(const Routing& routing);

    Reached reached(const std::string& exchange, const RoutingKey& key) const;
    /// Empty if there is no such exchange.
    std::string type_of(const std::string& exchange) const;
    /// The bindings from exchanges to that queue.
    const std::vector<const BrokerBinding*>& bindings_to(const std::string& queue) const;

  private:
    void follow(const std::string& exchange, const RoutingKey& key, std::set<std::string>& seen, Reached& found) const;

    const Routing& routing_;
    std::map<std::string_view, std::vector<const BrokerBinding*>> from_;
    std::map<std::string_view, std::vector<const BrokerBinding*>> to_queue_;
};

/// The queues that an AMQP 1.0 producer's link leads to, by RabbitMQ 4's addresses: `/queues/:queue`,
/// `/exchanges/:exchange` and `/exchanges/:exchange/:key`, each part percent-encoded (rabbitmq.com/docs/amqp, "Address
/// v2"). None for any other target: without one a producer addresses each message separately.
std::set<std::string> queues_behind(std::string_view target, const RoutingGraph& graph);

}  // namespace retryd::admin
