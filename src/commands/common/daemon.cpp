#include "commands/common/daemon.h"

#include <chrono>
#include <utility>

#include "config/addresses.h"
#include "http/client.h"

namespace retryd::commands {

namespace {

std::string no_answer_from(const std::string& url, const std::string& cause) {
    return "the daemon does not answer at " + url + ": " + cause +
           "; see whether retryd run is up there, and whether its configuration has the same http.listen";
}

/// If the daemon listens on all addresses, it is asked on the loopback address.
std::string status_url(config::Http http) {
    if (http.host == "0.0.0.0") http.host = "127.0.0.1";
    if (http.host == "::") http.host = "::1";
    return "http://" + config::to_string(http) + "/status.json";
}

}  // namespace

DaemonAnswer ask_daemon(const config::Settings& settings) {
    constexpr int ok = 200;
    if (!settings.http) return "only the daemon knows them. Set http.listen and restart the daemon";
    const std::string url = status_url(*settings.http);
    http::Request request;
    request.url = url;
    request.connect_timeout = request.timeout = std::chrono::seconds(2);
    try {
        const http::Response response = http::get(request);
        if (response.status != ok) return no_answer_from(url, "status " + std::to_string(response.status));
        return read_daemon_answer(response.body);
    } catch (const http::Error& error) {
        return no_answer_from(url, error.what());
    }
}

DaemonAnswer read_daemon_answer(const std::string& body) {
    if (auto status = telemetry::read_status(body)) return std::move(*status);
    return "something other than retryd answers at http.listen; find out what listens there";
}

}  // namespace retryd::commands
