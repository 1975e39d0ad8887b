#include "daemon/supervisor.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "amqp/error.h"
#include "amqp/head_rejection.h"
#include "amqp/poison_head.h"
#include "amqp/proof_keys.h"
#include "amqp/refusal.h"
#include "amqp/sync_admin.h"
#include "config/addresses.h"
#include "core/broker_features.h"
#include "core/duration.h"
#include "core/safe_text.h"
#include "daemon/session.h"
#include "daemon/systemd.h"
#include "system/clock.h"

namespace retryd::daemon {

core::Milliseconds Backoff::next(double random) {
    const core::Milliseconds full = next_;
    next_ = std::min(next_ * 2, settings_.max);
    const core::Milliseconds half = full / 2;
    return half + core::Milliseconds{
                      static_cast<core::Milliseconds::rep>(random * static_cast<double>((full - half).count()))};
}

bool ReportedFaults::is_news(const std::string& broker, const std::string& fault) {
    std::string& last = last_[broker];
    if (last == fault) return false;
    last = fault;
    return true;
}

namespace {

using config::LogLevel;

void log_fault(telemetry::Log& log, LogLevel level, const std::string& broker, const amqp::Error& error,
               core::Milliseconds wait, bool another_broker) {
    const bool at_once = wait == core::Milliseconds::zero();
    const bool too_long = error.kind() == amqp::Error::Kind::refusal_too_long;
    const std::string next = another_broker ? "trying the next broker"
                             : too_long     ? "connecting again at once"
                             : at_once      ? "connecting again at once, for one message after the other"
                                            : "trying again in " + core::format_duration(wait);
    log.write(level, "disconnected",
              broker + ": " + error.what() + ". " + amqp::consequence(error.kind()) + "; " + next + "; " +
                  amqp::remedy(error),
              {{"broker", broker}, {"cause", error.what()}, {"retry_in_ms", wait.count()}});
}

std::string name_of(const config::Endpoint& endpoint) {
    return config::host_and_port(endpoint.host, endpoint.port) + ", vhost " + core::quoted(endpoint.vhost);
}

/// The brokers of one configuration, in turn, until it is replaced or a stop is requested.
class ReconnectLoop {
  public:
    explicit ReconnectLoop(const SessionContext& context)
        : context_(context),
          settings_(context.configuration.current()),
          proof_keys_(amqp::proof_keys(*settings_)),
          backoff_(settings_->broker.reconnect) {}

    void run();

  private:
    bool over() const { return context_.requests.stopping() || context_.configuration.current() != settings_; }
    void try_one(const config::Endpoint& endpoint, bool last_of_list);
    void after_fault(const config::Endpoint& endpoint, const amqp::Error& error, bool lasted, bool last_of_list);
    bool goes_on_at_once(const amqp::Error& error) const;
    bool may_reject_later() const;
    bool may_reject_head() const;
    bool reject_head(const config::Endpoint& endpoint);
    void report_rejected(const config::Endpoint& endpoint, const std::vector<amqp::amqp10::Description>& messages);
    void remove_poison_head(const config::Endpoint& endpoint, bool last_of_list);
    void set_blocking_head_aside(const amqp::Error& error, const config::Endpoint& endpoint, bool last_of_list);
    std::optional<amqp::PoisonHead> end_connections_over_head(const config::Endpoint& endpoint, bool last_of_list);
    void wait_if_head_stays(const amqp::PoisonHead& head, const config::Endpoint& endpoint);
    void report_staying(const config::Endpoint& endpoint);
    void wait(core::Milliseconds time) const;

    const SessionContext& context_;
    const std::shared_ptr<const config::Settings> settings_;
    const core::ProofKeys proof_keys_;  // made once: from a password that takes a while
    Backoff backoff_;
    ReportedFaults faults_;
    bool head_stays_ = false;              // no delivery limit takes away what is at the head of the error queue
    bool rejects_before_isolated_ = true;  // also before the head is isolated; the last time that worked
    core::SteadyTime rejects_again_{};
    core::Milliseconds no_rejecting_for_{};
    bool speaks_amqp_1_0_ = true;  // as far as is known
};

void ReconnectLoop::run() {
    const auto& endpoints = settings_->broker.endpoints;
    for (std::size_t turn = 0; !over(); turn = (turn + 1) % endpoints.size())
        try_one(endpoints[turn], turn + 1 == endpoints.size());
}

void ReconnectLoop::try_one(const config::Endpoint& endpoint, bool last_of_list) {
    const core::SteadyTime begin = system::steady_now();
    context_.watchdog.turned(begin);
    try {
        Session(context_, endpoint, name_of(endpoint), proof_keys_).run();
    } catch (const amqp::Error& error) {
        if (error.kind() == amqp::Error::Kind::undeliverable) {
            const bool isolated = context_.trial.head_is_isolated();
            if ((isolated || (rejects_before_isolated_ && context_.trial.ended_before_any_delivery())) &&
                reject_head(endpoint))
                return;
            if (isolated) return remove_poison_head(endpoint, last_of_list);
        }
        if (error.kind() == amqp::Error::Kind::head_blocks_channel)
            return set_blocking_head_aside(error, endpoint, last_of_list);
        const bool lasted = error.kind() != amqp::Error::Kind::never_consumed &&
                            system::steady_now() - begin > settings_->broker.reconnect.max;
        after_fault(endpoint, error, lasted, last_of_list);
    }
}

void ReconnectLoop::after_fault(const config::Endpoint& endpoint, const amqp::Error& error, bool lasted,
                                bool last_of_list) {
    // A session that breaks at once does not reset the back-off: else it would be opened in a tight loop.
    if (lasted) {
        backoff_.reset();
        faults_.healed();
    }
    // Another broker of the list is tried at once; only when all of them have failed there is a wait.
    const bool at_once = goes_on_at_once(error);
    const core::Milliseconds time =
        last_of_list && !at_once ? backoff_.next(context_.random_number()) : core::Milliseconds::zero();
    const std::string broker = name_of(endpoint);
    log_fault(context_.log, faults_.is_news(broker, error.what()) ? LogLevel::error : LogLevel::debug, broker, error,
              time, !last_of_list && !at_once);
    context_.http.state().disconnected(broker, endpoint, error.what(), amqp::consequence(error.kind()));
    notify_ready(status_line(context_.http.state().snapshot()));
    wait(time);
}

/// The broker is well, and each such end gets one message out of the way, or makes the next end be about one alone. Not
/// where nothing may be declared: there a message that was passed over comes again.
bool ReconnectLoop::goes_on_at_once(const amqp::Error& error) const {
    if (error.kind() == amqp::Error::Kind::set_aside_unread) return settings_->declare;
    return error.kind() == amqp::Error::Kind::undeliverable || error.kind() == amqp::Error::Kind::refusal_too_long;
}

/// Not while a connection is kept for a message that the broker is busy with: the broker is slow, and we are not the
/// only consumer.
bool ReconnectLoop::may_reject_later() const {
    return context_.trial.dead_letters() && speaks_amqp_1_0_ && context_.blocked_heads.size() == 0;
}

bool ReconnectLoop::may_reject_head() const {
    return may_reject_later() && system::steady_now() >= rejects_again_;
}

/// False where nothing was rejected: another daemon consumes the queue, or it is not known to dead-letter to the
/// catch-all, or the broker does not speak AMQP 1.0. Then the delivery limit takes the message away.
bool ReconnectLoop::reject_head(const config::Endpoint& endpoint) {
    if (!may_reject_head()) return false;
    config::Broker broker = settings_->broker;
    broker.endpoints = {endpoint};
    const std::string& queue = settings_->policy.error_queue;
    std::optional<amqp::HeadRejection> rejection;
    try {
        amqp::SyncAdminConnection counting(broker, "retryd head");
        speaks_amqp_1_0_ = core::features_of(counting.version()).speaks_amqp_1_0;
        if (!speaks_amqp_1_0_) return false;
        rejection.emplace(
            endpoint, broker, counting.version(), queue,
            [&] { return counting.carry_out(amqp::Declarer::CheckQueue{queue}).counts; },
            [&] {
                context_.watchdog.turned(system::steady_now());
                return !context_.requests.stopping();
            });
        rejection->run();
    } catch (const amqp::Error& error) {
        context_.log.write(LogLevel::debug, "undeliverable_not_rejected",
                           name_of(endpoint) +
                               ": what RabbitMQ cannot hand over is left to the delivery limit of queue " +
                               core::quoted(queue) + ": " + error.what(),
                           {{"queue", queue}, {"cause", error.what()}});
    }
    rejects_before_isolated_ = rejection && !rejection->rejected().empty();
    if (!rejects_before_isolated_) {
        // What prevents it takes seconds to find out, and lasts: a deep message, another daemon.
        constexpr core::Milliseconds first{10'000};
        constexpr core::Milliseconds longest{5 * 60'000};
        no_rejecting_for_ = std::clamp(2 * no_rejecting_for_, first, longest);
        rejects_again_ = system::steady_now() + no_rejecting_for_;
        return false;
    }
    no_rejecting_for_ = {};
    context_.trial.head_tried(rejection->connections_ended(), false);
    context_.trial.rejected(rejection->rejected().size());
    report_rejected(endpoint, rejection->rejected());
    head_stays_ = false;
    backoff_.reset();
    return true;
}

void ReconnectLoop::report_rejected(const config::Endpoint& endpoint,
                                    const std::vector<amqp::amqp10::Description>& messages) {
    constexpr std::size_t most_told = 5;
    const std::string& queue = settings_->policy.error_queue;
    for (std::size_t i = 0; i < std::min(most_told, messages.size()); ++i) {
        const amqp::amqp10::Description& message = messages[i];
        std::string what;
        const auto tell = [&](const char* name, const std::string& value) {
            constexpr std::size_t longest = 100;
            if (!value.empty()) what += std::string{", "} + name + ' ' + core::quoted(value.substr(0, longest));
        };
        tell("published to exchange", message.exchange);
        tell("died first in queue", message.queue);
        tell("user-id", message.user_id);
        tell("message-id", message.message_id);
        tell("content-type", message.content_type);
        context_.log.write(LogLevel::warning, "undeliverable_rejected",
                           name_of(endpoint) +
                               ": a message that RabbitMQ cannot hand over by AMQP 0-9-1 goes from queue " +
                               core::quoted(queue) + " to " + core::quoted(settings_->policy.catch_all) + what,
                           {{"queue", queue}, {"died_in", core::safe_name(message.queue)}});
    }
}

void ReconnectLoop::remove_poison_head(const config::Endpoint& endpoint, bool last_of_list) {
    const auto head = end_connections_over_head(endpoint, last_of_list);
    if (!head) return;
    context_.trial.head_tried(head->connections_ended, head->state == amqp::PoisonHead::State::another);
    wait_if_head_stays(*head, endpoint);
}

/// The one that the broker is busy with is held, and the head is what is behind it: if that cannot be handed over, it
/// is got out of the way at once. If it can, it is behind nothing that cannot, and the next session takes it.
void ReconnectLoop::set_blocking_head_aside(const amqp::Error& error, const config::Endpoint& endpoint,
                                            bool last_of_list) {
    context_.log.write(LogLevel::info, "held_up", name_of(endpoint) + ": " + error.what(),
                       {{"queue", settings_->policy.error_queue}});
    const auto head = end_connections_over_head(endpoint, last_of_list);
    if (!head) return;
    context_.trial.blocking_head_set_aside(head->set_any_aside || head->connections_ended > 0);
    context_.trial.head_tried(head->connections_ended, false);
    wait_if_head_stays(*head, endpoint);
}

/// Nothing where there is no connection.
std::optional<amqp::PoisonHead> ReconnectLoop::end_connections_over_head(const config::Endpoint& endpoint,
                                                                         bool last_of_list) {
    constexpr int a_few = 3;
    // Whatever keeps them from being rejected may be over then.
    const int most =
        context_.trial.limited() && !may_reject_later() ? amqp::most_poison_head_attempts : amqp::poison_head_attempts;
    using Unreadable = amqp::HeadProbe::Unreadable;
    const Unreadable unreadable = context_.trial.dead_letters() ? Unreadable::dead_lettered : Unreadable::goes_back;
    try {
        return amqp::exhaust_delivery_limit({endpoint, settings_->broker, settings_->policy.error_queue, unreadable},
                                            context_.blocked_heads, head_stays_ ? a_few : most, amqp::poison_head_pause,
                                            [&] {
                                                context_.watchdog.turned(system::steady_now());
                                                return !context_.requests.stopping();
                                            });
    } catch (const amqp::Error& error) {
        after_fault(endpoint, error, false, last_of_list);
        return std::nullopt;
    }
}

/// Without a limit it would take for ever: then the head is only tried again now and then, for somebody may set one.
void ReconnectLoop::wait_if_head_stays(const amqp::PoisonHead& head, const config::Endpoint& endpoint) {
    const bool stays = !context_.trial.limited() && head.state == amqp::PoisonHead::State::stays;
    if (stays) report_staying(endpoint);
    head_stays_ = stays;
    stays ? wait(backoff_.next(context_.random_number())) : backoff_.reset();
}

void ReconnectLoop::report_staying(const config::Endpoint& endpoint) {
    const std::string& queue = settings_->policy.error_queue;
    const std::string command = amqp::limit_error_queue_command(queue, endpoint.vhost);
    const std::string what = "a message at the head of queue " + core::quoted(queue) +
                             " that RabbitMQ cannot hand over has ended " + std::to_string(context_.trial.ended()) +
                             " connections, and no delivery limit takes it away";
    context_.http.state().disconnected(name_of(endpoint), endpoint, what, "No message is retried until it is gone");
    notify_ready(status_line(context_.http.state().snapshot()));
    context_.log.write(head_stays_ ? LogLevel::debug : LogLevel::error, "undeliverable_stays",
                       name_of(endpoint) + ": " + what +
                           ". No message is retried until it is gone. A policy takes it away, to the catch-all (only "
                           "one applies to a queue): " +
                           command,
                       {{"queue", queue}, {"connections", context_.trial.ended()}});
}

/// A reload ends the wait: the changed configuration may be what the connection needs.
void ReconnectLoop::wait(core::Milliseconds time) const {
    const core::SteadyTime until = system::steady_now() + time;
    for (auto left = time; left > core::Milliseconds::zero();) {
        context_.watchdog.turned(system::steady_now());
        const bool asked = context_.requests.wait(std::min(left, context_.watchdog.longest_wait()));
        if (context_.requests.stopping()) return;
        if (asked && context_.requests.take_reload() && reload(context_)) {
            context_.log.write(LogLevel::info, "reloaded",
                               "reloaded " + context_.configuration.path() + ": connecting with it now",
                               {{"file", context_.configuration.path()}});
            return;
        }
        left = until - system::steady_now();
    }
}

}  // namespace

void supervise(const SessionContext& context) {
    while (!context.requests.stopping())
        ReconnectLoop(context).run();
}

}  // namespace retryd::daemon
