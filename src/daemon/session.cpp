#include "daemon/session.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "amqp/refusal.h"
#include "amqp/sources.h"
#include "amqp/timeouts.h"
#include "core/policy.h"
#include "core/safe_text.h"
#include "daemon/configuration.h"
#include "daemon/systemd.h"
#include "system/clock.h"

namespace retryd::daemon {

void FlowEvents::settled(const relay::Settled& message) {
    log_.settled(message);
    if (stats_ != nullptr) stats_->settled(message);
    if (message.attempt > 0 || message.outcome == relay::Outcome::held) held_.settled(message, system::now());
}

void FlowEvents::dead_lettered(std::string_view work_queue, std::string_view why) {
    log_.dead_lettered(work_queue, why);
    if (stats_ != nullptr) stats_->dead_lettered(work_queue, why);
}

void FlowEvents::stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) {
    log_.stuck(work_queue, why, delay);
    if (stats_ != nullptr) stats_->stuck(work_queue, why, delay);
}

void FlowEvents::parked_before(std::string_view exchange) {
    log_.parked_before(exchange);
    if (stats_ != nullptr) stats_->parked_before(exchange);
}

void FlowEvents::unroutable(std::string_view exchange, std::string_view routing_key) {
    log_.unroutable(exchange, routing_key);
}

void FlowEvents::silent(const relay::TargetName& target) {
    log_.silent(target);
}

void FlowEvents::requeued(const relay::TargetName& target, relay::RequeueCause cause, core::Milliseconds delay) {
    log_.requeued(target, cause, delay);
    if (stats_ != nullptr) stats_->requeued(target, cause, delay);
}

void FlowEvents::refused(relay::TargetRole role, std::string_view name, std::string_view why) {
    log_.refused(role, name, why);
}

void FlowEvents::healed(relay::TargetRole role, std::string_view name) {
    log_.healed(role, name);
}

void FlowEvents::not_needed(relay::TargetRole role, std::string_view name) {
    log_.not_needed(role, name);
}

namespace {

using config::LogLevel;
using core::Milliseconds;

/// The policy of these settings; the pointer keeps the settings alive.
std::shared_ptr<const core::Policy> policy_of(const std::shared_ptr<const config::Settings>& settings) {
    return {settings, &settings->policy};
}

std::string event_of(amqp::SourceTrouble trouble) {
    if (trouble == amqp::SourceTrouble::unavailable) return "source_unavailable";
    return trouble == amqp::SourceTrouble::undeliverable ? "source_undeliverable" : "source_unpublishable";
}

}  // namespace

Session::Session(const SessionContext& context, const config::Endpoint& endpoint, std::string name,
                 core::ProofKeys proof_keys)
    : context_(context),
      settings_(context.configuration.current()),
      endpoint_(endpoint),
      name_(std::move(name)),
      log_(context.log),
      events_(log_, context.http.state().faults(), context.http.stats(), context.held),
      broker_(settings_, endpoint, *this, context.trial, context.sources, context.connection_closing_steps,
              context.forbidden_declares,
              [&configuration = context.configuration, vhost = endpoint.vhost] {
                  return ask_limit_effect(configuration.current(), vhost);
              }),
      guard_(context.watchdog, broker_.sockets(), 2 * settings_->broker.heartbeat, system::steady_now()),
      features_(core::features_of(broker_.version())),
      plumbing_(ask_for_plumbing(settings_, endpoint_.vhost)),
      relay_(policy_of(settings_),
             {features_, endpoint.username, context.random_number, settings_->declare, broker_.publishing_channels(),
              std::move(proof_keys),
              [&held = context.held](std::string_view queue) { return held.known_outage(queue, system::steady_now()); },
              [this](std::string_view queue) { return plumbing_.is_excluded(queue, system::steady_now()); }},
             broker_, events_, context.poison) {
    context.held.adopt(settings_, system::now());
    RungsSeenAt& seen = context.rungs_seen;
    if (seen.brokers == settings_->broker.endpoints) relay_.seen_before(std::move(seen.rungs));
}

/// Clears what the session knew about the broker, but for the rungs that it has seen.
Session::~Session() {
    context_.rungs_seen = {settings_->broker.endpoints, relay_.rungs_seen()};
    if (looking_for_held_) context_.held.found_nothing(*looking_for_held_, system::steady_now());
    context_.http.state().declaring_in_advance(false);
    for (const std::string& key : source_faults_)
        context_.http.state().faults().clear(key);
}

/// Tells here what ended the consuming connection from what ended the other one, since either end may be noticed first:
/// sending an ack is enough.
void Session::run() {
    try {
        serve();
    } catch (const amqp::Error& error) {
        if (broker_.consume_unanswered()) {
            using Kind = amqp::Error::Kind;
            throw amqp::Error(broker_.consumed() ? Kind::lost : Kind::never_consumed,
                              amqp::explain_unanswered_consume(settings_->policy.error_queue));
        }
        const bool undeliverable = broker_.has_undeliverable();
        const bool ends = error.kind() == amqp::Error::Kind::head_blocks_channel && !context_.trial.going_on();
        if (undeliverable || ends || error.kind() == amqp::Error::Kind::set_aside_unread) begin_trial();
        if (undeliverable) {
            throw amqp::Error(amqp::Error::Kind::undeliverable,
                              "RabbitMQ ended the connection that consumes (" + core::safe_name(error.words()) +
                                  "), as it does when it cannot hand over a message: one from AMQP 1.0, MQTT or STOMP "
                                  "that does not fit AMQP 0-9-1",
                              error.code(), error.words());
        }
        // "541 INTERNAL_ERROR - Cannot declare quorum queue …" gives a reason: then no message has ended the
        // connection.
        const bool says_why = error.words().find(" - ") != std::string::npos;
        if (!says_why && broker_.set_aside_ending_steps()) {
            throw amqp::Error(amqp::Error::Kind::refusal_too_long,
                              "RabbitMQ ended the connection that declares (" + core::safe_name(error.words()) +
                                  "), as it does from 4.0 on where what it has to say of a queue or exchange does not "
                                  "fit 255 bytes, or where a queue is being deleted while it is bound",
                              error.code(), error.words());
        }
        throw;
    }
}

void Session::begin_trial() {
    context_.trial.begin(broker_.window(), system::steady_now());
    context_.trial.silent_targets(relay_.silent_targets());
}

void Session::serve() {
    warn_of_old_broker();
    broker_.start(relay_);
    relay_.were_silent(context_.trial.silent_targets());
    relay_.start();
    const core::SteadyTime began = system::steady_now();
    begin_declaring();
    for (;;) {
        const core::Now now = system::now();
        context_.watchdog.turned(now.steady);
        const bool more = broker_.turn(now);
        turn_blocked_heads(now.steady);
        find_sources(now);
        find_plumbing(now);
        relay_.on_tick(now);
        broker_.delivers_singly() ? relay_.flush_all() : relay_.flush(now);
        report_load(now);
        report_declared();
        look_for_held(began, now.steady);
        events_.report_suppressed(now.steady);
        handle_requests(now);
        report_slow_declare(began, now.steady);
        if (shutdown_deadline_ && shutdown_is_over(now)) break;
        if (!more) broker_.wait(shutdown_deadline_ ? -1 : context_.requests.fd(), time_to_wait(now));
    }
    broker_.close(std::clamp(*shutdown_deadline_ - system::steady_now(), Milliseconds::zero(), amqp::close_timeout));
}

void Session::turn_blocked_heads(core::SteadyTime now) {
    context_.blocked_heads.turn(now);
    for (std::size_t left = context_.blocked_heads.take_dead_lettered(); left > 0; --left)
        events_.dead_lettered("", relay::why_unreadable);
}

void Session::report_load(const core::Now& now) {
    events_.tick(now.steady);
    events_.in_flight(relay_.in_flight());
    const auto since = relay_.unsettled_since();
    const Milliseconds age = since ? now.steady - *since : Milliseconds::zero();
    events_.oldest_unsettled(age);
    context_.http.state().unsettled(age);
}

/// Asks for one queue after the other, so that no other declare is delayed, and only after our own queues have been
/// declared.
void Session::look_for_held(core::SteadyTime began, core::SteadyTime now) {
    constexpr Milliseconds first_after{2'000};
    if (looking_for_held_ || shutdown_deadline_ || now - began < first_after) return;
    looking_for_held_ = context_.held.take_unknown(now);
    if (!looking_for_held_) return;
    const std::string held = core::held_name(*looking_for_held_, features_.longest_quorum_name);
    broker_.count(held, [this, held](std::optional<std::uint64_t> messages) {
        const std::string work_queue = *std::exchange(looking_for_held_, std::nullopt);
        if (messages == 0) context_.held.found_nothing(work_queue, system::steady_now());
        if (messages > 0) context_.held.found(work_queue, held, false, system::now());
    });
}

void Session::handle_requests(const core::Now& now) {
    if (shutdown_deadline_) return;
    if (context_.requests.stopping()) {
        log_.write(LogLevel::info, "stopping",
                   "stopping: waiting for " + std::to_string(relay_.in_flight()) + " confirms",
                   {{"in_flight", static_cast<std::int64_t>(relay_.in_flight())}});
        return begin_shutdown(now);
    }
    if (context_.requests.take_reload()) handle_reload(now);
    if (next_ && !shutdown_deadline_ && relay_.in_flight() == relay_.in_flight_in_silence()) adopt_next(now);
}

void Session::begin_shutdown(const core::Now& now) {
    DaemonState& state = context_.http.state();
    context_.requests.stopping() ? state.stopping() : state.reconnecting();
    shutdown_deadline_ = now.steady + settings_->shutdown_timeout;
    relay_.stop();
    broker_.stop_consuming();
}

void Session::handle_reload(const core::Now& now) {
    begin_declaring();
    if (!reload(context_)) return;
    events_.count_with(context_.http.stats());
    next_ = context_.configuration.current();
    const auto keys = need_new_connection(*settings_, *next_);
    if (keys.empty()) return relay_.prepare_to_adopt();
    std::string changed;
    for (const std::string_view key : keys)
        changed.append(changed.empty() ? "" : ", ").append(key);
    log_.write(LogLevel::info, "reloaded",
               "reloaded " + context_.configuration.path() + ": " + changed +
                   " changed, which takes a new connection; what is in flight is settled first",
               {{"file", context_.configuration.path()}, {"reconnect_for", changed}});
    begin_shutdown(now);
}

/// Only while nothing is in flight, except to targets that do not answer: each message is handled under a single
/// policy.
void Session::adopt_next(const core::Now& now) {
    settings_ = std::move(next_);
    next_.reset();
    broker_.adopt(settings_);
    look_for_sources();
    context_.held.adopt(settings_, now);
    plumbing_.ask_anew(ask_for_plumbing(settings_, endpoint_.vhost));
    relay_.adopt(policy_of(settings_), now);
    log_.write(LogLevel::info, "reloaded",
               "reloaded " + context_.configuration.path() + ": in force from the next message on, connection kept",
               {{"file", context_.configuration.path()}});
}

/// True once nothing is in flight and the acks have had time to arrive, or the shutdown timeout is over.
bool Session::shutdown_is_over(const core::Now& now) {
    const bool confirmed = relay_.in_flight() == 0;
    if (confirmed) relay_.flush_all();
    if (confirmed && now.steady - broker_.last_ack() >= amqp::ack_linger) return true;
    if (now.steady < *shutdown_deadline_) return false;
    if (confirmed) return true;
    log_.write(LogLevel::warning, "stop_unconfirmed",
               "the broker has not confirmed " + std::to_string(relay_.in_flight()) +
                   " messages within the shutdown timeout. They stay in the error queue too: nothing is lost, some may "
                   "come twice",
               {{"in_flight", static_cast<std::int64_t>(relay_.in_flight())}});
    return true;
}

Milliseconds Session::time_to_wait(const core::Now& now) const {
    Milliseconds time = context_.watchdog.longest_wait();  // heartbeats have to be served, and a stop has to be noticed
    if (const auto due = relay_.next_tick()) time = std::min(time, *due - now.steady);
    if (const auto due = broker_.next_tick()) time = std::min(time, *due - now.steady);
    constexpr Milliseconds look_turn{20};
    if (plumbing_.awaited()) time = std::min(time, look_turn);
    if (shutdown_deadline_) time = std::min({time, amqp::ack_linger / 4, *shutdown_deadline_ - now.steady});
    return std::max(time, Milliseconds::zero());
}

/// A broker may leave a declare unanswered for hours, so systemd is told READY nevertheless.
void Session::report_slow_declare(core::SteadyTime began, core::SteadyTime now) {
    constexpr Milliseconds slow{10'000};
    if (reported_ready_ || now - began < slow) return;
    reported_ready_ = true;
    context_.http.state().declaring(name_, endpoint_);
    notify_ready(status_line(context_.http.state().snapshot()));
}

/// Before a reload is in force, so that nothing looks for what it declares.
void Session::begin_declaring() {
    declaring_in_advance_ = true;
    context_.http.state().declaring_in_advance(true);
}

void Session::report_declared() {
    if (!declaring_in_advance_ || next_ || relay_.awaits_declares()) return;
    declaring_in_advance_ = false;
    context_.http.state().declaring_in_advance(false);
}

void Session::warn_of_old_broker() {
    const std::string version = core::to_string(broker_.version());
    for (const core::Remark& remark : core::remarks(broker_.version())) {
        if (!remark.warning) continue;
        log_.write(LogLevel::warning, "old_broker",
                   name_ + " runs RabbitMQ " + version + ": " + std::string{remark.text},
                   {{"broker", name_}, {"version", version}});
    }
}

void Session::consuming() {
    log_.write(
        LogLevel::info, "connected",
        "connected to " + name_ + " (RabbitMQ " + core::to_string(broker_.version()) + "), consuming " +
            core::quoted(settings_->policy.error_queue),
        {{"broker", name_}, {"version", core::to_string(broker_.version())}, {"queue", settings_->policy.error_queue}});
    context_.http.state().consuming(name_, endpoint_, broker_.version());
    reported_ready_ = true;
    notify_ready(status_line(context_.http.state().snapshot()));
    look_for_sources();
}

void Session::accepted(std::string_view note) {
    log_.write(LogLevel::warning, "queue_accepted", note);
}

void Session::declares_again(std::string_view note) {
    log_.write(LogLevel::info, "declares_again", note);
}

void Session::unanswered(std::string_view note) {
    log_.write(LogLevel::warning, "unanswered", note);
}

void Session::error_queue_silent(std::string_view note) {
    context_.http.state().error_queue_silent(note);
    log_.write(LogLevel::error, "error_queue_silent", note, {{"queue", settings_->policy.error_queue}});
    notify_status(status_line(context_.http.state().snapshot()));
}

void Session::error_queue_answers() {
    context_.http.state().error_queue_answers();
    log_.write(LogLevel::info, "error_queue_answers",
               "the error queue " + core::quoted(settings_->policy.error_queue) + " answers again",
               {{"queue", settings_->policy.error_queue}});
    notify_status(status_line(context_.http.state().snapshot()));
}

void Session::error_queue_not_asked(std::string_view note) {
    log_.write(LogLevel::warning, "error_queue_not_asked", note, {{"queue", settings_->policy.error_queue}});
}

void Session::error_queue_asked() {
    log_.write(LogLevel::info, "error_queue_asked",
               "the error queue " + core::quoted(settings_->policy.error_queue) +
                   " can be asked again whether most of its members agree",
               {{"queue", settings_->policy.error_queue}});
}

void Session::delivery_stuck(std::string_view note) {
    log_.write(LogLevel::warning, "delivery_stuck", note, {{"queue", settings_->policy.error_queue}});
}

void Session::delivery_free() {
    log_.write(LogLevel::info, "delivery_free",
               "no message has held up a channel that consumes the error queue " +
                   core::quoted(settings_->policy.error_queue) + " for a minute: messages come on one again, as before",
               {{"queue", settings_->policy.error_queue}});
}

void Session::blocked(std::string_view reason) {
    context_.http.state().blocked(reason);
    log_.write(LogLevel::warning, "blocked",
               "the broker takes no messages (" + std::string{reason} +
                   "). Retries wait and go on by themselves when its alarm is over; free memory or disk there",
               {{"cause", std::string{reason}}});
    notify_status(status_line(context_.http.state().snapshot()));
}

void Session::unblocked() {
    context_.http.state().unblocked();
    log_.write(LogLevel::info, "unblocked", "the broker takes messages again");
    notify_status(status_line(context_.http.state().snapshot()));
}

/// A few lost connections may have had another cause, or another daemon has lost the rest of them.
void Session::trial_over() {
    context_.blocked_heads.release();  // from now on such a message delays only itself (amqp/consuming_channels.h)
    constexpr int few = 3;
    const int ended = context_.trial.ended();
    const std::string& queue = settings_->policy.error_queue;
    const std::size_t rejected = context_.trial.rejected();
    if (rejected > 0) {
        log_.write(LogLevel::warning, "undeliverable",
                   name_ + ": what RabbitMQ could not hand over in queue " + core::quoted(queue) + ", " +
                       std::to_string(rejected) + (rejected == 1 ? " message" : " messages") + ", has ended " +
                       std::to_string(ended) + " connections and is out of the way now: in " +
                       core::quoted(settings_->policy.catch_all) +
                       ", where it cannot be read either. See \"A message that RabbitMQ cannot hand over\" in "
                       "docs/operations.md",
                   {{"queue", queue},
                    {"catch_all", settings_->policy.catch_all},
                    {"connections", ended},
                    {"messages", static_cast<std::int64_t>(rejected)}});
        return;
    }
    const bool by_limit = ended > few;
    const std::string what =
        by_limit
            ? ": what RabbitMQ could not hand over in queue " + core::quoted(queue) + " has ended " +
                  std::to_string(ended) + " connections and is out of the way now: " +
                  (context_.trial.limited() ? "by the delivery limit of the queue the broker moves it to "
                                            : "by the delivery limit of a policy, or somebody has moved it; the limit "
                                              "moves it to ") +
                  core::quoted(settings_->policy.catch_all) +
                  ", where it cannot be read either, and what it was is in the broker's log of that time. See \"A "
                  "message that RabbitMQ cannot hand over\" in docs/operations.md"
            : ": RabbitMQ hands over the messages of queue " + core::quoted(queue) + " again, after it had ended " +
                  std::to_string(ended) + (ended == 1 ? " connection" : " connections") + " of ours";
    log_.write(by_limit ? LogLevel::warning : LogLevel::info, "undeliverable", name_ + what,
               {{"queue", queue}, {"catch_all", settings_->policy.catch_all}, {"connections", ended}});
}

/// Starts over with the settings in force.
void Session::look_for_sources() {
    finder_.reset();
    if (settings_->management && core::has_source_globs(settings_->policy)) finder_.emplace(settings_, endpoint_.vhost);
}

/// If the management API cannot be asked, earlier results stay valid.
void Session::find_sources(const core::Now& now) {
    if (!finder_ || shutdown_deadline_) return;
    const auto look = finder_->turn(now.steady);
    if (!look) return;
    constexpr const char* of_all = "*";
    if (look->fault.empty()) {
        broker_.consume_sources(look->sources);
        if (source_faults_.contains(event_of(amqp::SourceTrouble::unavailable) + ' ' + of_all))
            source_works(of_all, amqp::SourceTrouble::unavailable, "the sources that globs match are looked for again");
    } else if (!source_faults_.contains(event_of(amqp::SourceTrouble::unavailable) + ' ' + of_all)) {
        source_trouble(of_all, amqp::SourceTrouble::unavailable,
                       "it cannot be looked for the sources that globs match (" + look->fault +
                           "): those that are known go on, new ones are not consumed. It is tried again every minute");
    }
}

void Session::find_plumbing(const core::Now& now) {
    for (const std::string& queue : plumbing_.turn(now.steady))
        relay_.on_exclusion_known(queue, now);
}

void Session::source_trouble(std::string_view source, amqp::SourceTrouble trouble, std::string_view note) {
    const std::string event = event_of(trouble);
    log_.write(LogLevel::warning, event, name_ + ": " + std::string{note}, {{"queue", std::string{source}}});
    const std::string key = event + ' ' + std::string{source};
    source_faults_.insert(key);
    context_.http.state().faults().raise(key, std::string{note});
}

void Session::source_works(std::string_view source, amqp::SourceTrouble trouble, std::string_view note) {
    log_.write(LogLevel::info, "source_works", name_ + ": " + std::string{note}, {{"queue", std::string{source}}});
    const std::string key = event_of(trouble) + ' ' + std::string{source};
    source_faults_.erase(key);
    context_.http.state().faults().clear(key);
}

bool reload(const SessionContext& context) {
    notify_reloading();
    const auto before = context.configuration.current();
    const bool taken = context.configuration.reload();
    DaemonState& state = context.http.state();
    if (taken) {
        for (const std::string& note : left_behind(before->policy, context.configuration.current()->policy))
            context.log.write(LogLevel::warning, "left_behind", note);
        for (auto& [queue, memory] : context.sources) {
            if (memory.not_consumed) memory = {};
        }
        context.http.follow_reload();
        context.watchdog.allow(*context.configuration.current());
        state.reloaded();
    } else {
        state.reload_refused(context.configuration.path());
    }
    notify_ready(status_line(state.snapshot()));
    return taken;
}

}  // namespace retryd::daemon
