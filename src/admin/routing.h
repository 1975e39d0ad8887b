// Where exchanges lead: as far as their types and bindings tell, which queues get a message with a certain routing key.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace retryd::admin {

struct BrokerExchange {
    std::string type;            // direct, fanout, topic, headers, or one of a plugin's
    std::string alternate = {};  // gets what no binding takes; empty: none
};

struct BrokerBinding {
    std::string source;  // an exchange; never the default one
    std::string destination;
    bool to_exchange = false;  // the destination is an exchange, not a queue
    std::string routing_key;
    bool has_arguments = false;  // to compare headers with
};

/// All exchanges and bindings of a vhost; those of the default exchange, which leads to every queue by its name, are
/// left out.
struct Routing {
    std::map<std::string, BrokerExchange> exchanges;
    std::vector<BrokerBinding> bindings;
};

/// What a message's routing key may be.
struct RoutingKey {
    std::string text;
    bool pattern = false;  // as a topic exchange takes it: any key that it matches
    auto operator<=>(const RoutingKey&) const = default;
};

/// Whether the key, or every key of the pattern, is one that a topic exchange takes for that binding. May be false of a
/// pattern that is covered in a way that is not obvious.
bool topic_covers(std::string_view binding_key, const RoutingKey& key);

/// Where something ends up that is published with that key.
struct Reached {
    std::set<std::string> queues;
    /// Among what it passes is something whose way cannot be told: an exchange of a plugin's type, one that is not
    /// there, headers that are compared, a pattern that is taken in part. Then there may be more queues.
    bool doubtful = false;
};

/// Keeps a reference to `routing`.
class Ways {
  public:
    explicit Ways(const Routing& routing);

    Reached reached(const std::string& exchange, const RoutingKey& key) const;
    /// Empty where there is no such exchange.
    std::string type_of(const std::string& exchange) const;
    /// Those that lead to that queue from an exchange.
    const std::vector<const BrokerBinding*>& bindings_to(const std::string& queue) const;

  private:
    void follow(const std::string& exchange, const RoutingKey& key, std::set<std::string>& seen, Reached& found) const;

    const Routing& routing_;
    std::map<std::string_view, std::vector<const BrokerBinding*>> from_;
    std::map<std::string_view, std::vector<const BrokerBinding*>> to_queue_;
};

}  // namespace retryd::admin
