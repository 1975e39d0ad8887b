#include "commands/attach/attach_output.h"

#include <ostream>

#include "admin/rabbitmqctl.h"
#include "commands/common/json.h"
#include "commands/common/table.h"
#include "commands/common/text.h"

namespace retryd::commands {

namespace {

bool something_was_set(const AttachReport& report) {
    return report.applied && !report.found.changes.empty();
}

void print_queues(const std::vector<admin::AttachState>& queues, std::ostream& out) {
    Rows rows;
    for (const admin::AttachState& standing : queues) {
        const bool there = standing.state != admin::AttachState::State::not_there;
        const std::string policy = standing.policy.empty() ? "no policy" : "policy " + standing.policy;
        rows.push_back({standing.queue, there ? standing.type : "-", std::string{to_string(standing.state)},
                        there ? policy : "-"});
    }
    print_table(rows, "  ", out);
    for (const admin::AttachState& standing : queues) {
        if (!standing.note.empty()) print_line(standing.queue + ": " + standing.note, "    ", out);
    }
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
        text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

/// Against what is in effect now: `+` comes, `-` goes, the rest stays.
void print_difference(const admin::PolicyChange& change, std::ostream& out) {
    const auto print = [&out](const auto& setting, const char* indent) {
        print_table({{setting.first + ": " + setting.second}}, indent, out);
    };
    const core::Definition& now = change.definition_now;
    const core::Definition& then = change.after.definition;
    core::Definition all = now;
    all.insert(then.begin(), then.end());
    for (const auto& setting : all) {
        const auto before = now.find(setting.first);
        const auto after = then.find(setting.first);
        const bool stays = before != now.end() && after != then.end() && before->second == after->second;
        if (stays) {
            print(setting, "      ");
            continue;
        }
        if (before != now.end()) print(*before, "    - ");
        if (after != then.end()) print(*after, "    + ");
    }
}

void print_pattern(const admin::PolicyChange& change, std::ostream& out) {
    const bool changed = change.before && change.before->pattern != change.after.pattern;
    if (changed) print_line("pattern " + change.before->pattern, "  - ", out);
    print_line("pattern " + change.after.pattern, changed ? "  + " : "  ", out);
    out << "  applies to " << change.after.apply_to << ", priority " << change.after.priority << '\n';
}

void print_commands(const admin::PolicyChange& change, const AttachReport& report, std::ostream& out) {
    const std::string undo = change.before ? admin::set_policy_command(*change.before, report.vhost)
                                           : admin::clear_policy_command(change.after.name, report.vhost);
    if (!report.applied) {
        out << "  Set it:\n";
        print_line(admin::set_policy_command(change.after, report.vhost), "    ", out);
    }
    out << "  Undo it:\n";
    print_line(undo, "    ", out);
}

void print_change(const admin::PolicyChange& change, const AttachReport& report, const std::string& refusal,
                  const Heading& heading, std::ostream& out) {
    out << '\n';
    const std::string done = !report.applied ? "" : refusal.empty() ? ", set" : ", not set";
    print_line("Policy " + change.after.name + (change.before ? ": changed" : ": new") + done, heading(""), out);
    if (!refusal.empty()) print_line(refusal, "  ", out);
    if (!change.queues.empty()) print_line("attaches " + joined(change.queues), "  ", out);
    print_pattern(change, out);
    print_difference(change, out);
    for (const std::string& note : change.notes)
        print_line(note, "  Note: ", out);
    if (refusal.empty()) print_commands(change, report, out);
}

void print_what_is_not_known(const AttachReport& report, std::ostream& out) {
    if (report.version) return;
    out << "\nNot known: "
        << (report.management ? report.fault : std::string{"the broker was not asked: set management.url for that"})
        << "\nOnly one policy applies to a queue: where there is one, add the key to that one instead. For quorum "
           "work\n"
           "queues a policy of their own with also \"dead-letter-strategy\": \"at-least-once\" and \"overflow\":\n"
           "\"reject-publish\" (RabbitMQ 3.10 and later; a classic queue takes no policy with the first of these in\n"
           "it). A queue whose dead-letter exchange is fixed by argument needs errors.bind instead.\n";
}

void print_left(const AttachReport& report, const Heading& heading, std::ostream& out) {
    if (!something_was_set(report) || report.left.empty()) return;
    out << '\n' << heading("Not attached") << '\n';
    print_queues(report.left, out);
}

std::string sums(const AttachReport& report) {
    const AttachSummary summary = summary_of(report);
    std::string line = std::to_string(summary.attached) + " attached";
    const auto add = [&](std::size_t number, const std::string& what) {
        if (number > 0) line += ", " + std::to_string(number) + ' ' + what;
    };
    add(summary.to_attach, "to attach");
    add(summary.out_of_reach, "out of reach");
    add(summary.not_there, "not there");
    return line + "; " +
           (report.found.changes.empty()
                ? "nothing to set"
                : counted(report.found.changes.size(), "policy", "policies") + (report.applied ? "" : " to set"));
}

}  // namespace

void print_attach(const AttachReport& report, bool colour, std::ostream& out) {
    const Heading heading{colour};
    if (report.version) out << heading("RabbitMQ " + core::to_string(*report.version)) << ", ";
    print_line("vhost " + report.vhost, "", out);
    if (!report.found.queues.empty()) {
        out << '\n' << heading("Work queues") << (something_was_set(report) ? ", before" : "") << '\n';
        print_queues(report.found.queues, out);
    }
    if (!report.not_ready.empty()) print_line("Not yet: " + report.not_ready, "\n", out);
    for (std::size_t i = 0; i < report.found.changes.size(); ++i) {
        const bool known = i < report.refusals.size();
        print_change(report.found.changes[i], report, known ? report.refusals[i] : "", heading, out);
    }
    print_what_is_not_known(report, out);
    print_left(report, heading, out);
    if (report.version && !report.fault.empty()) print_line(report.fault, "\nNot known: ", out);
    if (report.version) out << '\n' << sums(report) << '\n';
}

namespace {

// Keys stay in the order in which they are written: people read this too.
std::string key_of(admin::AttachState::State state) {
    std::string key{to_string(state)};
    for (char& c : key) {
        if (c == ' ') c = '_';
    }
    return key;
}

Json queues(const std::vector<admin::AttachState>& standings) {
    Json list = Json::array();
    for (const admin::AttachState& standing : standings) {
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

Json policy_of(const admin::BrokerPolicy& policy) {
    return {{"name", policy.name},
            {"pattern", policy.pattern},
            {"apply_to", policy.apply_to},
            {"priority", policy.priority},
            {"definition", object_of(policy.definition)}};
}

Json change_of(const admin::PolicyChange& change, const std::string& vhost) {
    Json object = policy_of(change.after);
    object["before"] = change.before ? policy_of(*change.before) : Json();
    object["in_effect_now"] = {{"policy", text_or_null(change.in_effect)},
                               {"definition", object_of(change.definition_now)}};
    object["queues"] = change.queues;
    object["notes"] = change.notes;
    object["set"] = admin::set_policy_command(change.after, vhost);
    object["undo"] = change.before ? admin::set_policy_command(*change.before, vhost)
                                   : admin::clear_policy_command(change.after.name, vhost);
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
