#include "http/management_requests.h"

#include <chrono>
#include <utility>

#include "core/safe_text.h"

namespace retryd::http {

namespace {

constexpr const char* consequence = "; what only the management API can tell is missing. ";

}  // namespace

std::optional<Json> ManagementRequests::list(const std::string& path) const {
    auto answer = read(path);
    if (!answer) return answer;
    if (!answer->is_array()) throw Error(not_json());
    std::erase_if(answer->get_ref<Json::array_t&>(), [](const Json& item) { return !item.is_object(); });
    return answer;
}

Json ManagementRequests::list_of_vhost(const std::string& path) const {
    auto answer = list(path);
    if (!answer) throw Error(no_vhost());
    return std::move(*answer);
}

std::optional<Json> ManagementRequests::object(const std::string& path) const {
    auto answer = read(path);
    if (answer && !answer->is_object()) throw Error(not_json());
    return answer;
}

std::optional<Json> ManagementRequests::if_permitted(const std::string& path) const {
    const Response answer = get(path);
    if (answer.status == http_status::unauthorised || answer.status == http_status::forbidden) return std::nullopt;
    if (answer.status == http_status::not_found) return Json();
    if (answer.status != http_status::fine) throw Error(unexpected_status(answer.status));
    return Json::parse(answer.body, nullptr, false);
}

std::optional<Json> ManagementRequests::health(const std::string& path) const {
    const Response answer = get(path);
    const bool denied = answer.status == http_status::unauthorised || answer.status == http_status::forbidden;
    if (denied || answer.status == http_status::not_found) return std::nullopt;
    const bool failed = answer.status == http_status::unavailable;
    if (!failed && answer.status != http_status::fine) throw Error(unexpected_status(answer.status));
    Json told = Json::parse(answer.body, nullptr, false);
    if (!told.is_object()) throw Error(not_json());
    return told;
}

std::optional<Json> ManagementRequests::read(const std::string& path) const {
    const Response answer = get(path);
    if (answer.status == http_status::not_found) return std::nullopt;
    if (answer.status == http_status::unauthorised) throw Error(not_let_in(answer));
    if (answer.status != http_status::fine) throw Error(unexpected_status(answer.status));
    return Json::parse(answer.body, nullptr, false);
}

Request ManagementRequests::request_to(const std::string& path) const {
    return {settings_.url + "/api/" + path, settings_.username, settings_.password, tls_};
}

/// A busy node answers now and then with 500, where one of its processes has not answered another in time (3.8.9, run):
/// asked again, it mostly knows. One that has taken long to say so is spared.
Response ManagementRequests::get(const std::string& path) const {
    constexpr int most_times = 3;
    constexpr core::Milliseconds long_time{6'000};
    const auto begun = std::chrono::steady_clock::now();
    try {
        for (int asked = 1;; ++asked) {
            Response response = http::get(request_to(path));
            const bool spared = asked >= most_times || std::chrono::steady_clock::now() - begun >= long_time;
            if (response.status != http_status::failed || spared) return response;
        }
    } catch (const Error& error) {
        throw Error(unreachable(error.what()));
    }
}

Response ManagementRequests::put(const std::string& path, const std::string& json) const {
    try {
        return http::put(request_to(path), json);
    } catch (const Error& error) {
        throw Error(unreachable(error.what()));
    }
}

Response ManagementRequests::post(const std::string& path, const std::string& json) const {
    try {
        return http::post(request_to(path), json);
    } catch (const Error& error) {
        throw Error(unreachable(error.what()));
    }
}

std::string ManagementRequests::no_vhost() const {
    return "the management API at " + settings_.url + " knows no vhost " + core::quoted(vhost_) + consequence +
           "management.url must name the same cluster as broker.uri, and nothing behind host and port where the "
           "broker has no path_prefix";
}

std::string ManagementRequests::unreachable(const std::string& cause) const {
    return "cannot ask the management API at " + settings_.url + ": " + cause + consequence +
           "Check management.url, and that the plugin is enabled (rabbitmq-plugins enable rabbitmq_management)";
}

std::string ManagementRequests::not_let_in(const Response& response) const {
    return "the management API at " + settings_.url + " does not let user " + core::quoted(settings_.username) +
           " in: " + reason_in(response) + consequence +
           "Check management.username and its password; the user needs the tag management and access to the vhost "
           "(rabbitmqctl set_user_tags, set_permissions)";
}

std::string ManagementRequests::unexpected_status(int status) const {
    const bool elsewhere = status >= 300 && status < 400;
    return "the management API at " + settings_.url + " answered with HTTP status " + std::to_string(status) +
           (elsewhere ? ", a redirect, and none is followed" : "") + consequence +
           (elsewhere ? "management.url must name the API itself" : "The broker's log around this time says more");
}

std::string ManagementRequests::not_json() const {
    return "what answers at " + settings_.url + " is not RabbitMQ's management API" + consequence +
           "Check management.url: it is not the AMQP port, and usually ends in :15672";
}

std::string text_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The text is in {"error": …, "reason": …}
std::string reason_in(const Response& response) {
    const Json answer = Json::parse(response.body, nullptr, false);
    const std::string reason = answer.is_object() ? text_in(answer, "reason") : "";
    return std::to_string(response.status) + (reason.empty() ? "" : ' ' + reason);
}

}  // namespace retryd::http
