#include "http/inquiry.h"

#include "http/error.h"

namespace retryd::http {
namespace {

constexpr const char* consequence = "; what only the management API can tell is missing. ";

}  // namespace

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

std::string reason_in(const Response& response) {
    const Json answer = Json::parse(response.body, nullptr, false);
    const std::string reason = answer.is_object() ? text_in(answer, "reason") : "";
    return std::to_string(response.status) + (reason.empty() ? "" : ' ' + reason);
}

std::optional<Json> Inquiry::list(const std::string& path) const {
    auto answer = ask(path);
    if (!answer) return answer;
    if (!answer->is_array()) throw Error(not_json());
    std::erase_if(answer->get_ref<Json::array_t&>(), [](const Json& item) { return !item.is_object(); });
    return answer;
}

std::optional<Json> Inquiry::object(const std::string& path) const {
    auto answer = ask(path);
    if (answer && !answer->is_object()) throw Error(not_json());
    return answer;
}

Request Inquiry::request_to(const std::string& path) const {
    return {settings_.url + "/api/" + path, settings_.username, settings_.password, tls_};
}

Response Inquiry::response(const std::string& path) const {
    try {
        return get(request_to(path));
    } catch (const Error& error) {
        throw Error(unreachable(error.what()));
    }
}

std::optional<Json> Inquiry::ask(const std::string& path) const {
    const Response answer = response(path);
    if (answer.status == http_status::not_found) return std::nullopt;
    if (answer.status == http_status::unauthorised) throw Error(not_let_in(answer));
    if (answer.status != http_status::fine) throw Error(odd(answer.status));
    return Json::parse(answer.body, nullptr, false);
}

std::string Inquiry::no_vhost() const {
    return "the management API at " + settings_.url + " knows no vhost '" + vhost_ + "'" + consequence +
           "management.url must name the same cluster as broker.uri, and nothing behind host and port where the "
           "broker has no path_prefix";
}

std::string Inquiry::unreachable(const std::string& cause) const {
    return "cannot ask the management API at " + settings_.url + ": " + cause + consequence +
           "Check management.url, and that the plugin is enabled (rabbitmq-plugins enable rabbitmq_management)";
}

std::string Inquiry::not_let_in(const Response& response) const {
    return "the management API at " + settings_.url + " does not let user '" + settings_.username +
           "' in: " + reason_in(response) + consequence +
           "Check management.username and its password; the user needs the tag management and access to the vhost "
           "(rabbitmqctl set_user_tags, set_permissions)";
}

std::string Inquiry::odd(int status) const {
    const bool elsewhere = status >= 300 && status < 400;
    return "the management API at " + settings_.url + " answered with HTTP status " + std::to_string(status) +
           (elsewhere ? ", a redirect, and none is followed" : "") + consequence +
           (elsewhere ? "management.url must name the API itself" : "The broker's log around this time says more");
}

std::string Inquiry::not_json() const {
    return "what answers at " + settings_.url + " is not RabbitMQ's management API" + consequence +
           "Check management.url: it is not the AMQP port, and usually ends in :15672";
}

}  // namespace retryd::http
