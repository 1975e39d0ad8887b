#include "commands/check/check_json.h"

#include <ostream>

#include "commands/check/check.h"
#include "commands/common/json.h"
#include "config/addresses.h"
#include "core/duration.h"
#include "core/names.h"

namespace retryd::commands {

namespace {

// The keys of an object keep this order, because people read the output too.

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

Json lanes(const ScheduleStep& step) {
    Json list = Json::array();
    for (const Lane& lane : step.lanes) {
        list.push_back(
            {{"delay", core::format_duration(lane.delay)}, {"delay_ms", lane.delay.count()}, {"queue", lane.queue}});
    }
    return list;
}

Json attempts(const core::Entry& entry) {
    Json list = Json::array();
    for (const ScheduleStep& step : retry_schedule(entry)) {
        for (std::size_t attempt = step.first; attempt <= step.last; ++attempt) {
            list.push_back({{"attempt", attempt},
                            {"delay", core::format_duration(step.delay)},
                            {"delay_ms", step.delay.count()},
                            {"queue", step.lanes.back().queue}});
            if (step.lanes.size() > 1) list.back()["lanes"] = lanes(step);
        }
    }
    return list;
}

Json jitter(const core::Jitter& jitter) {
    if (jitter.lanes <= 1) return nullptr;
    return {{"width_percent", jitter.width_percent}, {"lanes", jitter.lanes}};
}

/// The parking queue's name, or an object for an exchange.
Json parked(const core::Entry& entry) {
    const core::Parking& parking = entry.parked;
    if (parking.exchange.empty()) return parking_queue(entry);
    return {{"exchange", parking.exchange},
            {"routing_key", parking.routing_key ? Json(*parking.routing_key) : Json(nullptr)}};
}

Json actions(const core::OnDeath& on) {
    return {{"rejected", core::to_string(on.rejected)},
            {"delivery_limit", core::to_string(on.delivery_limit)},
            {"expired", core::to_string(on.expired)},
            {"maxlen", core::to_string(on.maxlen)}};
}

Json outage(const std::optional<core::OutageRule>& rule) {
    if (!rule) return nullptr;
    return {{"failing_percent", rule->failing_percent},
            {"of", rule->of},
            {"within_ms", rule->within.count()},
            {"probe_ms", rule->probe.count()},
            {"release", rule->release}};
}

Json parked_age(const std::optional<core::ParkedAge>& age) {
    if (!age) return nullptr;
    return {{"max_ms", age->max.count()},
            {"archive", age->archive.empty() ? Json(nullptr) : Json(age->archive)},
            {"drop", age->archive.empty()}};
}

Json queue(const core::Entry& entry) {
    const core::Milliseconds total = total_wait(entry.ladder);
    const core::Milliseconds least = least_wait(entry.ladder);
    return {{"match", entry.match},
            {"glob", core::is_glob(entry.match)},
            {"ladder", entry.ladder.name},
            {"queue_type", core::to_string(entry.ladder.queue_type)},
            {"return", core::to_string(entry.ladder.return_path)},
            {"jitter", jitter(entry.ladder.jitter)},
            {"total_wait", core::format_duration(total)},
            {"total_wait_ms", total.count()},
            {"least_wait", core::format_duration(least)},
            {"least_wait_ms", least.count()},
            {"max_age", entry.max_age ? Json(core::format_duration(*entry.max_age)) : Json(nullptr)},
            {"max_age_ms", entry.max_age ? Json(entry.max_age->count()) : Json(nullptr)},
            {"hold", entry.hold},
            {"outage", outage(entry.outage)},
            {"verdict", entry.verdict},
            {"failures", core::to_string(entry.failures)},
            {"x_death", core::to_string(entry.ladder.x_death)},
            {"on", actions(entry.on)},
            {"attempts", attempts(entry)},
            {"parked", parked(entry)},
            {"parked_age", parked_age(entry.parked_age)}};
}

Json errors(const config::Settings& settings) {
    const core::Policy& policy = settings.policy;
    Json bind = Json::array();
    for (const core::ErrorBinding& binding : policy.error_bindings)
        bind.push_back({{"exchange", binding.exchange}, {"routing_key", binding.routing_key}});
    return {{"exchange", policy.error_exchange},
            {"queue", policy.error_queue},
            {"queue_type", core::to_string(policy.error_queue_type)},
            {"prefetch", settings.prefetch.messages},
            {"prefetch_bytes", settings.prefetch.body_bytes},
            {"bind", bind}};
}

Json work_queue(const core::WorkQueueOf& of) {
    using Place = core::WorkQueueOf::Place;
    switch (of.place) {
        case Place::header:
            return {{"header", of.text}};
        case Place::suffix:
            return {{"suffix", of.text}};
        case Place::name:
            return of.text;
        case Place::dialect:
            break;
    }
    return nullptr;
}

Json sources(const core::Policy& policy) {
    Json list = Json::array();
    for (const core::Source& source : policy.sources) {
        list.push_back({{"queue", source.queue},
                        {"dialect", core::to_string(source.dialect)},
                        {"work_queue", work_queue(source.work_queue)},
                        {"reason_header", source.reason_header.empty() ? Json(nullptr) : Json(source.reason_header)}});
    }
    return list;
}

Json queue_count(const core::Policy& policy) {
    const QueueCount count = count_queues(policy);
    Json per_match = Json::array();
    for (const QueueCount::PerMatch& one : count.per_match)
        per_match.push_back({{"match", one.match}, {"queues", one.queues}});
    return {{"fixed", count.fixed}, {"per_match", per_match}};
}

Json management(const config::Settings& settings) {
    if (!settings.management) return nullptr;
    return {{"url", settings.management->url}, {"username", settings.management->username}};
}

Json http(const config::Settings& settings) {
    if (!settings.http) return nullptr;
    const auto& admin = settings.http->admin;
    return {{"listen", config::to_string(*settings.http)},
            {"admin", admin ? Json{{"session_ms", admin->session.count()}} : Json()},
            {"audit", text_or_null(settings.http->audit)}};
}

}  // namespace

void print_check_json(const config::Settings& settings, const std::string& file, std::ostream& out) {
    const core::Policy& policy = settings.policy;
    Json queues = Json::array();
    for (const core::Entry& entry : policy.entries)
        queues.push_back(queue(entry));
    print_json({{"ok", true},
                {"file", file},
                {"brokers", endpoints(settings.broker)},
                {"management", management(settings)},
                {"http", http(settings)},
                {"errors", errors(settings)},
                {"queues", queues},
                {"sources", sources(policy)},
                {"catch_all", policy.catch_all},
                {"declare", settings.declare},
                {"queue_count", queue_count(policy)}},
               out);
}

void print_problems_json(const config::Problems& problems, const std::string& file, std::ostream& out) {
    Json list = Json::array();
    for (const config::Problem& problem : problems) {
        list.push_back(
            {{"line", problem.line}, {"column", problem.column}, {"key", problem.key}, {"message", problem.message}});
    }
    print_json({{"ok", false}, {"file", file}, {"problems", list}}, out);
}

}  // namespace retryd::commands
