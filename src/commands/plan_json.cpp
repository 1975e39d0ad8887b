#include "commands/plan_json.h"

#include <ostream>

#include "commands/json.h"
#include "core/duration.h"

namespace retryd::commands {
namespace {

// Keys stay in the order in which they are written: people read this too.
/// `in place` → `in_place`
std::string key_of(std::string_view text) {
    std::string key{text};
    for (char& c : key) {
        if (c == ' ' || c == '-') c = '_';
    }
    return key;
}

Json broker(const BrokerIdentity& at) {
    Json remarks = Json::array();
    for (const core::Remark& remark : core::remarks(at.version))
        remarks.push_back({{"warning", remark.warning}, {"text", remark.text}});
    return {{"host", at.host},
            {"port", at.port},
            {"tls", at.tls},
            {"vhost", at.vhost},
            {"version", core::to_string(at.version)},
            {"remarks", remarks}};
}

void add_names(Json& object, const core::TopologyItem& item) {
    if (const auto* binding = std::get_if<core::BindingSpec>(&item)) {
        object["exchange"] = binding->exchange;
        object["queue"] = binding->queue;
        object["routing_key"] = binding->routing_key;
    } else {
        const bool queue = std::holds_alternative<core::QueueSpec>(item);
        object[queue ? "queue" : "exchange"] = core::name_of(item);
    }
}

Json items(const Plan& plan) {
    Json list = Json::array();
    for (const Finding& finding : plan.findings) {
        Json object{{"role", key_of(core::to_string(finding.wanted.role))}};
        add_names(object, finding.wanted.item);
        object["work_queue"] = text_or_null(finding.wanted.work_queue);
        object["ladder"] = text_or_null(finding.wanted.ladder);
        object["state"] = key_of(to_string(finding.state));
        object["note"] = text_or_null(finding.note);
        list.push_back(std::move(object));
    }
    return list;
}

Json on_demand(const Plan& plan) {
    Json list = Json::array();
    for (const OnDemand& entry : plan.on_demand)
        list.push_back({{"match", entry.match}, {"ladder", entry.ladder}});
    return list;
}

/// Null where it is not known.
Json left_over(const Plan& plan) {
    if (!plan.management || !plan.management_fault.empty()) return nullptr;
    Json list = Json::array();
    for (const LeftOver& rung : plan.left_over) {
        const bool shared = rung.rung.return_path == core::ReturnPath::headers;
        list.push_back({{"queue", rung.queue},
                        {"type", rung.type},
                        {"work_queue", shared ? Json() : Json(rung.rung.serves)},
                        {"ladder", shared ? Json(rung.rung.serves) : Json()},
                        {"delay_ms", rung.rung.delay.count()},
                        {"messages", rung.messages ? Json(*rung.messages) : Json()}});
    }
    return list;
}

Json sums(const Plan& plan) {
    const Summary summary = summary_of(plan);
    return {{"in_place", summary.in_place},         {"missing", summary.missing}, {"different", summary.different},
            {"not_compared", summary.not_compared}, {"refused", summary.refused}, {"unknown", summary.unknown},
            {"left_over", summary.left_over}};
}

Json outcome_of(const Pruned& pruned) {
    Json kept = Json::array();
    for (const Kept& each : pruned.kept)
        kept.push_back({{"queue", each.queue}, {"why", each.why}});
    return {{"refused", text_or_null(pruned.refused)}, {"deleted", pruned.deleted}, {"kept", kept}};
}

}  // namespace

void print_plan_json(const Plan& plan, const Pruned* pruned, bool ok, std::ostream& out) {
    Json object{{"ok", ok}, {"broker", broker(plan.broker)}};
    if (pruned != nullptr) object["pruned"] = outcome_of(*pruned);
    object["items"] = items(plan);
    object["on_demand"] = on_demand(plan);
    object["left_over"] = left_over(plan);
    object["management"] = {{"configured", plan.management}, {"error", text_or_null(plan.management_fault)}};
    object["why_not_compared"] = text_or_null(plan.why_not_compared);
    object["summary"] = sums(plan);
    print_json(object, out);
}

}  // namespace retryd::commands
