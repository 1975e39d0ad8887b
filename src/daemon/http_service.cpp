#include "daemon/http_service.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/addresses.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "daemon/status.h"
#include "http/client.h"
#include "http/page.h"
#include "system/clock.h"
#include "telemetry/metrics.h"

namespace retryd::daemon {

namespace {

using config::LogLevel;

constexpr const char* listen_fault = "http";
constexpr const char* count_fault = "depths";

/// A line of plain text; parts of it may come from the broker.
http::Reply plain_reply(int status, const std::string& line) {
    return {status, "text/plain; charset=utf-8", core::safe_line(line) + "\n"};
}

/// Compares them as configured.
bool same_address(const config::Http& one, const config::Http& other) {
    return one.host == other.host && one.port == other.port;
}

http::Reply status_page() {
    return {
        200, "text/html; charset=utf-8", std::string{http::page()}, {{"Content-Security-Policy", http::page_policy()}}};
}

std::string cannot_listen(const config::Http& listen, const std::string& why) {
    return "http.listen: cannot listen on " + config::to_string(listen) + " (" + why + ")";
}

}  // namespace

HttpService::HttpService(const Configuration& configuration, const Watchdog& watchdog, DaemonState& state,
                         PeriodicChecks& checks, telemetry::Log& log, const HeldQueues& held, const ParkedAge& age,
                         Desk& desk)
    : configuration_(configuration),
      watchdog_(watchdog),
      state_(state),
      checks_(checks),
      log_(log),
      held_(held),
      age_(age),
      desk_(desk),
      started_(system::wall_now()) {}

HttpService::~HttpService() = default;

std::unique_ptr<http::Server> HttpService::serve(Serving& serving, const config::Http& listen) const {
    const http::Handlers handlers{{"/", status_page},
                                  {"/healthz", [this] { return health(); }},
                                  {"/history.json", [&serving] { return history(serving); }},
                                  {"/metrics", [this, &serving] { return metrics(serving); }},
                                  {"/readyz", [this] { return readiness(); }},
                                  {"/status.json", [this, &serving] { return status(serving); }}};
    auto server = std::make_unique<http::Server>(listen, handlers, std::chrono::seconds{10}, desk_.api());
    serving.listen = listen;
    const std::string url = "http://" + config::to_string(server->address());
    log_.write(LogLevel::info, "http_listening", "metrics, health and status page on " + url, {{"url", url}});
    return server;
}

bool HttpService::start() {
    const auto settings = configuration_.current();
    if (!settings->http) return true;
    configure_desk(*settings->http, true);  // there is no other server yet
    auto serving = std::make_unique<Serving>(std::make_shared<telemetry::MessageStats>());
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
    expect_configured_queues();
    return true;
}

void HttpService::follow_reload() {
    checks_.hold();
    const auto settings = configuration_.current();
    if (!settings->http) {
        desk_.configure(std::nullopt);
        if (!serving_) return;
        log_.write(LogLevel::info, "http_ended", "no section http any more: nothing is served over HTTP from now on");
        state_.faults().clear(listen_fault);
        state_.faults().clear(count_fault);
        return stop();
    }
    serve_as(*settings->http);
    if (serving_) expect_configured_queues();
}

/// If the desk is switched off, it ends before the server moves to another address; if it is switched on, it starts
/// after that. So the desk is never served on the wrong address.
void HttpService::serve_as(const config::Http& listen) {
    if (!listen.admin) desk_.configure(listen);
    if (!serving_ || !same_address(serving_->listen, listen)) {
        move_to(listen);
    } else {
        state_.faults().clear(listen_fault);
    }
    configure_desk(listen, serving_ && same_address(serving_->listen, listen));
}

/// The desk may only be reached from this machine, and a server that could not move to the configured address may still
/// be open to everybody.
void HttpService::configure_desk(config::Http http, bool listens_there) {
    if (!listens_there || !config::is_loopback(http.host)) http.admin.reset();
    desk_.configure(http);
}

/// Listens on the new address first and then closes the former one.
void HttpService::move_to(const config::Http& listen) {
    auto serving = serving_ ? nullptr : std::make_unique<Serving>(std::make_shared<telemetry::MessageStats>());
    try {
        Serving& with = serving_ ? *serving_ : *serving;
        const auto former = std::exchange(with.server, serve(with, listen));
    } catch (const http::Error& error) {
        const std::string text =
            cannot_listen(listen, error.what()) + ". " +
            (serving_ ? "It stays at " + config::to_string(serving_->server->address()) : "Nothing is served") +
            "; messages go on all the same." +
            (listen.admin ? " The desk (http.admin) stays off until retryd listens on the new address." : "") +
            " Choose another address and reload, or restart retryd where the new address "
            "only overlaps the old one";
        state_.faults().raise(listen_fault, text);
        return log_.write(LogLevel::error, "http_failed", text);
    }
    state_.faults().clear(listen_fault);
    const std::lock_guard lock(mutex_);
    if (serving) serving_ = std::move(serving);
}

void HttpService::stop() {
    std::unique_ptr<Serving> former;  // destroyed once the mutex is unlocked: tick() must not wait for that
    const std::lock_guard lock(mutex_);
    former = std::move(serving_);
}

void HttpService::expect_configured_queues() const {
    std::vector<std::string> names;
    for (const core::Entry& entry : configuration_.current()->policy.entries) {
        if (!core::is_glob(entry.match)) names.push_back(entry.match);
    }
    serving_->stats->expect(names);
}

void HttpService::tick(core::SteadyTime now) {
    const auto settings = configuration_.current();  // before the state, which knows what they are to declare
    const DaemonState::Snapshot state = state_.snapshot();
    tick_checks(settings, state, now);
    const std::lock_guard lock(mutex_);
    if (!serving_) return;
    serving_->history.sample(*serving_->stats, now);
    std::optional<BrokerTarget> target;
    if (state.phase == DaemonState::Phase::consuming) target = {configuration_.current(), *state.endpoint};
    serving_->depths.poll(target);
    serving_->depths.ask_for(serving_->history.failing());
    if (target) report_depths_fault(serving_->depths.snapshot().fault);
}

/// Findings stay while the broker is unreachable: they may be the reason. What is still being declared would be told
/// as missing, so it is looked for only then, or after a minute: a broker may leave a declare unanswered for hours.
void HttpService::tick_checks(const std::shared_ptr<const config::Settings>& settings,
                              const DaemonState::Snapshot& state, core::SteadyTime now) {
    constexpr core::Milliseconds longest{60'000};
    const bool declares = state.declaring_in_advance;
    if (declares && !declaring_since_) declaring_since_ = now;
    const bool overdue = declaring_since_ && now - *declaring_since_ >= longest;
    if (!declares && overdue) checks_.look_again();  // what has been told as missing may be there
    if (!declares) declaring_since_.reset();
    checks_.pause(declares && !overdue);
    if (!settings->management) {
        checks_.end();
    } else if (state.phase == DaemonState::Phase::consuming && (!declares || overdue)) {
        checks_.look_at({settings, *state.endpoint});
    }
    const core::WallTime newest = state.faults.empty() ? core::WallTime{} : state.faults.back().since;
    if (newest > newest_fault_) checks_.look_again();
    newest_fault_ = std::max(newest_fault_, newest);
    for (const PeriodicChecks::News& news : checks_.take_news())
        report(news);
}

void HttpService::report(const PeriodicChecks::News& news) {
    constexpr std::size_t most_names = 10;
    const admin::Finding& finding = news.finding;
    const auto& kind = kind_of(finding.code);
    const std::string code{kind.name};
    if (!news.begins) {
        return log_.write(LogLevel::info, "finding_over", "no longer so: " + finding.cause, {{"code", code}});
    }
    std::string text = finding.cause;
    if (finding.names.size() > 1) {
        const std::vector<std::string> others(finding.names.begin() + 1, finding.names.end());
        text += "; the same with " + admin::folded(others, most_names);
    }
    text += ". Consequence: " + finding.consequence + ". Remedy: " + finding.remedy;
    if (!finding.command.empty()) text += ": " + finding.command;
    log_.write(finding.severity == admin::Severity::problem ? LogLevel::error : LogLevel::warning, "finding", text,
               {{"code", code},
                {"severity", std::string{to_string(finding.severity)}},
                {"names", static_cast<std::int64_t>(finding.names.size())}});
}

/// Logs the fault when it begins and when it is over (`fault` is empty then).
void HttpService::report_depths_fault(const std::string& fault) {
    if (fault == depths_fault_) return;
    depths_fault_ = fault;
    if (fault.empty()) {
        state_.faults().clear(count_fault);
        return log_.write(LogLevel::info, "depths_counted", "the messages in the queues are counted again");
    }
    const std::string text = "the messages in the queues cannot be counted: " + fault +
                             ". Metrics and status page are without them; messages go on all the same. It is tried "
                             "again by itself";
    state_.faults().raise(count_fault, text);
    log_.write(LogLevel::warning, "depths_failed", text);
}

http::Reply HttpService::metrics(const Serving& serving) const {
    const DaemonState::Snapshot state = state_.snapshot();
    const Configuration::Reloads reloads = configuration_.reloads();
    telemetry::Measured measured;
    measured.version = RETRYD_VERSION;
    measured.started = started_;
    measured.counts = serving.stats->counts();
    measured.depths = depths_of(serving.depths.snapshot());
    measured.held = status_of(held_.shown(system::steady_now()));
    measured.aged = age_.counts();
    measured.connected = state.phase == DaemonState::Phase::consuming;
    measured.blocked = state.blocked.has_value();
    measured.error_queue_silent = !state.error_queue_silent.empty();
    measured.reconnects = state.reconnects;
    measured.reloads = reloads.taken;
    measured.refused_reloads = reloads.refused;
    measured.checks = checks_.status();
    measured.process = telemetry::this_process();
    return {200, telemetry::metrics_type, telemetry::metrics_text(measured)};
}

http::Reply HttpService::status(const Serving& serving) const {
    const auto settings = configuration_.current();
    const StatusSources sources{state_.snapshot(), *settings, serving.stats->counts(), serving.depths.snapshot(),
                                serving.history.lately(*serving.stats)};
    telemetry::Status status = status_of(sources);
    status.outages = status_of(held_.shown(system::steady_now()));
    status.version = RETRYD_VERSION;
    status.now = system::wall_now();
    status.started = started_;
    status.config_file = configuration_.path();
    status.checks = checks_.status();
    status.desk = desk_.there();
    return {200, "application/json", telemetry::to_json(status)};
}

http::Reply HttpService::history(const Serving& serving) {
    return {200, "application/json", telemetry::to_json(serving.history.day(), system::wall_now())};
}

http::Reply HttpService::health() const {
    const std::string why = watchdog_.why_stuck(system::steady_now(), *configuration_.current());
    if (why.empty()) return plain_reply(200, "ok");
    return plain_reply(503, why);
}

http::Reply HttpService::readiness() const {
    const DaemonState::Snapshot state = state_.snapshot();
    const std::string why = why_not_ready(state);
    if (!why.empty()) return plain_reply(503, "not ready: " + why);
    if (state.blocked) return plain_reply(200, "ready, but " + why_blocked(state));
    return plain_reply(200, "ready: connected to " + state.broker);
}

}  // namespace retryd::daemon
