// One session with the broker: connects, declares, consumes, relays messages, adopts a reload, and ends cleanly when
// asked to.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "amqp/aside.h"
#include "amqp/broker_session.h"
#include "amqp/poison_head.h"
#include "amqp/sources.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/decide.h"
#include "core/time.h"
#include "daemon/configuration.h"
#include "daemon/held_queues.h"
#include "daemon/http_service.h"
#include "daemon/queue_finders.h"
#include "daemon/requests.h"
#include "daemon/watchdog.h"
#include "relay/head_trial.h"
#include "relay/poison.h"
#include "relay/relay.h"
#include "relay/reporter.h"
#include "telemetry/faults.h"
#include "telemetry/log.h"
#include "telemetry/log_reporter.h"
#include "telemetry/stats.h"

namespace retryd::daemon {

// Passes the reports of the flow on to the log (LogReporter), the counters and the outage detection.

/// Belongs to one session: its destructor clears what the session knew about the broker.
class FlowEvents : public relay::Reporter {
  public:
    /// All of them must outlive it. `stats` is null if no numbers are served.
    FlowEvents(telemetry::Log& log, telemetry::Faults& faults, telemetry::MessageStats* stats, HeldQueues& held)
        : log_(log, faults), stats_(stats), held_(held) {}
    ~FlowEvents() override {
        in_flight(0);
        oldest_unsettled({});
    }
    FlowEvents(const FlowEvents&) = delete;
    FlowEvents& operator=(const FlowEvents&) = delete;

    /// Logs what was held back and would not be told with another line. Cheap if there is nothing.
    void report_suppressed(core::SteadyTime now) { log_.report_suppressed(now); }
    /// Replaces the counters; null: none.
    void count_with(telemetry::MessageStats* stats) { stats_ = stats; }
    void tick(core::SteadyTime now) { log_.tick(now); }
    void oldest_unsettled(core::Milliseconds age) {
        if (stats_ != nullptr) stats_->oldest_unsettled(age);
    }
    void in_flight(std::size_t messages) {
        if (stats_ != nullptr) stats_->in_flight(messages);
    }

    void settled(const relay::Settled& message) override;
    void dead_lettered(std::string_view work_queue, std::string_view why) override;
    void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) override;
    void parked_before(std::string_view exchange) override;
    void unroutable(std::string_view exchange, std::string_view routing_key) override;
    void silent(const relay::TargetName& target) override;
    void requeued(const relay::TargetName& target, relay::RequeueCause cause, core::Milliseconds delay) override;
    void refused(relay::TargetRole role, std::string_view name, std::string_view why) override;
    void healed(relay::TargetRole role, std::string_view name) override;
    void not_needed(relay::TargetRole role, std::string_view name) override;

  private:
    telemetry::LogReporter log_;
    telemetry::MessageStats* stats_;
    HeldQueues& held_;
};

/// The rungs that have been there on those brokers.
struct RungsSeenAt {
    std::vector<config::Endpoint> brokers;
    relay::RungsSeen rungs;
};

/// The parts of the daemon that outlive each session.
struct SessionContext {
    Configuration& configuration;
    telemetry::Log& log;
    Requests& requests;
    const core::Random& random_number;
    relay::PoisonDetector& poison;
    relay::HeadTrial& trial;
    amqp::BlockedHeadConnections& blocked_heads;  // released when the trial is over
    amqp::SourceMemories& sources;
    Watchdog& watchdog;
    HttpService& http;
    HeldQueues& held;
    amqp::ConnectionClosingSteps& connection_closing_steps;
    amqp::ForbiddenDeclares& forbidden_declares;
    RungsSeenAt& rungs_seen;
};

class Session : private amqp::BrokerSessionObserver {
  public:
    /// Connects; throws amqp::Error. `name` is what the log calls the broker. All that `context` refers to must outlive
    /// it.
    Session(const SessionContext& context, const config::Endpoint& endpoint, std::string name,
            core::ProofKeys proof_keys);

    /// Returns when a stop was requested, or when a reloaded configuration requires a new connection: then everything
    /// in flight is settled, or the shutdown timeout is over. Throws amqp::Error if the broker or the connection fails;
    /// the broker then delivers again what was not acked.
    void run();
    ~Session() override;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

  private:
    void serve();
    void begin_trial();
    void turn_blocked_heads(core::SteadyTime now);
    void report_load(const core::Now& now);
    void look_for_held(core::SteadyTime began, core::SteadyTime now);
    void handle_requests(const core::Now& now);
    void handle_reload(const core::Now& now);
    void adopt_next(const core::Now& now);
    void begin_shutdown(const core::Now& now);
    bool shutdown_is_over(const core::Now& now);
    core::Milliseconds time_to_wait(const core::Now& now) const;
    void report_slow_declare(core::SteadyTime began, core::SteadyTime now);
    void begin_declaring();
    void report_declared();
    void warn_of_old_broker();
    void find_sources(const core::Now& now);
    void look_for_sources();
    void find_plumbing(const core::Now& now);

    void consuming() override;
    void accepted(std::string_view note) override;
    void declares_again(std::string_view note) override;
    void unanswered(std::string_view note) override;
    void error_queue_silent(std::string_view note) override;
    void error_queue_answers() override;
    void error_queue_not_asked(std::string_view note) override;
    void error_queue_asked() override;
    void delivery_stuck(std::string_view note) override;
    void delivery_free() override;
    void blocked(std::string_view reason) override;
    void unblocked() override;
    void trial_over() override;
    void source_trouble(std::string_view source, amqp::SourceTrouble trouble, std::string_view note) override;
    void source_works(std::string_view source, amqp::SourceTrouble trouble, std::string_view note) override;

    SessionContext context_;
    std::shared_ptr<const config::Settings> settings_;
    std::shared_ptr<const config::Settings> next_;  // adopted once nothing is in flight; usually null
    const config::Endpoint endpoint_;
    std::string name_;
    telemetry::Log& log_;
    FlowEvents events_;
    amqp::BrokerSession broker_;
    Watchdog::Guard guard_;
    core::BrokerFeatures features_;
    PlumbingFinder plumbing_;
    relay::Relay relay_;
    std::optional<core::SteadyTime> shutdown_deadline_;  // set once the session is to end
    std::optional<SourceFinder> finder_;                 // present if sources have globs
    std::set<std::string> source_faults_;                // keys of the faults that are raised
    std::optional<std::string> looking_for_held_;        // the work queue that the broker has been asked for
    bool declaring_in_advance_ = false;                  // as state() says
    bool reported_ready_ = false;                        // systemd has been told how the attempt to connect went
};

/// Reloads the configuration after SIGHUP, with or without a session, and tells the HTTP service, the watchdog, systemd
/// and the status page. True: another configuration is current, and the session has to adopt it.
bool reload(const SessionContext& context);

}  // namespace retryd::daemon
