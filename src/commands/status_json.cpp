#include "commands/status_json.h"

#include <ostream>

#include "commands/json.h"
#include "core/duration.h"

namespace retryd::commands {
namespace {

// Keys stay in the order in which they are written: people read this too.
Json depth(const Depth& of) {
    return {{"queue", of.queue}, {"messages", of.messages ? Json(*of.messages) : Json()}};
}

Json rungs(const std::vector<RungDepth>& of) {
    Json list = Json::array();
    for (const RungDepth& rung : of) {
        Json object = depth(rung.depth);
        object["delay"] = core::format_duration(rung.delay);
        object["delay_ms"] = rung.delay.count();
        list.push_back(std::move(object));
    }
    return list;
}

Json totals(const std::optional<Totals>& of) {
    if (!of) return nullptr;
    return {{"retried", of->retried}, {"parked", of->parked}, {"dropped", of->dropped}};
}

Json queues(const Status& status) {
    Json list = Json::array();
    for (const WorkQueueStatus& queue : status.queues) {
        list.push_back({{"work_queue", queue.work_queue},
                        {"ladder", queue.ladder},
                        {"shared", queue.shared},
                        {"rungs", rungs(queue.rungs)},
                        {"parked", queue.parked ? depth(*queue.parked) : Json()},
                        {"totals", totals(queue.totals)}});
    }
    return list;
}

Json ladders(const Status& status) {
    Json list = Json::array();
    for (const SharedLadderStatus& ladder : status.ladders)
        list.push_back({{"name", ladder.name}, {"rungs", rungs(ladder.rungs)}});
    return list;
}

Json daemon(const std::optional<DaemonView>& view) {
    if (!view) return nullptr;
    return {{"ready", view->ready},
            {"reason", view->reason},
            {"in_flight", view->in_flight},
            {"per_second",
             {{"retried", view->rates.retried}, {"parked", view->rates.parked}, {"dropped", view->rates.dropped}}},
            {"faults", view->faults}};
}

}  // namespace

void print_status_json(const Status& status, bool one_line, std::ostream& out) {
    const BrokerIdentity& at = status.broker;
    const Json object{{"ok", true},
                      {"broker",
                       {{"host", at.host},
                        {"port", at.port},
                        {"tls", at.tls},
                        {"vhost", at.vhost},
                        {"version", core::to_string(at.version)}}},
                      {"errors", depth(status.errors)},
                      {"catch_all", depth(status.catch_all)},
                      {"queues", queues(status)},
                      {"ladders", ladders(status)},
                      {"daemon", daemon(status.daemon)},
                      {"not_seen", status.not_seen}};
    print_json(object, out, one_line);
    out.flush();  // a watch shows what there is
}

}  // namespace retryd::commands
