#include "telemetry/status.h"

#include <nlohmann/json.hpp>

#include "core/duration.h"

namespace retryd::telemetry {

namespace {

// Keys stay in the order in which they are written: people read this too.
using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json moment(const Moment& moment) {
    return moment ? Json(moment->time_since_epoch().count()) : Json(nullptr);
}

Json rungs(const std::vector<RungStatus>& rungs) {
    Json list = Json::array();
    for (const RungStatus& rung : rungs) {
        list.push_back({{"queue", rung.queue},
                        {"delay", core::format_duration(rung.delay)},
                        {"delay_ms", rung.delay.count()},
                        {"messages", or_null(rung.messages)}});
    }
    return list;
}

Json parked(const ParkedStatus& parked) {
    return {{"queue", parked.queue}, {"messages", or_null(parked.messages)}};
}

Json queue(const QueueStatus& queue) {
    return {{"work_queue", queue.work_queue},
            {"ladder", queue.ladder},
            {"shared", queue.shared},
            {"rungs", rungs(queue.rungs)},
            {"parked", parked(queue.parked)},
            {"totals", {{"retried", queue.retried}, {"parked", queue.parked_messages}, {"dropped", queue.dropped}}}};
}

Json broker(const BrokerStatus& broker) {
    return {{"name", broker.name},
            {"version", broker.version},
            {"connected", broker.connected},
            {"since", moment(broker.since)},
            {"blocked", broker.blocked},
            {"blocked_reason", broker.blocked_reason},
            {"reconnects", broker.reconnects},
            {"fault", broker.fault}};
}

Json rates(const Rates& rates) {
    return {{"interval_ms", rates.interval.count()},
            {"retried", rates.retried},
            {"parked", rates.parked},
            {"dropped", rates.dropped}};
}

template <class T, class Function>
Json list_of(const std::vector<T>& items, Function to_json) {
    Json list = Json::array();
    for (const T& item : items)
        list.push_back(to_json(item));
    return list;
}

}  // namespace

std::string to_json(const Status& status) {
    Json json{
        {"version", status.version},
        {"now", moment(status.now)},
        {"started", moment(status.started)},
        {"ready", status.ready},
        {"reason", status.reason},
        {"config_file", status.config_file},
        {"broker", broker(status.broker)},
        {"errors",
         {{"exchange", status.error_exchange}, {"queue", status.error_queue}, {"messages", or_null(status.errors)}}},
        {"catch_all", parked(status.catch_all)},
        {"in_flight", status.in_flight},
        {"counted", moment(status.counted)},
        {"queues", list_of(status.queues, queue)}};
    if (status.queues_left_out > 0) json["queues_left_out"] = status.queues_left_out;
    json["ladders"] = list_of(status.ladders, [](const LadderStatus& ladder) {
        return Json{{"name", ladder.name}, {"rungs", rungs(ladder.rungs)}};
    });
    json["parked_by_reason"] = list_of(status.parked_by_reason, [](const ParkedByReason& parked) {
        return Json{{"reason", parked.reason}, {"messages", parked.messages}};
    });
    json["requeued"] = status.requeued;
    json["confirm_ms"] = {{"p50", status.confirm_p50_ms}, {"p99", status.confirm_p99_ms}};
    json["rates"] = rates(status.rates);
    json["faults"] = list_of(status.faults, [](const LastingFault& fault) {
        return Json{{"since", moment(fault.since)}, {"text", fault.text}};
    });
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace retryd::telemetry
