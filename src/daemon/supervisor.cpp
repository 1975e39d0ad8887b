#include "daemon/supervisor.h"

#include <string>

#include "amqp/error.h"
#include "core/duration.h"
#include "daemon/backoff.h"
#include "daemon/faults.h"
#include "daemon/session.h"

namespace retryd::daemon {
namespace {

using config::LogLevel;

std::string remedy(amqp::Error::Kind kind) {
    switch (kind) {
        case amqp::Error::Kind::unreachable:
            return "check that the broker runs and that broker.uri names it";
        case amqp::Error::Kind::refused_login:
            return "check broker.username, the password and that the user may use the vhost";
        case amqp::Error::Kind::refused:
            return "the broker's words say what it refused: a permission, or a queue that is there with other "
                   "arguments";
        case amqp::Error::Kind::lost:
        case amqp::Error::Kind::protocol:
            break;
    }
    return "the broker's log around this time says more";
}

void say(telemetry::Log& log, LogLevel level, const std::string& broker, const amqp::Error& error,
         core::Milliseconds wait) {
    const bool next_at_once = wait == core::Milliseconds::zero();
    const std::string next = next_at_once ? "trying the next broker" : "trying again in " + core::format_duration(wait);
    log.write(level, "disconnected",
              broker + ": " + error.what() + ". Rejected messages wait in the error queue meanwhile, none is lost; " +
                  next + "; " + remedy(error.kind()),
              {{"broker", broker}, {"cause", error.what()}, {"retry_in_ms", std::to_string(wait.count())}});
}

std::string name_of(const config::Endpoint& endpoint) {
    const bool ipv6 = endpoint.host.find(':') != std::string::npos;
    return (ipv6 ? '[' + endpoint.host + ']' : endpoint.host) + ':' + std::to_string(endpoint.port) + ", vhost '" +
           endpoint.vhost + "'";
}

}  // namespace

void supervise(const config::Settings& settings, telemetry::Log& log, const Stop& stop, const Dice& dice) {
    Backoff backoff(settings.broker.reconnect);
    Faults faults;
    const auto& endpoints = settings.broker.endpoints;
    for (std::size_t turn = 0; !stop.requested(); ++turn) {
        const config::Endpoint& endpoint = endpoints[turn % endpoints.size()];
        const auto begin = std::chrono::steady_clock::now();
        try {
            Session session(settings, endpoint, name_of(endpoint), log, stop, [&] { faults.healed(); });
            session.run();
        } catch (const amqp::Error& error) {
            // Only a session that lasted is a success: one that breaks at once, again and again, must not do so hot.
            if (std::chrono::steady_clock::now() - begin > settings.broker.reconnect.max) backoff.reset();
            // Another broker of the list is tried at once; only a whole round without success costs a wait.
            const bool round_over = turn % endpoints.size() == endpoints.size() - 1;
            const core::Milliseconds wait = round_over ? backoff.next(dice()) : core::Milliseconds::zero();
            const std::string broker = name_of(endpoint);
            say(log, faults.is_news(broker, error.what()) ? LogLevel::error : LogLevel::debug, broker, error, wait);
            stop.wait(wait);
        }
    }
}

}  // namespace retryd::daemon
