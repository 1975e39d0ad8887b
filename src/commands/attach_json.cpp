#include "commands/attach_json.h"

#include <ostream>

#include "commands/json.h"
#include "core/rabbitmqctl.h"

namespace retryd::commands {
namespace {

// Keys stay in the order in which they are written: people read this too.
std::string key_of(core::Standing::State state) {
    std::string key{to_string(state)};
    for (char& c : key) {
        if (c == ' ') c = '_';
    }
    return key;
}

Json queues(const std::vector<core::Standing>& standings) {
    Json list = Json::array();
    for (const core::Standing& standing : standings) {
        list.push_back({{"queue", standing.queue},
                        {"type", text_or_null(standing.type)},
                        {"state", key_of(standing.state)},
                        {"policy", text_or_null(standing.policy)},
                        {"note", text_or_null(standing.note)}});
    }
    return list;
}

Json object_of(const core::Definition& definition) {
    return Json::parse(core::json_object(definition), nullptr, false);
}

Json policy_of(const core::BrokerPolicy& policy) {
    return {{"name", policy.name},
            {"pattern", policy.pattern},
            {"apply_to", policy.apply_to},
            {"priority", policy.priority},
            {"definition", object_of(policy.definition)}};
}

Json change_of(const core::PolicyChange& change, const std::string& vhost) {
    Json object = policy_of(change.after);
    object["before"] = change.before ? policy_of(*change.before) : Json();
    object["in_effect_now"] = {{"policy", text_or_null(change.in_effect)},
                               {"definition", object_of(change.definition_now)}};
    object["queues"] = change.queues;
    object["notes"] = change.notes;
    object["set"] = core::set_policy_command(change.after, vhost);
    object["undo"] = change.before ? core::set_policy_command(*change.before, vhost)
                                   : core::clear_policy_command(change.after.name, vhost);
    return object;
}

Json changes(const AttachReport& report) {
    Json list = Json::array();
    for (std::size_t i = 0; i < report.found.changes.size(); ++i) {
        Json object = change_of(report.found.changes[i], report.vhost);
        const bool known = i < report.refusals.size();
        object["applied"] = known && report.refusals[i].empty();
        object["refusal"] = known ? text_or_null(report.refusals[i]) : Json();
        list.push_back(std::move(object));
    }
    return list;
}

}  // namespace

void print_attach_json(const AttachReport& report, bool ok, std::ostream& out) {
    const AttachSummary summary = summary_of(report);
    Json object{{"ok", ok},
                {"vhost", report.vhost},
                {"version", report.version ? Json(core::to_string(*report.version)) : Json()},
                {"management", {{"configured", report.management}, {"error", text_or_null(report.fault)}}},
                {"queues", queues(report.found.queues)},
                {"policies", changes(report)},
                {"not_ready", text_or_null(report.not_ready)},
                {"applied", report.applied},
                {"not_attached", report.applied ? queues(report.left) : Json()},
                {"summary",
                 {{"attached", summary.attached},
                  {"to_attach", summary.to_attach},
                  {"out_of_reach", summary.out_of_reach},
                  {"not_there", summary.not_there}}}};
    print_json(object, out);
}

}  // namespace retryd::commands
