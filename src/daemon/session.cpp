#include "daemon/session.h"

#include <algorithm>

namespace retryd::daemon {
namespace {

using config::LogLevel;
using core::Milliseconds;

/// Longer than this nothing waits: heartbeats have to be served and the stop noticed.
constexpr Milliseconds longest_wait{1'000};
/// A quorum queue forgets acks that are still on their way to it when their connection is closed, however politely, and
/// gives their messages again. So the connection stays open a little after the last one (tried on 3.10.8, 4.0.5 and
/// 4.3.6 with a busy disk: 20 ms were too short once, 100 ms never).
constexpr Milliseconds acks_take{250};

core::Now read_clocks() {
    return {std::chrono::time_point_cast<Milliseconds>(std::chrono::system_clock::now()),
            std::chrono::time_point_cast<Milliseconds>(std::chrono::steady_clock::now())};
}

}  // namespace

Session::Session(const config::Settings& settings, const config::Endpoint& endpoint, std::string name,
                 telemetry::Log& log, const Stop& stop, std::function<void()> on_consuming)
    : settings_(settings),
      name_(std::move(name)),
      log_(log),
      stop_(stop),
      on_consuming_(std::move(on_consuming)),
      reporter_(log),
      link_(settings, endpoint, *this),
      features_(core::features_of(link_.version())),
      relay_(settings.policy, features_, endpoint.username, link_, reporter_) {}

void Session::run() {
    warn_of_old_broker();
    link_.start(relay_, features_);
    relay_.start();
    for (;;) {
        const core::Now now = read_clocks();
        const bool more = link_.turn(now);
        relay_.on_tick(now);
        relay_.flush(now);
        if (stop_.requested() && may_leave(now)) break;
        if (!more) link_.wait(leaving_until_ ? -1 : stop_.fd(), time_to_wait(now));
    }
    constexpr Milliseconds longest_farewell{2'000};
    link_.close(std::clamp(*leaving_until_ - read_clocks().steady, Milliseconds::zero(), longest_farewell));
}

/// Begins to leave when first asked; true once nothing is in flight any more, or the time is over.
bool Session::may_leave(const core::Now& now) {
    if (!leaving_until_) {
        leaving_until_ = now.steady + settings_.shutdown_timeout;
        relay_.stop();
        link_.stop_consuming();
        log_.write(LogLevel::info, "stopping",
                   "stopping: waiting for " + std::to_string(relay_.in_flight()) + " confirms",
                   {{"in_flight", std::to_string(relay_.in_flight())}});
    }
    const bool confirmed = relay_.in_flight() == 0;
    if (confirmed) relay_.flush_all();
    if (confirmed && now.steady - link_.last_ack() >= acks_take) return true;
    if (now.steady < *leaving_until_) return false;
    if (confirmed) return true;
    log_.write(LogLevel::warning, "stop_unconfirmed",
               "the broker has not confirmed " + std::to_string(relay_.in_flight()) +
                   " messages within the shutdown timeout. They stay in the error queue too: nothing is lost, some may "
                   "come twice",
               {{"in_flight", std::to_string(relay_.in_flight())}});
    return true;
}

Milliseconds Session::time_to_wait(const core::Now& now) const {
    Milliseconds time = longest_wait;
    if (const auto due = relay_.next_tick()) time = std::min(time, *due - now.steady);
    if (leaving_until_) time = std::min({time, acks_take / 4, *leaving_until_ - now.steady});
    return std::max(time, Milliseconds::zero());
}

void Session::warn_of_old_broker() {
    if (features_.quorum_ttl) return;
    log_.write(
        LogLevel::warning, "old_broker",
        name_ + " runs RabbitMQ " + core::to_string(link_.version()) +
            ", before 3.10: rungs are classic queues, and the way home from a rung is the broker's at-most-once. "
            "A message can be lost there if its work queue is deleted or its node stops; an upgrade mends it",
        {{"broker", name_}, {"version", core::to_string(link_.version())}});
}

void Session::consuming() {
    log_.write(
        LogLevel::info, "connected",
        "connected to " + name_ + " (RabbitMQ " + core::to_string(link_.version()) + "), consuming '" +
            settings_.policy.error_queue + "'",
        {{"broker", name_}, {"version", core::to_string(link_.version())}, {"queue", settings_.policy.error_queue}});
    on_consuming_();
}

void Session::accepted(std::string_view note) {
    log_.write(LogLevel::warning, "queue_accepted", note);
}

void Session::blocked(std::string_view reason) {
    log_.write(LogLevel::warning, "blocked",
               "the broker takes no messages (" + std::string{reason} +
                   "). Retries wait and go on by themselves when its alarm is over; free memory or disk there",
               {{"cause", std::string{reason}}});
}

void Session::unblocked() {
    log_.write(LogLevel::info, "unblocked", "the broker takes messages again");
}

}  // namespace retryd::daemon
