#include "telemetry/status_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/duration.h"

namespace retryd::telemetry {

namespace {

using Json = nlohmann::ordered_json;

Json count_or_null(const Messages& messages) {
    return messages ? Json(*messages) : Json(nullptr);
}

Json json_of_totals(const QueueTotals& totals) {
    return {{"retried", totals.retried}, {"parked", totals.parked}, {"dropped", totals.dropped}};
}

Json moment_or_null(const Moment& moment) {
    return moment ? Json(moment->time_since_epoch().count()) : Json(nullptr);
}

}  // namespace

Json json_of(const QueueDepth& depth) {
    Json object{{"queue", depth.queue}, {"messages", count_or_null(depth.messages)}};
    if (depth.unknown) object["unknown"] = true;
    return object;
}

Json json_of(const std::vector<RungStatus>& rungs) {
    Json list = Json::array();
    for (const RungStatus& rung : rungs) {
        Json item{{"queue", rung.queue},
                  {"delay", core::format_duration(rung.delay)},
                  {"delay_ms", rung.delay.count()},
                  {"messages", count_or_null(rung.messages)}};
        if (rung.held) item["held"] = *rung.held;
        if (rung.unknown) item["unknown"] = true;
        list.push_back(std::move(item));
    }
    return list;
}

Json json_of(const std::vector<QueueStatus>& queues) {
    Json list = Json::array();
    for (const QueueStatus& queue : queues) {
        list.push_back({{"work_queue", queue.work_queue},
                        {"ladder", queue.ladder},
                        {"shared", queue.shared},
                        {"rungs", json_of(queue.rungs)},
                        {"parked", queue.parked ? json_of(*queue.parked) : Json(nullptr)},
                        {"totals", queue.totals ? json_of_totals(*queue.totals) : Json(nullptr)}});
        if (queue.messages) list.back()["messages"] = *queue.messages;
        if (queue.consumers) list.back()["consumers"] = *queue.consumers;
        if (queue.may_hold) list.back()["may_hold"] = true;
    }
    return list;
}

Json json_of(const std::vector<HeldStatus>& outages) {
    Json list = Json::array();
    for (const HeldStatus& each : outages) {
        list.push_back({{"work_queue", each.work_queue},
                        {"queue", each.queue},
                        {"state", outage_states.at(static_cast<std::size_t>(each.outage))},
                        {"by_hand", each.by_hand},
                        {"messages", count_or_null(each.messages)},
                        {"since", moment_or_null(each.since)},
                        {"text", each.text}});
        if (each.unknown) list.back()["unknown"] = true;
        if (each.desk_since) list.back()["desk_since"] = moment_or_null(each.desk_since);
    }
    return list;
}

Json json_of(const std::vector<LadderStatus>& ladders) {
    Json list = Json::array();
    for (const LadderStatus& ladder : ladders)
        list.push_back({{"name", ladder.name}, {"rungs", json_of(ladder.rungs)}});
    return list;
}

Json json_of(const std::optional<ChecksStatus>& checks) {
    if (!checks) return nullptr;
    Json findings = Json::array();
    for (const FindingStatus& finding : checks->findings) {
        findings.push_back({{"code", finding.code},
                            {"severity", finding.severity},
                            {"since", moment_or_null(finding.since)},
                            {"cause", finding.cause},
                            {"consequence", finding.consequence},
                            {"remedy", finding.remedy},
                            {"command", finding.command},
                            {"names", finding.names}});
    }
    return {{"checked", moment_or_null(checks->checked)}, {"findings", findings}};
}

}  // namespace retryd::telemetry
