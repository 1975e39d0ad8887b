#include "daemon/http_service.h"

#include <chrono>
#include <utility>

#include "config/addresses.h"
#include "core/names.h"
#include "daemon/clock.h"
#include "daemon/status.h"
#include "http/client.h"
#include "http/page.h"
#include "telemetry/metrics.h"

namespace retryd::daemon {

namespace {

using config::LogLevel;

constexpr const char* plain = "text/plain; charset=utf-8";
constexpr const char* http_fault = "http";
constexpr const char* depths_fault = "depths";

std::string cannot_listen(const config::Http& listen, const std::string& why) {
    return "http.listen: cannot listen on " + config::to_string(listen) + " (" + why + ")";
}

}  // namespace

HttpSide::HttpSide(const Configuration& configuration, const Watchdog& watchdog, Standing& standing,
                   telemetry::Log& log)
    : configuration_(configuration), watchdog_(watchdog), standing_(standing), log_(log), started_(wall_now()) {}

HttpSide::~HttpSide() = default;

std::unique_ptr<http::Server> HttpSide::serve(Serving& serving, const config::Http& listen) const {
    const http::Handlers handlers{{"/",
                                   [] {
                                       return http::Reply{200, "text/html; charset=utf-8", std::string{http::page()}};
                                   }},
                                  {"/healthz", [this] { return health(); }},
                                  {"/metrics", [this, &serving] { return metrics(serving); }},
                                  {"/readyz", [this] { return readiness(); }},
                                  {"/status.json", [this, &serving] { return status(serving); }}};
    auto server = std::make_unique<http::Server>(listen, handlers);
    serving.listen = listen;
    const std::string url = "http://" + config::to_string(server->address());
    log_.write(LogLevel::info, "http_listening", "metrics, health and status page on " + url, {{"url", url}});
    return server;
}

bool HttpSide::start() {
    const auto settings = configuration_.current();
    if (!settings->http) return true;
    auto serving = std::make_unique<Serving>(std::make_shared<telemetry::Tally>());
    try {
        serving->server = serve(*serving, *settings->http);
    } catch (const http::Error& error) {
        log_.write(LogLevel::error, "http_failed",
                   cannot_listen(*settings->http, error.what()) +
                       ". retryd does not start; nothing on the broker was touched. Choose another address, end what "
                       "holds this one (`ss -ltnp` names it), or take out the section http");
        return false;
    }
    const std::lock_guard lock(mutex_);
    serving_ = std::move(serving);
    expect_queues();
    return true;
}

void HttpSide::follow() {
    const auto settings = configuration_.current();
    if (!settings->http) {
        if (!serving_) return;
        log_.write(LogLevel::info, "http_ended", "no section http any more: nothing is served over HTTP from now on");
        standing_.healed(http_fault);
        standing_.healed(depths_fault);
        return stop();
    }
    if (!serving_ || serving_->listen != *settings->http) {
        move_to(*settings->http);
    } else {
        standing_.healed(http_fault);
    }
    if (serving_) expect_queues();
}

/// The new address first, then without the former one.
void HttpSide::move_to(const config::Http& listen) {
    auto serving = serving_ ? nullptr : std::make_unique<Serving>(std::make_shared<telemetry::Tally>());
    try {
        Serving& with = serving_ ? *serving_ : *serving;
        const auto former = std::exchange(with.server, serve(with, listen));
    } catch (const http::Error& error) {
        const std::string text =
            cannot_listen(listen, error.what()) + ". " +
            (serving_ ? "It stays at " + config::to_string(serving_->server->address()) : "Nothing is served") +
            "; messages go on all the same. Choose another address and reload, or restart retryd where the new address "
            "only overlaps the old one";
        standing_.lasts(http_fault, text);
        return log_.write(LogLevel::error, "http_failed", text);
    }
    standing_.healed(http_fault);
    const std::lock_guard lock(mutex_);
    if (serving) serving_ = std::move(serving);
}

void HttpSide::stop() {
    std::unique_ptr<Serving> former;  // ends after the lock: look() must not wait for that
    const std::lock_guard lock(mutex_);
    former = std::move(serving_);
}

void HttpSide::expect_queues() const {
    std::vector<std::string> names;
    for (const core::Entry& entry : configuration_.current()->policy.entries) {
        if (!core::is_glob(entry.match)) names.push_back(entry.match);
    }
    serving_->tally->expect(names);
}

void HttpSide::look(core::SteadyTime now) {
    const std::lock_guard lock(mutex_);
    if (!serving_) return;
    serving_->history.look(*serving_->tally, now);
    const Standing::Now standing = standing_.now();
    std::optional<DepthWatch::Subject> subject;
    if (standing.phase == Standing::Phase::consuming) subject = {configuration_.current(), standing.endpoint};
    serving_->depths.watch(subject);
    if (subject) tell_of_depths(serving_->depths.seen());
}

void HttpSide::tell_of_depths(const DepthWatch::Seen& seen) {
    if (seen.fault == depths_fault_ || !telemetry::Log::takes_more()) return;
    depths_fault_ = seen.fault;
    if (seen.fault.empty()) {
        standing_.healed(depths_fault);
        return log_.write(LogLevel::info, "depths_counted", "the messages in the queues are counted again");
    }
    const std::string text = "the messages in the queues cannot be counted: " + seen.fault +
                             ". Metrics and status page are without them; messages go on all the same. It is tried "
                             "again by itself";
    standing_.lasts(depths_fault, text);
    log_.write(LogLevel::warning, "depths_failed", text);
}

http::Reply HttpSide::metrics(const Serving& serving) const {
    const Standing::Now standing = standing_.now();
    const Configuration::Reloads reloads = configuration_.reloads();
    telemetry::Measured measured{RETRYD_VERSION, started_, serving.tally->counts(), {}, {}, {}, {}, {}, {}, {}};
    measured.depths = depths_of(serving.depths.seen());
    measured.connected = standing.phase == Standing::Phase::consuming;
    measured.blocked = standing.blocked.has_value();
    measured.reconnects = standing.reconnects;
    measured.reloads = reloads.taken;
    measured.refused_reloads = reloads.refused;
    measured.process = telemetry::this_process();
    return {200, telemetry::metrics_type, telemetry::metrics_text(measured)};
}

http::Reply HttpSide::status(const Serving& serving) const {
    const auto settings = configuration_.current();
    const StatusSources sources{standing_.now(), *settings, serving.tally->counts(), serving.depths.seen(),
                                serving.history.lately(*serving.tally)};
    telemetry::Status status = status_of(sources);
    status.version = RETRYD_VERSION;
    status.now = wall_now();
    status.started = started_;
    status.config_file = configuration_.path();
    return {200, "application/json", telemetry::to_json(status)};
}

http::Reply HttpSide::health() const {
    const std::string why = watchdog_.why_stuck(steady_now(), *configuration_.current());
    if (why.empty()) return {200, plain, "ok\n"};
    return {503, plain, why + "\n"};
}

http::Reply HttpSide::readiness() const {
    const Standing::Now now = standing_.now();
    const std::string why = why_not_ready(now);
    if (!why.empty()) return {503, plain, "not ready: " + why + "\n"};
    if (now.blocked) return {200, plain, "ready, but " + why_blocked(now) + "\n"};
    return {200, plain, "ready: connected to " + now.broker + "\n"};
}

}  // namespace retryd::daemon
