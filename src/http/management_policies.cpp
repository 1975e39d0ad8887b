// The part of the management client that sees to policies.
#include <map>

#include "http/inquiry.h"
#include "http/management.h"

namespace retryd::http {
namespace {

core::Definition definition_in(const Json& object) {
    core::Definition definition;
    const auto found = object.find("definition");
    if (found == object.end() || !found->is_object()) return definition;
    for (const auto& [key, value] : found->items())
        definition[key] = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return definition;
}

std::int64_t priority_in(const Json& object) {
    const auto found = object.find("priority");
    return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::vector<core::BrokerPolicy> policies_at(const Inquiry& inquiry, const std::string& path) {
    const auto answer = inquiry.list(path);
    if (!answer) throw Error(inquiry.no_vhost());
    std::vector<core::BrokerPolicy> policies;
    for (const Json& item : *answer) {
        policies.push_back({text_in(item, "name"), text_in(item, "pattern"), text_in(item, "apply-to"),
                            definition_in(item), priority_in(item)});
    }
    return policies;
}

std::string body_of(const core::BrokerPolicy& policy) {
    return "{\"pattern\":" + core::json_string(policy.pattern) + ",\"apply-to\":" + core::json_string(policy.apply_to) +
           ",\"priority\":" + std::to_string(policy.priority) +
           ",\"definition\":" + core::json_object(policy.definition) + '}';
}

/// By queue.
std::map<std::string, std::string> operator_policies_on(const Inquiry& inquiry, const std::string& vhost) {
    std::map<std::string, std::string> names;
    const auto answer = inquiry.list("queues/" + percent_encoded(vhost) + "?columns=name,operator_policy");
    if (!answer) throw Error(inquiry.no_vhost());
    for (const Json& item : *answer)
        names[text_in(item, "name")] = text_in(item, "operator_policy");
    return names;
}

}  // namespace

core::Governance ManagementClient::governance() const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const std::string vhost = percent_encoded(vhost_);
    core::Governance found;
    found.version = version();
    found.operator_policies = policies_at(inquiry, "operator-policies/" + vhost);
    // The broker's statistics are seconds old; what is told without them is what is so now. Before 4.3 that leaves the
    // operator policies out.
    std::map<std::string, std::string> by_operator;
    if (!found.operator_policies.empty()) by_operator = operator_policies_on(inquiry, vhost_);
    const auto queues = inquiry.list(
        "queues/" + vhost + "?disable_stats=true&columns=name,type,arguments,exclusive,policy,operator_policy");
    if (!queues) throw Error(inquiry.no_vhost());
    for (const Json& item : *queues) {
        core::GovernedQueue queue{text_in(item, "name"),
                                  text_in(item, "type"),
                                  arguments_in(item),
                                  text_in(item, "policy"),
                                  text_in(item, "operator_policy"),
                                  item.value("exclusive", Json()) == Json(true)};
        if (queue.operator_policy.empty()) queue.operator_policy = by_operator[queue.name];
        found.queues.push_back(std::move(queue));
    }
    found.policies = policies_at(inquiry, "policies/" + vhost);
    return found;
}

core::BrokerVersion ManagementClient::version() const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const auto answer = inquiry.object("overview");
    const auto version = core::parse_version(answer ? text_in(*answer, "rabbitmq_version") : "");
    if (!version) {
        throw Error("the management API at " + settings_.url +
                    " does not say which RabbitMQ it belongs to; what depends on it cannot be told. Check "
                    "management.url");
    }
    return *version;
}

void ManagementClient::set_policy(const core::BrokerPolicy& policy) const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const Request request =
        inquiry.request_to("policies/" + percent_encoded(vhost_) + '/' + percent_encoded(policy.name));
    Response response;
    try {
        response = put(request, body_of(policy));
    } catch (const Error& error) {
        throw Error(inquiry.unreachable(error.what()));
    }
    if (response.status == http_status::created || response.status == http_status::no_content) return;
    std::string text = "the management API refused to set policy '" + policy.name + "': " + reason_in(response);
    if (response.status == http_status::unauthorised || response.status == http_status::forbidden) {
        text += "; it was not set. User '" + settings_.username +
                "' needs the tag policymaker (rabbitmqctl set_user_tags) and access to the vhost; or let somebody who "
                "may run the rabbitmqctl command";
    } else if (response.status == http_status::bad_request) {
        text += "; it was not set. A policy validator or a limit of the broker stands against it";
    }
    throw Error(text);
}

}  // namespace retryd::http
