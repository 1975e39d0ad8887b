#include "commands/status/daemon_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/addresses.h"
#include "http/client.h"

namespace retryd::commands {

namespace {

using Answer = nlohmann::json;

constexpr std::size_t a_minute_ms = 60'000;

/// What is there under that key if it has the type that is wanted.
const Answer& part(const Answer& object, const char* key) {
    static const Answer nothing;
    return object.is_object() && object.contains(key) ? object.at(key) : nothing;
}

std::int64_t whole(const Answer& value) {
    return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::string text(const Answer& value) {
    return value.is_string() ? value.get<std::string>() : "";
}

double per_second(const Answer& series, std::size_t interval_ms) {
    if (!series.is_array() || series.empty()) return 0;
    const std::size_t intervals = std::clamp<std::size_t>(a_minute_ms / interval_ms, 1, series.size());
    std::int64_t messages = 0;
    for (std::size_t i = series.size() - intervals; i < series.size(); ++i)
        messages += whole(series[i]);
    return static_cast<double>(messages) * 1000 / static_cast<double>(intervals * interval_ms);
}

Rates rates_in(const Answer& rates) {
    const std::int64_t interval = whole(part(rates, "interval_ms"));
    if (interval <= 0) return {};
    const auto ms = static_cast<std::size_t>(interval);
    return {per_second(part(rates, "retried"), ms), per_second(part(rates, "parked"), ms),
            per_second(part(rates, "dropped"), ms)};
}

Totals totals_in(const Answer& totals) {
    return {whole(part(totals, "retried")), whole(part(totals, "parked")), whole(part(totals, "dropped"))};
}

DaemonView view_of(const Answer& answer) {
    DaemonView view;
    view.ready = part(answer, "ready") == true;
    view.reason = text(part(answer, "reason"));
    view.in_flight = whole(part(answer, "in_flight"));
    view.rates = rates_in(part(answer, "rates"));
    view.left_out = whole(part(answer, "queues_left_out"));
    for (const Answer& queue : part(answer, "queues"))
        view.work_queues[text(part(queue, "work_queue"))] = totals_in(part(queue, "totals"));
    for (const Answer& fault : part(answer, "faults"))
        view.faults.push_back(text(part(fault, "text")));
    return view;
}

std::string nothing_from(const std::string& url, const std::string& cause) {
    return "the daemon does not answer at " + url + ": " + cause +
           "; see whether retryd run is up there, and whether its configuration has the same http.listen";
}

/// What listens everywhere is asked on this machine.
std::string url_of(config::Http http) {
    if (http.host == "0.0.0.0") http.host = "127.0.0.1";
    if (http.host == "::") http.host = "::1";
    return "http://" + config::to_string(http) + "/status.json";
}

}  // namespace

DaemonAnswer read_daemon_view(const std::string& json) {
    const Answer answer = Answer::parse(json, nullptr, false);
    if (!answer.is_object() || !answer.contains("version") || !answer.contains("queues")) {
        return "what answers at http.listen is not retryd: it sends no status of it; see what listens there";
    }
    return view_of(answer);
}

DaemonAnswer ask_daemon(const config::Settings& settings) {
    constexpr int ok = 200;
    if (!settings.http) return "only the daemon knows them. Set http.listen and start it again";
    const std::string url = url_of(*settings.http);
    http::Request request;
    request.url = url;
    request.connect_timeout = request.timeout = std::chrono::seconds(2);
    try {
        const http::Response response = http::get(request);
        if (response.status != ok) return nothing_from(url, "status " + std::to_string(response.status));
        return read_daemon_view(response.body);
    } catch (const http::Error& error) {
        return nothing_from(url, error.what());
    }
}

}  // namespace retryd::commands
