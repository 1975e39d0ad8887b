#include "commands/plan/definitions.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <variant>

#include "commands/common/broker.h"
#include "commands/common/json.h"
#include "commands/common/text.h"
#include "core/names.h"
#include "core/topology.h"

namespace retryd::commands {

namespace {

Json json_of(const core::Arguments& arguments) {
    Json object = Json::object();
    for (const auto& [key, value] : arguments)
        std::visit([&, name = key](const auto& argument) { object[name] = argument; }, value);
    return object;
}

class Definitions {
  public:
    explicit Definitions(const std::string& vhost) : vhost_(vhost) {}

    void add(const core::TopologyItem& item) {
        std::visit([this](const auto& each) { add_item(each); }, item);
    }

    Json object() const { return {{"exchanges", exchanges_}, {"queues", queues_}, {"bindings", bindings_}}; }

  private:
    void add_item(const core::ExchangeSpec& exchange) {
        put(exchanges_, {{"name", exchange.name},
                         {"vhost", vhost_},
                         {"type", exchange.type},
                         {"durable", true},
                         {"auto_delete", false},
                         {"internal", false},
                         {"arguments", json_of(exchange.arguments)}});
    }
    void add_item(const core::QueueSpec& queue) {
        put(queues_, {{"name", queue.name},
                      {"vhost", vhost_},
                      {"durable", true},
                      {"auto_delete", false},
                      {"arguments", json_of(queue.arguments)}});
    }
    void add_item(const core::BindingSpec& binding) {
        put(bindings_, {{"source", binding.exchange},
                        {"vhost", vhost_},
                        {"destination", binding.queue},
                        {"destination_type", "queue"},
                        {"routing_key", binding.routing_key},
                        {"arguments", json_of(binding.arguments)}});
    }
    void add_item(const core::ForeignExchange&) {}  // not ours to declare

    /// Rungs for high priorities list some exchanges a second time.
    static void put(Json& list, Json object) {
        if (std::find(list.begin(), list.end(), object) == list.end()) list.push_back(std::move(object));
    }

    const std::string& vhost_;
    Json exchanges_ = Json::array();
    Json queues_ = Json::array();
    Json bindings_ = Json::array();
};

/// The rungs that retryd would declare with the first message of a high priority, if the broker's version needs them.
void add_high_rungs(const core::Policy& policy, const core::BrokerFeatures& features, Definitions& definitions) {
    if (!features.priority_blocks_expiry) return;
    for (const core::Entry& entry : policy.entries) {
        const bool shared = entry.ladder.return_path == core::ReturnPath::headers;
        if (core::is_glob(entry.match) && !shared) continue;
        for (const core::Milliseconds delay : core::distinct_delays(entry.ladder)) {
            for (const auto& item : core::rung_topology(policy, entry.ladder, entry.match, delay, true, features))
                definitions.add(item);
        }
    }
}

}  // namespace

void print_definitions(const core::Policy& policy, const core::BrokerFeatures& features, const std::string& vhost,
                       std::ostream& out) {
    Definitions definitions(vhost);
    for (const core::DesiredItem& each : core::desired_topology(policy, features))
        definitions.add(each.item);
    add_high_rungs(policy, features, definitions);
    print_json(definitions.object(), out);
}

void print_what_definitions_lack(const core::Policy& policy, const core::BrokerFeatures& features, std::ostream& err) {
    Rows rows;
    for (const core::Entry* entry : core::on_demand(policy)) {
        const bool shared = entry->ladder.return_path == core::ReturnPath::headers;
        if (!shared || core::parking_depends_on_queue(entry->parked)) {
            rows.push_back(
                {"not in it: " + std::string{shared ? "the parking queues" : "the rungs and parking queues"} +
                 " of the queues that match " + entry->match +
                 "; name these queues one by one, or let retryd declare"});
        }
        if (shared) {
            rows.push_back({"not in it: the bindings of the queues that match " + entry->match +
                            " to retryd.return; name these queues one by one, or let retryd declare"});
        }
    }
    for (const core::DesiredItem& each : core::desired_topology(policy, features)) {
        if (each.role == core::DesiredItem::ItemRole::parking_exchange)
            rows.push_back({"has to be there: the exchange " + core::name_of(each.item)});
        if (each.role == core::DesiredItem::ItemRole::return_binding)
            rows.push_back({"has to be there before it is imported: the queue " + each.work_queue});
    }
    for (const core::ErrorBinding& binding : policy.error_bindings)
        rows.push_back({"has to be there before it is imported: the exchange " + binding.exchange});
    print_table(rows, "retryd: ", err);
}

int definitions(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    return Report(options, out, err).run([&](const config::Settings& settings) {
        const BrokerIdentity broker = connect(settings, "retryd plan")->identity();
        const core::BrokerFeatures features = core::features_of(broker.version);
        print_definitions(settings.policy, features, broker.vhost, out);
        print_what_definitions_lack(settings.policy, features, err);
        return exit_code::fine;
    });
}

}  // namespace retryd::commands
