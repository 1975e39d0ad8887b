#include "http/management.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "core/safe_text.h"
#include "core/text.h"
#include "http/client.h"
#include "http/management_requests.h"

namespace retryd::http {

namespace {

/// Its `arguments`: those that are texts, whole numbers or booleans.
core::Arguments arguments_in(const Json& object) {
    core::Arguments arguments;
    const auto found = object.find("arguments");
    if (found == object.end() || !found->is_object()) return arguments;
    for (const auto& [name, value] : found->items()) {
        if (value.is_string()) arguments.emplace_back(name, value.get<std::string>());
        if (value.is_boolean()) arguments.emplace_back(name, value.get<bool>());
        if (value.is_number_integer()) arguments.emplace_back(name, value.get<std::int64_t>());
    }
    return arguments;
}

core::Definition definition_in(const Json& object) {
    core::Definition definition;
    const auto found = object.find("definition");
    if (found == object.end() || !found->is_object()) return definition;
    for (const auto& [key, value] : found->items())
        definition[key] = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return definition;
}

bool is_true(const Json& object, const char* key) {
    const auto value = object.find(key);
    return value != object.end() && value->is_boolean() && value->get<bool>();
}

std::optional<std::int64_t> number_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<std::int64_t>();
}

/// The rate from `message_stats`; nothing if it is not counted.
std::optional<double> rate_in(const Json& queue, const char* details) {
    const auto stats = queue.find("message_stats");
    if (stats == queue.end() || !stats->is_object()) return std::nullopt;
    const auto found = stats->find(details);
    if (found == stats->end() || !found->is_object()) return std::nullopt;
    const auto rate = found->find("rate");
    return rate != found->end() && rate->is_number() ? std::optional{rate->get<double>()} : std::nullopt;
}

/// RabbitMQ 4 has the state `minority` where most nodes of a quorum queue are away, and `down` where the one is that
/// led it. RabbitMQ 3 says that its leader is null where the node that led it is away, and else only which nodes are
/// there. A classic queue is `down` with its node on both.
bool is_leaderless(const Json& queue) {
    const std::string state = text_in(queue, "state");
    if (state == "down" || state == "minority") return true;
    if (text_in(queue, "type") != "quorum") return false;
    const auto leader = queue.find("leader");
    if (leader != queue.end() && (leader->is_null() || *leader == "")) return true;
    const auto members = queue.find("members");
    const auto online = queue.find("online");
    const bool both = members != queue.end() && members->is_array() && online != queue.end() && online->is_array();
    return both && 2 * online->size() <= members->size();
}

/// None where that is not told.
std::set<std::string> nodes_away(const ManagementRequests& api) {
    std::set<std::string> away;
    try {
        const auto nodes = api.if_permitted("nodes?columns=name,running&disable_stats=true");
        if (!nodes || !nodes->is_array()) return away;
        for (const Json& node : *nodes)
            if (node.is_object() && node.value("running", Json()) == Json(false)) away.insert(text_in(node, "name"));
    } catch (const Error&) {
        // The list of queues is worth something without it.
    }
    return away;
}

/// RabbitMQ accepts any number as a priority, however large, and fractions. It is rounded so that the real one never
/// outranks the result.
std::int64_t priority_in(const Json& object) {
    constexpr auto highest = static_cast<std::uint64_t>(admin::highest_priority);
    const auto found = object.find("priority");
    if (found == object.end() || !found->is_number()) return 0;
    if (found->is_number_unsigned()) return static_cast<std::int64_t>(std::min(found->get<std::uint64_t>(), highest));
    if (found->is_number_integer()) return found->get<std::int64_t>();
    const double up = std::ceil(found->get<double>());
    if (up >= static_cast<double>(highest)) return admin::highest_priority;
    return static_cast<std::int64_t>(std::max(up, static_cast<double>(-admin::highest_priority)));
}

std::vector<admin::BrokerPolicy> policies_at(const ManagementRequests& api, const std::string& path) {
    std::vector<admin::BrokerPolicy> policies;
    for (const Json& item : api.list_of_vhost(path)) {
        policies.push_back({text_in(item, "name"), text_in(item, "pattern"), text_in(item, "apply-to"),
                            definition_in(item), priority_in(item)});
    }
    return policies;
}

std::string body_of(const admin::BrokerPolicy& policy) {
    return "{\"pattern\":" + core::json_string(policy.pattern) + ",\"apply-to\":" + core::json_string(policy.apply_to) +
           ",\"priority\":" + std::to_string(policy.priority) +
           ",\"definition\":" + core::json_object(policy.definition) + '}';
}

/// The operator policy in effect on each queue; empty if there is none.
std::map<std::string, std::string> operator_policies_by_queue(const ManagementRequests& api, const std::string& vhost) {
    std::map<std::string, std::string> names;
    for (const Json& item : api.list_of_vhost("queues/" + vhost + "?columns=name,operator_policy"))
        names[text_in(item, "name")] = text_in(item, "operator_policy");
    return names;
}

}  // namespace

bool ListedQueue::holds_back() const {
    return static_cast<double>(held.value_or(0)) > 2 * published_rate.value_or(0);
}

ManagementClient::ManagementClient(config::Management settings, config::Tls tls, std::string vhost)
    : settings_(std::move(settings)), tls_(std::move(tls)), vhost_(std::move(vhost)) {}

std::vector<ListedQueue> ManagementClient::queues() const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const std::string path =
        "queues/" + percent_encoded(vhost_) +
        "?columns=name,type,messages,messages_ready,messages_unacknowledged,arguments,"
        "exclusive,auto_delete,message_stats.redeliver_details.rate,message_stats.ack_details.rate,consumers,"
        "message_stats.ack,message_stats.deliver_get,message_stats.publish_details.rate,state,leader,members,online";
    std::vector<ListedQueue> queues;
    for (const Json& item : api.list_of_vhost(path)) {
        ListedQueue queue{text_in(item, "name"), text_in(item, "type"), {}, arguments_in(item)};
        queue.messages = number_in(item, "messages");
        const auto ready = number_in(item, "messages_ready");
        const auto unacked = number_in(item, "messages_unacknowledged");
        if (queue.messages && ready && unacked)
            queue.held = std::max<std::int64_t>(0, *queue.messages - *ready - *unacked);
        queue.ready = ready;
        queue.consumers = number_in(item, "consumers");
        if (const auto stats = item.find("message_stats"); stats != item.end() && stats->is_object())
            queue.acked = number_in(*stats, "ack").value_or(0);  // absent before the first ack
        queue.exclusive = is_true(item, "exclusive");
        queue.auto_delete = is_true(item, "auto_delete");
        queue.redelivered_rate = rate_in(item, "redeliver_details");
        queue.acked_rate = rate_in(item, "ack_details");
        queue.published_rate = rate_in(item, "publish_details");
        queue.leaderless = is_leaderless(item);
        queue.leader = text_in(item, "leader");
        queues.push_back(std::move(queue));
    }
    return queues;
}

/// The nodes first: a queue that has another leader a moment later is listed with that one.
std::vector<ListedQueue> ManagementClient::queues_with_leaders() const {
    const std::set<std::string> away = nodes_away(ManagementRequests(settings_, tls_, vhost_));
    std::vector<ListedQueue> listed = queues();
    for (ListedQueue& queue : listed)
        if (!queue.leader.empty() && away.contains(queue.leader)) queue.leaderless = true;
    return listed;
}

std::optional<core::QueueCounters> ManagementClient::counters(const std::string& queue) const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const auto found = api.object("queues/" + percent_encoded(vhost_) + '/' + percent_encoded(queue) +
                                  "?columns=message_stats,messages_unacknowledged");
    if (!found) return std::nullopt;
    const auto number = [](const Json& object, const char* key) -> std::uint64_t {
        const auto at = object.find(key);
        return at != object.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
    };
    core::QueueCounters counters;
    counters.unacked = number(*found, "messages_unacknowledged");
    // Absent before the first delivery, and if the broker does not count.
    const auto stats = found->find("message_stats");
    if (stats == found->end() || !stats->is_object()) return counters;
    counters.delivered = number(*stats, "deliver") + number(*stats, "get");
    counters.redelivered = number(*stats, "redeliver");
    counters.acked = number(*stats, "ack");
    return counters;
}

namespace {

/// RabbitMQ 4 reports no channel for such a consumer, and its tag is the number of its link (seen on 4.0.5 and 4.3.6).
bool is_amqp10(const Json& consumer, const std::string& tag) {
    const auto channel = consumer.find("channel_details");
    const bool without_channel = channel != consumer.end() && channel->is_structured() && channel->empty();
    return without_channel && !tag.empty() && tag.find_first_not_of("0123456789") == std::string::npos;
}

void add_targets(const Json& session, std::vector<std::string>& targets) {
    const auto links = session.find("incoming_links");
    if (links == session.end() || !links->is_array()) return;
    for (const Json& link : *links)
        if (link.is_object()) targets.push_back(text_in(link, "target_address"));
}

}  // namespace

std::vector<ListedConsumer> ManagementClient::consumers() const {
    const ManagementRequests api(settings_, tls_, vhost_);
    std::vector<ListedConsumer> consumers;
    for (const Json& item : api.list_of_vhost("consumers/" + percent_encoded(vhost_))) {
        const auto queue = item.find("queue");
        const std::string name = queue != item.end() && queue->is_object() ? text_in(*queue, "name") : "";
        const bool acks = item.value("ack_required", Json()) != Json(false);
        const std::string tag = text_in(item, "consumer_tag");
        consumers.push_back({name, tag, acks, is_amqp10(item, tag)});
    }
    return consumers;
}

std::vector<std::string> ManagementClient::amqp10_targets() const {
    constexpr std::size_t most_connections = 50;  // each needs a request of its own
    const ManagementRequests api(settings_, tls_, vhost_);
    std::vector<std::string> targets;
    std::size_t asked = 0;
    const auto connections =
        api.if_permitted("vhosts/" + percent_encoded(vhost_) + "/connections?columns=name,protocol");
    if (!connections || !connections->is_array()) return targets;
    for (const Json& item : *connections) {
        if (!item.is_object() || text_in(item, "protocol") != "AMQP 1-0") continue;
        if (++asked > most_connections) break;
        const auto sessions = api.list("connections/" + percent_encoded(text_in(item, "name")) + "/sessions");
        for (const Json& session : sessions.value_or(Json::array()))
            add_targets(session, targets);
    }
    return targets;
}

std::vector<core::BindingSpec> ManagementClient::bindings_from(const std::string& exchange) const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const auto answer =
        api.list("exchanges/" + percent_encoded(vhost_) + '/' + percent_encoded(exchange) + "/bindings/source");
    std::vector<core::BindingSpec> bindings;
    if (!answer) return bindings;
    for (const Json& item : *answer) {
        if (text_in(item, "destination_type") != "queue") continue;
        bindings.push_back({text_in(item, "destination"), exchange, text_in(item, "routing_key"), arguments_in(item)});
    }
    return bindings;
}

std::string ManagementClient::exchange_type(const std::string& exchange) const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const auto found = api.object("exchanges/" + percent_encoded(vhost_) + '/' + percent_encoded(exchange));
    return found ? text_in(*found, "type") : "";
}

admin::VhostPolicies ManagementClient::vhost_policies() const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const std::string vhost = percent_encoded(vhost_);
    admin::VhostPolicies found;
    found.version = version();
    found.operator_policies = policies_at(api, "operator-policies/" + vhost);
    // The broker's statistics are seconds old; without them the answer is current. Before 4.3, such an answer lacks
    // operator policies.
    std::map<std::string, std::string> by_operator;
    if (!found.operator_policies.empty()) by_operator = operator_policies_by_queue(api, vhost);
    const std::string path =
        "queues/" + vhost +
        "?disable_stats=true&columns=name,type,arguments,exclusive,auto_delete,policy,operator_policy";
    for (const Json& item : api.list_of_vhost(path)) {
        admin::QueuePolicies queue{text_in(item, "name"),
                                   text_in(item, "type"),
                                   arguments_in(item),
                                   text_in(item, "policy"),
                                   text_in(item, "operator_policy"),
                                   is_true(item, "exclusive"),
                                   is_true(item, "auto_delete")};
        if (queue.operator_policy.empty()) queue.operator_policy = by_operator[queue.name];
        found.queues.push_back(std::move(queue));
    }
    found.policies = policies_at(api, "policies/" + vhost);
    return found;
}

namespace {

/// From its argument, otherwise from its policy.
std::string alternate_of(const Json& exchange, const std::vector<admin::BrokerPolicy>& policies) {
    const auto arguments = exchange.find("arguments");
    const std::string by_argument =
        arguments != exchange.end() && arguments->is_object() ? text_in(*arguments, "alternate-exchange") : "";
    if (!by_argument.empty()) return by_argument;
    const std::string name = text_in(exchange, "policy");
    for (const admin::BrokerPolicy& policy : policies) {
        if (name.empty() || policy.name != name) continue;
        const auto set = policy.definition.find("alternate-exchange");
        if (set != policy.definition.end()) return admin::text_of(set->second).value_or("");
    }
    return "";
}

}  // namespace

admin::Routing ManagementClient::routing() const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const std::string vhost = percent_encoded(vhost_);
    const std::vector<admin::BrokerPolicy> policies = policies_at(api, "policies/" + vhost);
    admin::Routing found;
    for (const Json& item : api.list_of_vhost("exchanges/" + vhost + "?columns=name,type,arguments,policy")) {
        const std::string name = text_in(item, "name");
        if (!name.empty()) found.exchanges[name] = {text_in(item, "type"), alternate_of(item, policies)};
    }
    const std::string columns = "?columns=source,destination,destination_type,routing_key,arguments";
    for (const Json& item : api.list_of_vhost("bindings/" + vhost + columns)) {
        const auto arguments = item.find("arguments");
        const bool has_arguments = arguments != item.end() && arguments->is_object() && !arguments->empty();
        admin::BrokerBinding binding{text_in(item, "source"), text_in(item, "destination"),
                                     text_in(item, "destination_type") == "exchange", text_in(item, "routing_key"),
                                     has_arguments};
        if (!binding.source.empty()) found.bindings.push_back(std::move(binding));
    }
    return found;
}

void ManagementClient::bind(const core::BindingSpec& binding) const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const Response response = api.post("bindings/" + percent_encoded(vhost_) + "/e/" +
                                           percent_encoded(binding.exchange) + "/q/" + percent_encoded(binding.queue),
                                       R"({"routing_key":)" + core::json_string(binding.routing_key) + '}');
    if (response.status == http_status::created || response.status == http_status::no_content) return;
    std::string text = "the management API refused to bind queue " + core::quoted(binding.queue) + " to exchange " +
                       core::quoted(binding.exchange) + ": " + reason_in(response) + "; it was not bound";
    if (response.status == http_status::unauthorised || response.status == http_status::forbidden) {
        text += ". User " + core::quoted(settings_.username) +
                " needs the permissions to write to the queue and to read from the exchange; or name the exchange and "
                "the key in errors.bind, and the daemon binds it";
    }
    throw Error(text);
}

core::BrokerVersion ManagementClient::version() const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const auto answer = api.object("overview");
    const auto version = core::parse_version(answer ? text_in(*answer, "rabbitmq_version") : "");
    if (!version) {
        throw Error("the management API at " + settings_.url +
                    " does not say which RabbitMQ it belongs to; what depends on it cannot be told. Check "
                    "management.url");
    }
    return *version;
}

void ManagementClient::set_policy(const admin::BrokerPolicy& policy) const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const Response response =
        api.put("policies/" + percent_encoded(vhost_) + '/' + percent_encoded(policy.name), body_of(policy));
    if (response.status == http_status::created || response.status == http_status::no_content) return;
    std::string text =
        "the management API refused to set policy " + core::quoted(policy.name) + ": " + reason_in(response);
    if (response.status == http_status::unauthorised || response.status == http_status::forbidden) {
        text += "; it was not set. User " + core::quoted(settings_.username) +
                " needs the tag policymaker (rabbitmqctl set_user_tags) and access to the vhost; or let somebody who "
                "may run the rabbitmqctl command";
    } else if (response.status == http_status::bad_request) {
        text += "; it was not set. A policy validator or a limit of the broker stands against it";
    }
    throw Error(text);
}

std::optional<admin::Permissions> ManagementClient::permissions(const std::string& user) const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const auto answer = api.if_permitted("permissions/" + percent_encoded(vhost_) + '/' + percent_encoded(user));
    if (!answer) return std::nullopt;
    if (!answer->is_object()) return admin::Permissions{};
    return admin::Permissions{text_in(*answer, "configure"), text_in(*answer, "write"), text_in(*answer, "read")};
}

std::optional<std::vector<admin::UserPermissions>> ManagementClient::user_permissions() const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const auto answer = api.if_permitted("vhosts/" + percent_encoded(vhost_) + "/permissions");
    if (!answer || !answer->is_array()) return std::nullopt;
    std::vector<admin::UserPermissions> users;
    for (const Json& item : *answer) {
        if (!item.is_object()) continue;
        users.push_back(
            {text_in(item, "user"), {text_in(item, "configure"), text_in(item, "write"), text_in(item, "read")}});
    }
    return users;
}

std::optional<std::vector<std::string>> ManagementClient::disabled_feature_flags() const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const auto answer = api.if_permitted("feature-flags");
    if (!answer || !answer->is_array()) return std::nullopt;
    std::vector<std::string> disabled;
    for (const Json& item : *answer) {
        if (item.is_object() && text_in(item, "state") == "disabled") disabled.push_back(text_in(item, "name"));
    }
    return disabled;
}

namespace {

/// For versions before 3.8.10, which have no health checks.
std::optional<std::vector<NodeAlarm>> alarms_of_nodes(const ManagementRequests& api) {
    const auto nodes = api.if_permitted("nodes");
    if (!nodes || !nodes->is_array()) return std::nullopt;
    std::vector<NodeAlarm> alarms;
    for (const Json& node : *nodes) {
        if (!node.is_object()) continue;
        if (node.value("mem_alarm", Json()) == Json(true)) alarms.push_back({text_in(node, "name"), "memory"});
        if (node.value("disk_free_alarm", Json()) == Json(true)) alarms.push_back({text_in(node, "name"), "disk"});
    }
    return alarms;
}

}  // namespace

std::optional<std::vector<NodeAlarm>> ManagementClient::alarms() const {
    const ManagementRequests api(settings_, tls_, vhost_);
    const auto answer = api.health("health/checks/alarms");
    if (!answer) return alarms_of_nodes(api);
    std::vector<NodeAlarm> alarms;
    const auto told = answer->find("alarms");
    if (told == answer->end() || !told->is_array()) return alarms;
    for (const Json& item : *told) {
        if (item.is_object()) alarms.push_back({text_in(item, "node"), text_in(item, "resource")});
    }
    return alarms;
}

std::optional<core::WallTime> ManagementClient::clock() const {
    return ManagementRequests(settings_, tls_, vhost_).clock();
}

}  // namespace retryd::http
