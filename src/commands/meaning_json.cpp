#include "commands/meaning_json.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "commands/climb.h"
#include "core/duration.h"
#include "core/names.h"

namespace retryd::commands {
namespace {

// Keys stay in the order in which they are written: people read this too.
using Json = nlohmann::ordered_json;

Json endpoints(const config::Broker& broker) {
    Json list = Json::array();
    for (const config::Endpoint& endpoint : broker.endpoints) {
        list.push_back({{"host", endpoint.host},
                        {"port", endpoint.port},
                        {"tls", endpoint.tls},
                        {"vhost", endpoint.vhost},
                        {"username", endpoint.username}});
    }
    return list;
}

Json attempts(const core::Entry& entry) {
    Json list = Json::array();
    for (const Climb& climb : climbs(entry)) {
        for (std::size_t attempt = climb.first; attempt <= climb.last; ++attempt) {
            list.push_back({{"attempt", attempt},
                            {"delay", core::format_duration(climb.delay)},
                            {"delay_ms", climb.delay.count()},
                            {"queue", climb.queue}});
        }
    }
    return list;
}

Json queue(const core::Entry& entry) {
    const core::Milliseconds total = total_wait(entry.ladder);
    return {{"match", entry.match},
            {"glob", core::is_glob(entry.match)},
            {"ladder", entry.ladder.name},
            {"queue_type", core::to_string(entry.ladder.queue_type)},
            {"total_wait", core::format_duration(total)},
            {"total_wait_ms", total.count()},
            {"attempts", attempts(entry)},
            {"parked", parked(entry)}};
}

void print(const Json& json, std::ostream& out) {
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

void print_meaning_json(const config::Settings& settings, const std::string& file, std::ostream& out) {
    const core::Policy& policy = settings.policy;
    Json queues = Json::array();
    for (const core::Entry& entry : policy.entries)
        queues.push_back(queue(entry));
    const Json errors{{"exchange", policy.error_exchange},
                      {"queue", policy.error_queue},
                      {"queue_type", core::to_string(policy.error_queue_type)},
                      {"prefetch", settings.prefetch.messages},
                      {"prefetch_bytes", settings.prefetch.body_bytes}};
    print({{"ok", true},
           {"file", file},
           {"brokers", endpoints(settings.broker)},
           {"errors", errors},
           {"queues", queues},
           {"catch_all", policy.catch_all}},
          out);
}

void print_problems_json(const config::Problems& problems, const std::string& file, std::ostream& out) {
    Json list = Json::array();
    for (const config::Problem& problem : problems) {
        list.push_back(
            {{"line", problem.line}, {"column", problem.column}, {"key", problem.key}, {"message", problem.message}});
    }
    print({{"ok", false}, {"file", file}, {"problems", list}}, out);
}

}  // namespace retryd::commands
