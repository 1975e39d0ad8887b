#include "daemon/run.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "amqp/background.h"
#include "config/load.h"
#include "core/duration.h"
#include "daemon/checks.h"
#include "daemon/configuration.h"
#include "daemon/desk.h"
#include "daemon/held_queues.h"
#include "daemon/held_threads.h"
#include "daemon/http_service.h"
#include "daemon/parked_age.h"
#include "daemon/requests.h"
#include "daemon/supervisor.h"
#include "daemon/systemd.h"
#include "system/clock.h"
#include "system/signals.h"
#include "telemetry/log.h"

namespace retryd::daemon {

namespace {

using config::LogLevel;

constexpr int failed = 1;
constexpr int wrong_configuration = 78;

/// The connected broker.
std::optional<BrokerTarget> relayed_on(const SessionContext& daemon) {
    const DaemonState::Snapshot state = daemon.http.state().snapshot();
    if (state.phase != DaemonState::Phase::consuming) return std::nullopt;
    return BrokerTarget{daemon.configuration.current(), *state.endpoint};
}

/// Runs in the second thread: passes signals on, frees the main thread from a network call that hangs, and ends the
/// process if it hangs at the end.
void watch_over(const system::Signals& signals, const SessionContext& daemon, HeldThreads& held, ParkedAge& age,
                DeskRuns& desk, const StopLatch& ended) {
    constexpr core::Milliseconds a_turn{1'000};
    constexpr core::Milliseconds grace{500};
    while (!ended.requested()) {
        const int signal = signals.wait(a_turn, ended.fd());
        if (signal == SIGHUP) daemon.requests.reload();
        if (signal == SIGTERM || signal == SIGINT) break;
        daemon.watchdog.watch(system::steady_now());
        daemon.http.tick(system::steady_now());
        const auto target = relayed_on(daemon);
        held.follow(target);
        age.tick(target, system::steady_now());
    }
    daemon.requests.stop();
    desk.close();
    held.follow(std::nullopt);
    age.tick(std::nullopt, system::steady_now());
    const core::Milliseconds timeout = daemon.configuration.current()->shutdown_timeout;
    constexpr core::Milliseconds farewell{5'000};
    notify_stopping(timeout + farewell);
    if (ended.wait(timeout + grace)) return;
    daemon.log.write(
        LogLevel::warning, "stop_forced",
        "did not end within the shutdown timeout of " + core::format_duration(timeout) +
            "; leaving now. What was not acked is given again by the broker: nothing is lost, some messages may "
            "come twice");
    _exit(1);
}

/// Returns the exit code.
int run_with(const std::string& path, config::Settings settings, const Check& check, const AgeOut& age_out,
             const DeskActions& actions) {
    amqp::provide_decode_stack();
    // Never destroyed, so that a second SIGTERM cannot kill the process while it ends.
    static const auto& signals = *new system::Signals{SIGTERM, SIGINT, SIGHUP};
    telemetry::Log log(settings.log, telemetry::sink_of_standard_error());
    Configuration configuration(path, std::move(settings), log);
    Requests requests;
    StopLatch ended;
    std::random_device seed;
    std::minstd_rand generator(seed());
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    const core::Random random_number = [&] { return uniform(generator); };

    log.write(LogLevel::info, "started", "retryd " RETRYD_VERSION " started with " + path,
              {{"version", RETRYD_VERSION}, {"file", path}});
    relay::PoisonDetector poison;
    relay::HeadTrial trial;
    amqp::BlockedHeadConnections blocked_heads;
    amqp::SourceMemories sources;
    amqp::ConnectionClosingSteps connection_closing_steps;
    amqp::ForbiddenDeclares forbidden_declares;
    RungsSeenAt rungs_seen;
    Watchdog watchdog(log, watchdog_interval());
    DaemonState state;
    PeriodicChecks checks(check);
    const auto held = std::make_shared<HeldQueues>(log);
    ParkedAge age(age_out, log, state.faults());
    const auto target = [&]() -> std::optional<BrokerTarget> {
        const DaemonState::Snapshot now = state.snapshot();
        if (now.phase != DaemonState::Phase::consuming) return std::nullopt;
        return BrokerTarget{configuration.current(), *now.endpoint};
    };
    Desk desk(actions, log, target, [held](const std::string& work_queue, bool hold) {
        return hold ? held->hold(work_queue, system::now()) : held->release(work_queue, system::now());
    });
    HttpService http(configuration, watchdog, state, checks, log, *held, age, desk);
    watchdog.turned(system::steady_now());
    watchdog.allow(*configuration.current());
    notify_starting(longest_turn(*configuration.current()));
    if (!http.start()) return failed;
    auto held_threads = std::make_unique<HeldThreads>(held);
    const SessionContext daemon{
        configuration,      log,       requests, random_number, poison, trial,
        blocked_heads,      sources,   watchdog, http,          *held,  connection_closing_steps,
        forbidden_declares, rungs_seen};
    std::thread watcher([&] { watch_over(signals, daemon, *held_threads, age, desk.runs(), ended); });
    supervise(daemon);
    http.stop();
    desk.runs().end(DeskRuns::patience_within(configuration.current()->shutdown_timeout));
    ended.request();
    watcher.join();
    age.end();
    held_threads.reset();
    log.write(LogLevel::info, "stopped", "stopped");
    return 0;
}

}  // namespace

int run(const std::string& config_path, const Check& check, const AgeOut& age_out, const DeskActions& desk) {
    auto loaded = config::load_file(config_path, config::process_environment());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) {
        std::cerr << config::format(*problems, config_path)
                  << "retryd does not start; nothing on the broker was touched\n";
        return wrong_configuration;
    }
    return run_with(config_path, std::get<config::Settings>(std::move(loaded)), check, age_out, desk);
}

}  // namespace retryd::daemon
