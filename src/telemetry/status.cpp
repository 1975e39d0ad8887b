#include "telemetry/status.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "telemetry/safe_json.h"
#include "telemetry/status_json.h"

namespace retryd::telemetry {

namespace {

using Json = nlohmann::ordered_json;

Json json_of_moment(const Moment& moment) {
    return moment ? Json(moment->time_since_epoch().count()) : Json(nullptr);
}

Json json_of_broker(const BrokerStatus& broker) {
    return {{"name", broker.name},
            {"version", broker.version},
            {"connected", broker.connected},
            {"since", json_of_moment(broker.since)},
            {"blocked", broker.blocked},
            {"blocked_reason", broker.blocked_reason},
            {"reconnects", broker.reconnects},
            {"fault", broker.fault},
            {"address", broker.address},
            {"vhost", broker.vhost}};
}

Json json_of_errors(const Status& status) {
    Json object{{"exchange", status.error_exchange}};
    object.update(json_of(status.errors));
    return object;
}

Json json_of_rates(const Rates& rates) {
    return {{"interval_ms", rates.interval.count()},
            {"retried", rates.retried},
            {"parked", rates.parked},
            {"dropped", rates.dropped}};
}

Json json_of_reasons(const std::vector<ParkedByReason>& reasons) {
    Json list = Json::array();
    for (const ParkedByReason& parked : reasons)
        list.push_back({{"reason", parked.reason}, {"messages", parked.messages}});
    return list;
}

Json json_of_faults(const std::vector<LastingFault>& faults) {
    Json list = Json::array();
    for (const LastingFault& fault : faults)
        list.push_back({{"since", json_of_moment(fault.since)}, {"code", fault.code}, {"text", fault.text}});
    return list;
}

constexpr std::string_view name_of(FailingStatus::State state) {
    switch (state) {
        case FailingStatus::State::wholly:
            return "wholly";
        case FailingStatus::State::partly:
            return "partly";
        case FailingStatus::State::unknown:
            break;
    }
    return "unknown";
}

Json number_or_null(const Messages& messages) {
    return messages ? Json(*messages) : Json(nullptr);
}

Json json_of_failing(const std::vector<FailingStatus>& queues) {
    Json list = Json::array();
    for (const FailingStatus& queue : queues) {
        list.push_back({{"work_queue", queue.work_queue},
                        {"state", name_of(queue.state)},
                        {"failures", queue.failures},
                        {"minutes", queue.minutes},
                        {"came_back", number_or_null(queue.came_back)},
                        {"failed_again", number_or_null(queue.failed_again)},
                        {"next_due_ms", queue.next_due ? Json(queue.next_due->count()) : Json(nullptr)},
                        {"due_at_most", queue.due_at_most},
                        {"messages", number_or_null(queue.messages)},
                        {"consumers", number_or_null(queue.consumers)},
                        {"acked", number_or_null(queue.acked)}});
    }
    return list;
}

}  // namespace

std::string to_json(const DayStatus& day, core::WallTime now) {
    Json json{{"now", json_of_moment(now)}};
    json.update(json_of_rates(day.rates));
    json["failures_interval_ms"] = day.failures_interval.count();
    json["failing"] = Json::array();
    for (const DayStatus::Failing& queue : day.failing)
        json["failing"].push_back({{"work_queue", queue.work_queue}, {"failures", queue.failures}});
    return to_safe_json(std::move(json));
}

std::string to_json(const Status& status) {
    Json json{{"version", status.version},
              {"now", json_of_moment(status.now)},
              {"started", json_of_moment(status.started)},
              {"ready", status.ready},
              {"reason", status.reason},
              {"config_file", status.config_file},
              {"broker", json_of_broker(status.broker)},
              {"errors", json_of_errors(status)},
              {"catch_all", json_of(status.catch_all)},
              {"detours", json_of(status.detours)},
              {"in_flight", status.in_flight},
              {"oldest_unsettled_ms", status.oldest_unsettled.count()},
              {"counted", json_of_moment(status.counted)},
              {"queues", json_of(status.queues)}};
    if (status.queues_left_out > 0) json["queues_left_out"] = status.queues_left_out;
    json["ladders"] = json_of(status.ladders);
    json["parked_by_reason"] = json_of_reasons(status.parked_by_reason);
    json["requeued"] = status.requeued;
    json["confirm_ms"] = {{"p50", status.confirm_p50_ms}, {"p99", status.confirm_p99_ms}};
    json["rates"] = json_of_rates(status.rates);
    json["outages"] = json_of(status.outages);
    json["faults"] = json_of_faults(status.faults);
    json["checks"] = json_of(status.checks);
    json["failing"] = json_of_failing(status.failing);
    if (status.failing_left_out > 0) json["failing_left_out"] = status.failing_left_out;
    if (status.desk) json["desk"] = true;
    return to_safe_json(std::move(json));
}

namespace {

using Answer = nlohmann::json;

/// Null if the key is missing.
const Answer& member(const Answer& object, const char* key) {
    static const Answer nothing;
    return object.is_object() && object.contains(key) ? object.at(key) : nothing;
}

std::uint64_t read_count(const Answer& value) {
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

std::string read_text(const Answer& value) {
    return value.is_string() ? value.get<std::string>() : "";
}

std::vector<std::uint64_t> read_series(const Answer& value) {
    std::vector<std::uint64_t> series;
    if (value.is_array()) {
        for (const Answer& messages : value)
            series.push_back(read_count(messages));
    }
    return series;
}

core::Milliseconds read_milliseconds(const Answer& value) {
    return core::Milliseconds{value.is_number_integer() ? value.get<std::int64_t>() : 0};
}

Rates read_rates(const Answer& value) {
    return {read_milliseconds(member(value, "interval_ms")), read_series(member(value, "retried")),
            read_series(member(value, "parked")), read_series(member(value, "dropped"))};
}

QueueStatus read_queue(const Answer& value) {
    QueueStatus queue;
    queue.work_queue = read_text(member(value, "work_queue"));
    const Answer& totals = member(value, "totals");
    queue.totals = QueueTotals{read_count(member(totals, "retried")), read_count(member(totals, "parked")),
                               read_count(member(totals, "dropped"))};
    return queue;
}

core::WallTime read_moment(const Answer& value) {
    return core::WallTime{core::Milliseconds{value.is_number_integer() ? value.get<std::int64_t>() : 0}};
}

std::vector<std::string> read_texts(const Answer& value) {
    std::vector<std::string> texts;
    for (const Answer& text : value)
        texts.push_back(read_text(text));
    return texts;
}

HeldStatus read_outage(const Answer& value) {
    HeldStatus outage;
    outage.work_queue = read_text(member(value, "work_queue"));
    outage.queue = read_text(member(value, "queue"));
    const auto state = std::find(outage_states.begin(), outage_states.end(), read_text(member(value, "state")));
    if (state != outage_states.end()) outage.outage = static_cast<int>(state - outage_states.begin());
    outage.by_hand = member(value, "by_hand") == true;
    const Answer& messages = member(value, "messages");
    if (messages.is_number_unsigned()) outage.messages = messages.get<std::uint64_t>();
    const Answer& since = member(value, "since");
    if (since.is_number_integer()) outage.since = read_moment(since);
    const Answer& desk_since = member(value, "desk_since");
    if (desk_since.is_number_integer()) outage.desk_since = read_moment(desk_since);
    outage.text = read_text(member(value, "text"));
    return outage;
}

std::optional<ChecksStatus> read_checks(const Answer& value) {
    if (!value.is_object()) return std::nullopt;
    ChecksStatus checks;
    const Answer& checked = member(value, "checked");
    if (checked.is_number_integer()) checks.checked = read_moment(checked);
    for (const Answer& finding : member(value, "findings")) {
        checks.findings.push_back({read_text(member(finding, "code")), read_text(member(finding, "severity")),
                                   read_moment(member(finding, "since")), read_text(member(finding, "cause")),
                                   read_text(member(finding, "consequence")), read_text(member(finding, "remedy")),
                                   read_text(member(finding, "command")), read_texts(member(finding, "names"))});
    }
    return checks;
}

}  // namespace

std::optional<Status> read_status(const std::string& json) {
    const Answer answer = Answer::parse(json, nullptr, false);
    if (!answer.is_object() || !answer.contains("version") || !answer.contains("queues")) return std::nullopt;
    Status status;
    status.now = read_moment(member(answer, "now"));
    status.ready = member(answer, "ready") == true;
    status.reason = read_text(member(answer, "reason"));
    status.in_flight = read_count(member(answer, "in_flight"));
    status.oldest_unsettled = read_milliseconds(member(answer, "oldest_unsettled_ms"));
    status.rates = read_rates(member(answer, "rates"));
    for (const Answer& queue : member(answer, "queues"))
        status.queues.push_back(read_queue(queue));
    for (const Answer& fault : member(answer, "faults"))
        status.faults.push_back({{}, read_text(member(fault, "text")), read_text(member(fault, "code"))});
    for (const Answer& outage : member(answer, "outages"))
        status.outages.push_back(read_outage(outage));
    status.checks = read_checks(member(answer, "checks"));
    return status;
}

}  // namespace retryd::telemetry
