#include "daemon/session.h"

#include <algorithm>

#include "amqp/timeouts.h"
#include "daemon/configuration.h"
#include "daemon/systemd.h"
#include "system/clock.h"

namespace retryd::daemon {

namespace {

using config::LogLevel;
using core::Milliseconds;

core::Now read_clocks() {
    return {system::wall_now(), system::steady_now()};
}

/// The policy of settings that live as long as it.
std::shared_ptr<const core::Policy> policy_of(const std::shared_ptr<const config::Settings>& settings) {
    return {settings, &settings->policy};
}

}  // namespace

Session::Session(const SessionContext& context, const config::Endpoint& endpoint, std::string name)
    : context_(context),
      settings_(context.configuration.current()),
      endpoint_(endpoint),
      name_(std::move(name)),
      log_(context.log),
      reporters_(log_, context.http.state(), context.http.stats()),
      link_(settings_, endpoint, *this),
      guard_(context.watchdog, link_.sockets(), 2 * settings_->broker.heartbeat, read_clocks().steady),
      features_(core::features_of(link_.version())),
      relay_(policy_of(settings_), {features_, endpoint.username, context.dice, settings_->declare}, link_, reporters_,
             context.suspects) {}

void Session::run() {
    warn_of_old_broker();
    link_.start(relay_);
    relay_.start();
    const core::SteadyTime began = read_clocks().steady;
    for (;;) {
        const core::Now now = read_clocks();
        context_.watchdog.turned(now.steady);
        const bool more = link_.turn(now);
        relay_.on_tick(now);
        relay_.flush(now);
        reporters_.in_flight(relay_.in_flight());
        heed_requests(now);
        tell_if_slow(began, now.steady);
        if (leaving_until_ && may_leave(now)) break;
        if (!more) link_.wait(leaving_until_ ? -1 : context_.requests.fd(), time_to_wait(now));
    }
    link_.close(std::clamp(*leaving_until_ - read_clocks().steady, Milliseconds::zero(), amqp::close_timeout));
}

void Session::heed_requests(const core::Now& now) {
    if (leaving_until_) return;
    if (context_.requests.stopping()) {
        log_.write(LogLevel::info, "stopping",
                   "stopping: waiting for " + std::to_string(relay_.in_flight()) + " confirms",
                   {{"in_flight", static_cast<std::int64_t>(relay_.in_flight())}});
        return begin_to_leave(now);
    }
    if (context_.requests.take_reload()) follow_reload(now);
    if (next_ && !leaving_until_ && relay_.in_flight() == 0) adopt_next(now);
}

void Session::begin_to_leave(const core::Now& now) {
    context_.http.state().leaving(context_.requests.stopping());
    leaving_until_ = now.steady + settings_->shutdown_timeout;
    relay_.stop();
    link_.stop_consuming();
}

void Session::follow_reload(const core::Now& now) {
    if (!reload(context_)) return;
    reporters_.count_with(context_.http.stats());
    next_ = context_.configuration.current();
    for (const std::string& note : left_behind(settings_->policy, next_->policy))
        log_.write(LogLevel::warning, "left_behind", note);
    const auto keys = need_new_connection(*settings_, *next_);
    if (keys.empty()) return relay_.prepare_to_adopt();
    std::string changed;
    for (const std::string_view key : keys)
        changed.append(changed.empty() ? "" : ", ").append(key);
    log_.write(LogLevel::info, "reloaded",
               "reloaded " + context_.configuration.path() + ": " + changed +
                   " changed, which takes a new connection; what is in hand is settled first",
               {{"file", context_.configuration.path()}, {"reconnect_for", changed}});
    begin_to_leave(now);
}

/// With nothing in flight no message is dealt with by half of each policy.
void Session::adopt_next(const core::Now& now) {
    settings_ = std::move(next_);
    next_.reset();
    link_.adopt(settings_);
    relay_.adopt(policy_of(settings_), now);
    log_.write(LogLevel::info, "reloaded",
               "reloaded " + context_.configuration.path() + ": in force from the next message on, connection kept",
               {{"file", context_.configuration.path()}});
}

/// True once nothing is in flight any more, or the time is over.
bool Session::may_leave(const core::Now& now) {
    const bool confirmed = relay_.in_flight() == 0;
    if (confirmed) relay_.flush_all();
    if (confirmed && now.steady - link_.last_ack() >= amqp::ack_linger) return true;
    if (now.steady < *leaving_until_) return false;
    if (confirmed) return true;
    log_.write(LogLevel::warning, "stop_unconfirmed",
               "the broker has not confirmed " + std::to_string(relay_.in_flight()) +
                   " messages within the shutdown timeout. They stay in the error queue too: nothing is lost, some may "
                   "come twice",
               {{"in_flight", static_cast<std::int64_t>(relay_.in_flight())}});
    return true;
}

Milliseconds Session::time_to_wait(const core::Now& now) const {
    Milliseconds time = context_.watchdog.longest_wait();  // heartbeats have to be served, and the stop noticed
    if (const auto due = relay_.next_tick()) time = std::min(time, *due - now.steady);
    if (leaving_until_) time = std::min({time, amqp::ack_linger / 4, *leaving_until_ - now.steady});
    return std::max(time, Milliseconds::zero());
}

/// A broker that leaves a declare without an answer does so for hours: whoever waits for READY must not.
void Session::tell_if_slow(core::SteadyTime began, core::SteadyTime now) {
    constexpr Milliseconds slow{10'000};
    if (told_ || now - began < slow) return;
    told_ = true;
    context_.http.state().declaring(name_);
    notify_ready(status_line(context_.http.state().now()));
}

void Session::warn_of_old_broker() {
    const std::string version = core::to_string(link_.version());
    for (const core::Remark& remark : core::remarks(link_.version())) {
        if (!remark.warning) continue;
        log_.write(LogLevel::warning, "old_broker",
                   name_ + " runs RabbitMQ " + version + ": " + std::string{remark.text},
                   {{"broker", name_}, {"version", version}});
    }
}

void Session::consuming() {
    log_.write(
        LogLevel::info, "connected",
        "connected to " + name_ + " (RabbitMQ " + core::to_string(link_.version()) + "), consuming '" +
            settings_->policy.error_queue + "'",
        {{"broker", name_}, {"version", core::to_string(link_.version())}, {"queue", settings_->policy.error_queue}});
    context_.http.state().consuming(name_, endpoint_, link_.version());
    told_ = true;
    notify_ready(status_line(context_.http.state().now()));
}

void Session::accepted(std::string_view note) {
    log_.write(LogLevel::warning, "queue_accepted", note);
}

void Session::blocked(std::string_view reason) {
    context_.http.state().blocked(reason);
    log_.write(LogLevel::warning, "blocked",
               "the broker takes no messages (" + std::string{reason} +
                   "). Retries wait and go on by themselves when its alarm is over; free memory or disk there",
               {{"cause", std::string{reason}}});
    notify_status(status_line(context_.http.state().now()));
}

void Session::unblocked() {
    context_.http.state().unblocked();
    log_.write(LogLevel::info, "unblocked", "the broker takes messages again");
    notify_status(status_line(context_.http.state().now()));
}

bool reload(const SessionContext& daemon) {
    notify_reloading();
    const bool taken = daemon.configuration.reload();
    DaemonState& state = daemon.http.state();
    if (taken) {
        daemon.http.follow();
        daemon.watchdog.allow(*daemon.configuration.current());
        state.reloaded();
    } else {
        state.reload_refused(daemon.configuration.path());
    }
    notify_ready(status_line(state.now()));
    return taken;
}

}  // namespace retryd::daemon
