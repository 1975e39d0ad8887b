// One session with the broker: connect, declare, consume, relay messages, take a reload up, and end in order when asked
// to.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "amqp/aside.h"
#include "amqp/broker_session.h"
#include "amqp/held_heads.h"
#include "amqp/sources.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/decide.h"
#include "core/time.h"
#include "daemon/configuration.h"
#include "daemon/flow_events.h"
#include "daemon/held_queues.h"
#include "daemon/http_service.h"
#include "daemon/queue_finders.h"
#include "daemon/requests.h"
#include "daemon/watchdog.h"
#include "relay/head_trial.h"
#include "relay/poison.h"
#include "relay/relay.h"
#include "telemetry/log.h"

namespace retryd::daemon {

/// The parts of the daemon that outlive each session.
struct SessionContext {
    Configuration& configuration;
    telemetry::Log& log;
    Requests& requests;
    const core::Dice& dice;
    relay::PoisonDetector& poison;
    relay::HeadTrial& trial;
    amqp::HeldHeads& held_heads;  // until the trial is over
    amqp::SourceMemories& sources;
    Watchdog& watchdog;
    HttpService& http;
    HeldQueues& held;
    amqp::EndingSteps& ending_steps;
};

class Session : private amqp::BrokerSessionObserver {
  public:
    /// Connects; throws amqp::Error. `name` is what the log calls the broker. All that `context` refers to must outlive
    /// it.
    Session(const SessionContext& context, const config::Endpoint& endpoint, std::string name,
            core::ProofKeys proof_keys);

    /// Returns when a stop was requested, or when the configuration was reloaded and takes a new connection: then all
    /// that was in flight is settled, or the shutdown timeout is over. Throws amqp::Error where the broker or the
    /// connection fails: then the broker delivers again what was not acked.
    void run();
    ~Session() override;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

  private:
    void serve();
    void begin_trial();
    void report_load(const core::Now& now);
    void look_for_held(core::SteadyTime began, core::SteadyTime now);
    void handle_requests(const core::Now& now);
    void handle_reload(const core::Now& now);
    void adopt_next(const core::Now& now);
    void begin_shutdown(const core::Now& now);
    bool shutdown_is_over(const core::Now& now);
    core::Milliseconds time_to_wait(const core::Now& now) const;
    void report_slow_declare(core::SteadyTime began, core::SteadyTime now);
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
    void delivery_stuck(std::string_view note) override;
    void delivery_free() override;
    void blocked(std::string_view reason) override;
    void unblocked() override;
    void trial_over() override;
    void source_trouble(std::string_view source, amqp::SourceTrouble trouble, std::string_view note) override;
    void source_works(std::string_view source, amqp::SourceTrouble trouble, std::string_view note) override;

    SessionContext context_;
    std::shared_ptr<const config::Settings> settings_;
    std::shared_ptr<const config::Settings> next_;  // to be adopted once nothing is in flight; mostly null
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
    std::optional<SourceFinder> finder_;                 // where there are globs among the sources
    std::set<std::string> source_faults_;                // their keys
    bool looking_for_held_ = false;                      // the broker has been asked
    bool reported_ready_ = false;                        // systemd has been told how the attempt to connect went
};

/// Reads the configuration again, as SIGHUP asks for, with or without a session. The HTTP service, the watchdog,
/// systemd and the status page are told the result. True: another configuration is current, and a session has to take
/// it up.
bool reload(const SessionContext& context);

}  // namespace retryd::daemon
