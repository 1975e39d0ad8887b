#include "commands/plan/plan_output.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "commands/common/json.h"
#include "commands/common/table.h"
#include "commands/common/text.h"
#include "config/addresses.h"
#include "core/duration.h"

namespace retryd::commands {

namespace {

struct PlanGroup {
    std::string title;
    Rows rows;
    std::vector<std::string> notes;
};

std::string address(const BrokerIdentity& broker) {
    return config::broker_address(broker.tls, broker.host, broker.port);
}

std::string title_of(const core::DesiredItem& wanted) {
    if (!wanted.ladder.empty()) return "Ladder " + wanted.ladder;
    return wanted.work_queue.empty() ? "For all work queues" : "Work queue " + wanted.work_queue;
}

/// In the order of their first item. Bindings of which nothing is known are not among them.
std::vector<PlanGroup> groups_of(const Plan& plan) {
    std::vector<PlanGroup> groups;
    for (const PlanItem& finding : plan.findings) {
        if (finding.state == State::unknown) continue;
        const std::string title = title_of(finding.wanted);
        auto group = groups.begin();
        while (group != groups.end() && group->title != title)
            ++group;
        if (group == groups.end()) group = groups.insert(group, PlanGroup{title, {}, {}});
        group->rows.push_back({std::string{core::to_string(finding.wanted.role)}, core::name_of(finding.wanted.item),
                               std::string{to_string(finding.state)}});
        if (!finding.note.empty()) group->notes.push_back(finding.note);
    }
    return groups;
}

void print_broker(const Plan& plan, const Heading& heading, std::ostream& out) {
    out << heading("RabbitMQ " + core::to_string(plan.broker.version)) << " at " << address(plan.broker) << ", vhost "
        << plan.broker.vhost << '\n';
    for (const core::Remark& remark : core::remarks(plan.broker.version))
        out << "  " << (remark.warning ? "Warning: " : "") << remark.text << '\n';
}

void print_findings(const Plan& plan, const Heading& heading, std::ostream& out) {
    for (const PlanGroup& group : groups_of(plan)) {
        out << '\n' << heading(group.title) << '\n';
        print_table(group.rows, "  ", out);
        for (const std::string& note : group.notes)
            out << "    " << note << '\n';
    }
}

void print_on_demand(const Plan& plan, const Heading& heading, std::ostream& out) {
    if (plan.on_demand.empty()) return;
    out << '\n' << heading("When the first message of a queue comes") << '\n';
    Rows rows;
    for (const OnDemand& entry : plan.on_demand)
        rows.push_back({entry.match, "what is its own of ladder " + entry.ladder + ", and where it parks"});
    print_table(rows, "  ", out);
}

void print_left_over(const Plan& plan, const Heading& heading, std::ostream& out) {
    if (plan.left_over.empty()) return;
    out << '\n' << heading("Left over: nothing is published to them any more") << '\n';
    Rows rows;
    for (const LeftOver& rung : plan.left_over) {
        const bool known = rung.messages.has_value();
        const auto count = static_cast<std::size_t>(rung.messages.value_or(0));
        rows.push_back({rung.queue, rung.type, known ? counted(count, "message", "messages") : "not counted yet"});
    }
    print_table(rows, "  ", out);
}

void print_what_is_not_known(const Plan& plan, const Summary& summary, std::ostream& out) {
    if (!plan.management_fault.empty()) {
        out << "\nNot known: " << plan.management_fault << '\n';
    } else if (!plan.management) {
        out << "\nNot known: "
            << (summary.unknown > 0
                    ? "whether " + counted(summary.unknown, "binding is", "bindings are") + " there, and "
                    : "")
            << "which queues are left over: AMQP cannot tell. Set management.url to have it here.\n";
    }
    if (!plan.why_not_compared.empty()) {
        out << "\nNot compared, only seen to be there: " << plan.why_not_compared << '\n';
    }
}

/// What only others can make has a note that says so.
bool can_apply(const Plan& plan) {
    return std::any_of(plan.findings.begin(), plan.findings.end(),
                       [](const PlanItem& finding) { return finding.state == State::missing && finding.note.empty(); });
}

void print_what_to_do(const Plan& plan, const Summary& summary, std::ostream& out) {
    if (can_apply(plan)) out << "`retryd apply` declares what is missing.\n";
    if (summary.left_over > 0) out << "`retryd apply --prune` deletes what is left over and empty.\n";
}

std::string sums(const Summary& summary) {
    std::string line = std::to_string(summary.in_place) + " in place";
    const auto add = [&](std::size_t number, const std::string& what) {
        if (number > 0) line += ", " + std::to_string(number) + ' ' + what;
    };
    add(summary.missing, "missing");
    add(summary.different, "different");
    add(summary.not_compared, "not compared");
    add(summary.refused, "refused");
    add(summary.unknown, "unknown");
    add(summary.left_over, "left over");
    return line;
}

}  // namespace

void print_plan(const Plan& plan, bool colour, std::ostream& out) {
    const Heading heading{colour};
    const Summary summary = summary_of(plan);
    print_broker(plan, heading, out);
    print_findings(plan, heading, out);
    print_on_demand(plan, heading, out);
    print_left_over(plan, heading, out);
    print_what_is_not_known(plan, summary, out);
    out << '\n';
    print_what_to_do(plan, summary, out);
    out << sums(summary) << '\n';
}

void print_pruned(const Pruned& pruned, bool colour, std::ostream& out) {
    out << Heading{colour}("Pruned") << '\n';
    Rows rows;
    for (const std::string& queue : pruned.deleted)
        rows.push_back({queue, "deleted"});
    for (const Kept& kept : pruned.kept)
        rows.push_back({kept.queue, "kept: " + kept.why});
    print_table(rows, "  ", out);
    if (!pruned.refused.empty()) out << "  " << pruned.refused << '\n';
    if (rows.empty() && pruned.refused.empty()) out << "  nothing was left over\n";
    out << '\n';
}

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
    for (const PlanItem& finding : plan.findings) {
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
