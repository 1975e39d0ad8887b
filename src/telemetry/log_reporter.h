// What the flow reports, said in the log: single messages at debug, lasting faults once and once when they heal, what
// cannot be published again once a minute.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/time.h"
#include "relay/reporter.h"
#include "system/clock.h"
#include "telemetry/log.h"

namespace retryd::telemetry {

// What happens to single messages but has to be said: once a minute at most, with how often it happened in between.

class LogRateLimiter {
  public:
    /// How often it has happened in silence since it was said last, if it may be said again now.
    std::optional<std::int64_t> may_say(const std::string& what, core::SteadyTime now);

  private:
    struct Said {
        core::SteadyTime at{};
        std::int64_t silent = 0;
    };
    std::map<std::string, Said> said_;
};

class LogReporter : public relay::Reporter {
  public:
    using Clock = std::function<core::SteadyTime()>;

    /// `log` must outlive this.
    explicit LogReporter(Log& log, Clock clock = system::steady_now) : log_(log), clock_(std::move(clock)) {}

    void settled(const relay::Settled& message) override;
    void dead_lettered(std::string_view work_queue, std::string_view why) override;
    void stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) override;
    void requeued(relay::Role role, std::string_view target, relay::RequeueCause cause,
                  core::Milliseconds delay) override;
    void refused(relay::Role role, std::string_view name, std::string_view why) override;
    void healed(relay::Role role, std::string_view name) override;

  private:
    /// Of a single message, so at debug; the first of a kind, and one a minute, at `level`.
    void say_limited(config::LogLevel level, std::string_view event, const std::string& message,
                     std::string_view work_queue, std::string_view why);

    Log& log_;
    Clock clock_;
    LogRateLimiter seldom_;
    /// Queues and exchanges that do not take messages at the moment, said already.
    std::map<std::string, relay::RequeueCause, std::less<>> failing_;
};

}  // namespace retryd::telemetry
