#include "http/management.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "http/get.h"

namespace retryd::http {
namespace {

using Json = nlohmann::json;

constexpr int fine = 200;
constexpr int unauthorised = 401;
constexpr int not_found = 404;

const std::string consequence = "; what only the management API can tell is missing. ";

std::string text_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

core::Arguments arguments_in(const Json& object) {
    core::Arguments arguments;
    const auto found = object.find("arguments");
    if (found == object.end() || !found->is_object()) return arguments;
    for (const auto& [name, value] : found->items()) {
        if (value.is_string()) arguments.emplace_back(name, value.get<std::string>());
        if (value.is_number_integer()) arguments.emplace_back(name, value.get<std::int64_t>());
    }
    return arguments;
}

/// The broker's own words for it: {"error": …, "reason": …}
std::string reason_in(const Response& response) {
    const Json answer = Json::parse(response.body, nullptr, false);
    const std::string reason = answer.is_object() ? text_in(answer, "reason") : "";
    return std::to_string(response.status) + (reason.empty() ? "" : ' ' + reason);
}

class Inquiry {
  public:
    Inquiry(const config::Management& settings, const config::Tls& tls, const std::string& vhost)
        : settings_(settings), tls_(tls), vhost_(vhost) {}

    /// The list at that path below /api/; nothing where it is not found.
    std::optional<Json> list(const std::string& path) const {
        const Response response = ask(path);
        if (response.status == not_found) return std::nullopt;
        if (response.status == unauthorised) throw Error(not_let_in(response));
        if (response.status != fine) throw Error(odd(response.status));
        Json answer = Json::parse(response.body, nullptr, false);
        if (!answer.is_array()) throw Error(not_json());
        std::erase_if(answer.get_ref<Json::array_t&>(), [](const Json& item) { return !item.is_object(); });
        return answer;
    }

    std::string no_vhost() const {
        return "the management API at " + settings_.url + " knows no vhost '" + vhost_ + "'" + consequence +
               "management.url must name the same cluster as broker.uri, and nothing behind host and port where the "
               "broker has no path_prefix";
    }

  private:
    Response ask(const std::string& path) const {
        try {
            return get({settings_.url + "/api/" + path, settings_.username, settings_.password, tls_});
        } catch (const Error& error) {
            throw Error("cannot ask the management API at " + settings_.url + ": " + error.what() + consequence +
                        "Check management.url, and that the plugin is enabled (rabbitmq-plugins enable "
                        "rabbitmq_management)");
        }
    }

    std::string not_let_in(const Response& response) const {
        return "the management API at " + settings_.url + " does not let user '" + settings_.username +
               "' in: " + reason_in(response) + consequence +
               "Check management.username and its password; the user needs the tag management and access to the "
               "vhost (rabbitmqctl set_user_tags, set_permissions)";
    }

    std::string odd(int status) const {
        const bool elsewhere = status >= 300 && status < 400;
        return "the management API at " + settings_.url + " answered with HTTP status " + std::to_string(status) +
               (elsewhere ? ", a redirect, and none is followed" : "") + consequence +
               (elsewhere ? "management.url must name the API itself" : "The broker's log around this time says more");
    }

    std::string not_json() const {
        return "what answers at " + settings_.url + " is not RabbitMQ's management API" + consequence +
               "Check management.url: it is not the AMQP port, and usually ends in :15672";
    }

    const config::Management& settings_;
    const config::Tls& tls_;
    const std::string& vhost_;
};

}  // namespace

ManagementClient::ManagementClient(config::Management settings, config::Tls tls, std::string vhost)
    : settings_(std::move(settings)), tls_(std::move(tls)), vhost_(std::move(vhost)) {}

std::vector<ListedQueue> ManagementClient::queues() const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const auto answer = inquiry.list("queues/" + percent_encoded(vhost_) + "?columns=name,type,messages,arguments");
    if (!answer) throw Error(inquiry.no_vhost());
    std::vector<ListedQueue> queues;
    for (const Json& item : *answer) {
        ListedQueue queue{text_in(item, "name"), text_in(item, "type"), {}, arguments_in(item)};
        const auto messages = item.find("messages");
        if (messages != item.end() && messages->is_number_integer()) queue.messages = messages->get<std::int64_t>();
        queues.push_back(std::move(queue));
    }
    return queues;
}

std::vector<ListedConsumer> ManagementClient::consumers() const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const auto answer = inquiry.list("consumers/" + percent_encoded(vhost_));
    if (!answer) throw Error(inquiry.no_vhost());
    std::vector<ListedConsumer> consumers;
    for (const Json& item : *answer) {
        const auto queue = item.find("queue");
        const std::string name = queue != item.end() && queue->is_object() ? text_in(*queue, "name") : "";
        consumers.push_back({name, text_in(item, "consumer_tag")});
    }
    return consumers;
}

std::vector<core::BindingSpec> ManagementClient::bindings_from(const std::string& exchange) const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const auto answer =
        inquiry.list("exchanges/" + percent_encoded(vhost_) + '/' + percent_encoded(exchange) + "/bindings/source");
    std::vector<core::BindingSpec> bindings;
    if (!answer) return bindings;
    for (const Json& item : *answer) {
        if (text_in(item, "destination_type") != "queue") continue;
        bindings.push_back({text_in(item, "destination"), exchange, text_in(item, "routing_key"), arguments_in(item)});
    }
    return bindings;
}

}  // namespace retryd::http
