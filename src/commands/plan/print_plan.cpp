#include "commands/plan/print_plan.h"

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "commands/common/broker.h"
#include "commands/common/json.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "config/addresses.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "core/topology.h"

namespace retryd::commands {

namespace {

constexpr std::size_t most_in_place = 10;  // complete groups; if there are more, they are summed up in one line
constexpr std::size_t most_declared = 30;

struct PlanGroup {
    std::string title;
    Rows rows;
    std::vector<std::string> notes;
    bool in_place = true;  // all items are in place
};

std::string address(const BrokerIdentity& broker) {
    return config::broker_address(broker.tls, broker.host, broker.port);
}

std::string title_of(const core::DesiredItem& wanted) {
    if (!wanted.ladder.empty()) return "Ladder " + core::safe_name(wanted.ladder);
    return wanted.work_queue.empty() ? "For all work queues" : "Work queue " + core::safe_name(wanted.work_queue);
}

/// The groups in the order of their first item, without bindings of which nothing is known.
std::vector<PlanGroup> groups_of(const Plan& plan) {
    std::vector<PlanGroup> groups;
    for (const PlanItem& item : plan.items) {
        if (item.state == State::unknown) continue;
        const std::string title = title_of(item.wanted);
        auto group = groups.begin();
        while (group != groups.end() && group->title != title)
            ++group;
        if (group == groups.end()) group = groups.insert(group, PlanGroup{title, {}, {}, true});
        group->rows.push_back({std::string{core::to_string(item.wanted.role)},
                               core::safe_name(core::name_of(item.wanted.item)), std::string{to_string(item.state)}});
        if (!item.note.empty()) group->notes.push_back(item.note);
        group->in_place = group->in_place && item.state == State::in_place && item.note.empty();
    }
    return groups;
}

void print_broker(const Plan& plan, const Bold& bold, std::ostream& out) {
    out << bold("RabbitMQ " + core::to_string(plan.broker.version)) << " at " << address(plan.broker) << ", vhost "
        << core::safe_name(plan.broker.vhost) << '\n';
    for (const core::Remark& remark : core::remarks(plan.broker.version))
        out << "  " << (remark.warning ? "Warning: " : "") << remark.text << '\n';
}

void print_items(const Plan& plan, bool all, const Bold& bold, std::ostream& out) {
    const std::vector<PlanGroup> groups = groups_of(plan);
    const auto in_place = static_cast<std::size_t>(
        std::count_if(groups.begin(), groups.end(), [](const PlanGroup& group) { return group.in_place; }));
    const bool fold = !all && in_place > most_in_place;
    for (const PlanGroup& group : groups) {
        if (fold && group.in_place) continue;
        out << '\n' << bold(core::safe_line(group.title)) << '\n';
        print_table(group.rows, "  ", out);
        for (const std::string& note : group.notes)
            out << "    " << core::safe_line(note) << '\n';
    }
    if (fold) {
        out << '\n'
            << bold(counted(in_place, "ladder or work queue", "ladders and work queues"))
            << ": all that they need is in place (--all names it)\n";
    }
}

void print_on_demand(const Plan& plan, const Bold& bold, std::ostream& out) {
    if (plan.on_demand.empty()) return;
    out << '\n' << bold("When the first message of a queue comes") << '\n';
    Rows rows;
    for (const OnDemand& entry : plan.on_demand)
        rows.push_back({core::safe_name(entry.match), "its own rungs, or return binding, for ladder " + entry.ladder +
                                                          "; its own parking queue, if any"});
    print_table(rows, "  ", out);
}

void print_left_over(const Plan& plan, const Bold& bold, std::ostream& out) {
    if (plan.left_over.empty()) return;
    out << '\n' << bold("Left over: nothing is published to them any more") << '\n';
    Rows rows;
    for (const LeftOver& rung : plan.left_over) {
        const bool known = rung.messages.has_value();
        const auto count = static_cast<std::size_t>(rung.messages.value_or(0));
        rows.push_back({core::safe_name(rung.queue), rung.type,
                        known ? counted(count, "message", "messages") : "not counted yet"});
    }
    print_table(rows, "  ", out);
}

void print_what_is_not_known(const Plan& plan, const Summary& summary, std::ostream& out) {
    if (!plan.management_fault.empty()) {
        out << "\nNot known: " << core::safe_line(plan.management_fault) << '\n';
    } else if (!plan.management) {
        out << "\nNot known: "
            << (summary.unknown > 0
                    ? "whether " + counted(summary.unknown, "binding is", "bindings are") + " there, and "
                    : "")
            << "which queues are left over: AMQP cannot tell. Set management.url to have it here.\n";
    }
    if (!plan.why_not_compared.empty()) {
        out << "\nNot compared, only seen to be there: " << core::safe_line(plan.why_not_compared) << '\n';
    }
}

/// Whether `apply` can make something. Items that only others can make have a note that says so.
bool can_apply(const Plan& plan) {
    return std::any_of(plan.items.begin(), plan.items.end(),
                       [](const PlanItem& item) { return item.state == State::missing && item.note.empty(); });
}

void print_what_to_do(const Plan& plan, const Summary& summary, std::ostream& out) {
    const std::string& same = plan.configuration;
    if (can_apply(plan)) out << "`retryd apply" << same << "` declares what is missing.\n";
    if (summary.left_over > 0) out << "`retryd apply --prune" << same << "` deletes what is left over and empty.\n";
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

void print_plan(const Plan& plan, bool all, bool colour, std::ostream& out) {
    const Bold bold{colour};
    const Summary summary = summary_of(plan);
    print_broker(plan, bold, out);
    print_items(plan, all, bold, out);
    print_on_demand(plan, bold, out);
    print_left_over(plan, bold, out);
    print_what_is_not_known(plan, summary, out);
    out << '\n';
    print_what_to_do(plan, summary, out);
    out << sums(summary) << '\n';
}

void print_declared(const std::vector<core::DesiredItem>& declared, bool all, bool colour, std::ostream& out) {
    if (declared.empty()) return;
    out << Bold{colour}("Declared") << '\n';
    Rows rows;
    const std::size_t shown = all || declared.size() <= most_declared ? declared.size() : most_declared;
    for (std::size_t i = 0; i < shown; ++i)
        rows.push_back(
            {std::string{core::to_string(declared[i].role)}, core::safe_name(core::name_of(declared[i].item))});
    print_table(rows, "  ", out);
    if (shown < declared.size()) out << "  and " << declared.size() - shown << " more (--all names them)\n";
    out << '\n';
}

void print_pruned(const PruneResult& pruned, bool colour, std::ostream& out) {
    out << Bold{colour}("Pruned") << '\n';
    Rows rows;
    for (const std::string& queue : pruned.deleted)
        rows.push_back({core::safe_name(queue), "deleted"});
    for (const KeptRung& kept : pruned.kept)
        rows.push_back({core::safe_name(kept.queue), "kept: " + kept.why});
    print_table(rows, "  ", out);
    if (!pruned.refused.empty()) out << "  " << core::safe_line(pruned.refused) << '\n';
    if (rows.empty() && pruned.refused.empty()) out << "  nothing was left over\n";
    out << '\n';
}

namespace {

Json json_of_broker(const BrokerIdentity& broker) {
    Json object = json_of(broker);
    object["remarks"] = Json::array();
    for (const core::Remark& remark : core::remarks(broker.version))
        object["remarks"].push_back({{"warning", remark.warning}, {"text", remark.text}});
    return object;
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
    for (const PlanItem& item : plan.items) {
        Json object{{"role", json_key(core::to_string(item.wanted.role))}};
        add_names(object, item.wanted.item);
        object["work_queue"] = text_or_null(item.wanted.work_queue);
        object["ladder"] = text_or_null(item.wanted.ladder);
        object["state"] = json_key(to_string(item.state));
        object["note"] = text_or_null(item.note);
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

/// Null if unknown.
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

Json outcome_of(const PruneResult& pruned) {
    Json kept = Json::array();
    for (const KeptRung& each : pruned.kept)
        kept.push_back({{"queue", each.queue}, {"why", each.why}});
    return {{"refused", text_or_null(pruned.refused)}, {"deleted", pruned.deleted}, {"kept", kept}};
}

}  // namespace

void print_plan_json(const Plan& plan, const PruneResult* pruned, bool ok, std::ostream& out) {
    Json object{{"ok", ok}, {"broker", json_of_broker(plan.broker)}};
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
