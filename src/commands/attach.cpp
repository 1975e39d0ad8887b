#include "commands/attach.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <utility>

#include "admin/attach_plan.h"
#include "admin/by_source.h"
#include "admin/checks.h"
#include "admin/dead_letter_path.h"
#include "admin/guard.h"
#include "admin/rabbitmqctl.h"
#include "commands/common/json.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "commands/doctor/doctor.h"
#include "core/safe_text.h"

namespace retryd::commands {

namespace {

/// The report without a management API, or without an answer from it: one policy for all work queues.
AttachReport general_report(const config::Settings& settings) {
    AttachReport report;
    report.left_out = admin::left_out_line(settings.policy);
    for (admin::BrokerPolicy& policy : admin::general_policies(settings.policy))
        report.plan.changes.push_back({std::move(policy), {}, "", {}, {}, {}});
    for (admin::BrokerPolicy& guard : admin::general_guards(settings.policy)) {
        report.plan.changes.push_back(
            {std::move(guard),
             {},
             "",
             {},
             {},
             {"guards retryd's own queues from policies with a pattern such as .*; for "
              "RabbitMQ 3.10 and later, where none of these queues has a policy of its own"}});
    }
    return report;
}

AttachReport report_of(const config::Settings& settings, bool apply) {
    const std::string vhost =
        settings.broker.endpoints.empty() ? config::Endpoint{}.vhost : settings.broker.endpoints.front().vhost;
    const auto management = management_api(settings, vhost);
    AttachReport report;
    if (management) report = attach_work_queues(*management, settings.policy, vhost, apply);
    if (!report.version) {
        std::string fault = std::move(report.fault);
        report = general_report(settings);
        report.fault = std::move(fault);
    }
    report.management = management != nullptr;
    report.vhost = vhost;
    return report;
}

}  // namespace

int attach(const ReportOptions& options, bool apply, std::ostream& out, std::ostream& err) {
    const Report output(options, out, err);
    return output.run([&](const config::Settings& settings) {
        if (apply && !settings.management) {
            return output.fail(
                "--apply needs the management API: AMQP cannot set a policy, nor tell which one is in effect. "
                "Nothing was done; set management.url, or leave --apply out to have the command printed",
                exit_code::wrong_configuration);
        }
        AttachReport report = report_of(settings, apply);
        report.configuration = configuration_option(options.config_path);
        name_configuration(report.not_guarded, options.config_path);
        if (apply && !report.version) return output.fail(report.fault, exit_code::failed);
        if (apply && !report.not_ready.empty()) {
            return output.fail("nothing was set: " + report.not_ready, exit_code::failed);
        }
        const int code = attach_exit_code(report);
        if (output.json()) {
            print_attach_json(report, code == exit_code::fine, out);
        } else {
            print_attach(report, output.colour(), out);
        }
        return code;
    });
}

AttachSummary summary_of(const AttachReport& report) {
    using Attached = admin::AttachState::State;
    const auto count = [&](Attached state) {
        return static_cast<std::size_t>(
            std::count_if(report.plan.queues.begin(), report.plan.queues.end(),
                          [&](const admin::AttachState& queue) { return queue.state == state; }));
    };
    return {count(Attached::attached), count(Attached::to_attach), count(Attached::out_of_reach),
            count(Attached::by_source), count(Attached::not_there)};
}

int attach_exit_code(const AttachReport& report) {
    if (!report.fault.empty()) return exit_code::failed;
    if (!report.applied) {
        const AttachSummary summary = summary_of(report);
        const bool work = report.version && !(report.plan.changes.empty() && report.plan.bindings.empty());
        const bool beyond = summary.out_of_reach > 0 || !report.not_guarded.empty();
        return work || beyond ? exit_code::something_to_do : exit_code::fine;
    }
    const auto any = [](const std::vector<std::string>& refusals) {
        return std::any_of(refusals.begin(), refusals.end(),
                           [](const std::string& refusal) { return !refusal.empty(); });
    };
    if (any(report.refusals) || any(report.binding_refusals)) return exit_code::failed;
    return report.left.empty() && report.not_guarded.empty() ? exit_code::fine : exit_code::something_to_do;
}

namespace {

std::vector<admin::AttachState> not_attached(const admin::AttachPlan& plan) {
    using State = admin::AttachState::State;
    std::vector<admin::AttachState> left;
    for (const admin::AttachState& queue : plan.queues) {
        if (queue.state == State::to_attach || queue.state == State::out_of_reach) left.push_back(queue);
    }
    return left;
}

std::vector<admin::Finding> beyond_guarding(const core::Policy& policy, const admin::VhostPolicies& vhost_policies,
                                            const std::string& vhost) {
    std::vector<admin::Finding> found = admin::check_own_queues(policy, vhost_policies, vhost);
    std::erase_if(found, [](const admin::Finding& each) { return each.command.starts_with("retryd attach"); });
    return found;
}

/// Why nothing may be set yet: rejected messages would be lost if the error exchange led nowhere, and would not reach
/// retryd if a queue gave up its only way to it.
std::string why_not_ready(ManagementApi& management, const core::Policy& policy,
                          const admin::VhostPolicies& vhost_policies) {
    if (std::string why = admin::why_not_left_out(policy, vhost_policies); !why.empty()) return why;
    for (const core::BindingSpec& binding : management.bindings_from(policy.error_exchange)) {
        if (binding.queue == policy.error_queue) return "";
    }
    return "the error queue " + core::quoted(policy.error_queue) + " is not bound to the error exchange " +
           core::quoted(policy.error_exchange) +
           ", or one of them is not there: whatever a queue attached now rejects would be lost. Run retryd apply "
           "first, or start the daemon";
}

/// Returns why the change failed; empty if it did not.
template <typename Change>
std::string refusal_of(const Change& change) {
    try {
        change();
    } catch (const http::Error& error) {
        return error.what();
    }
    return "";
}

admin::VhostPolicies look_at_all(ManagementApi& management) {
    admin::VhostPolicies found = management.vhost_policies();
    found.routing = management.routing();
    return found;
}

}  // namespace

AttachReport attach_work_queues(ManagementApi& management, const core::Policy& policy, const std::string& vhost,
                                bool apply) {
    AttachReport report;
    try {
        const admin::VhostPolicies before = look_at_all(management);
        report.version = before.version;
        report.plan = admin::plan_attach(policy, before);
        std::vector<admin::PolicyChange> guard = admin::plan_guard(policy, before);
        std::move(guard.begin(), guard.end(), std::back_inserter(report.plan.changes));
        report.not_guarded = beyond_guarding(policy, before, vhost);
        report.hints = admin::attach_hints(policy, before);
        report.left_out = admin::left_out_line(policy);
        const bool work = !report.plan.changes.empty() || !report.plan.bindings.empty();
        if (work) report.not_ready = why_not_ready(management, policy, before);
        if (!apply || !report.not_ready.empty()) return report;
        report.applied = true;
        for (const admin::PolicyChange& change : report.plan.changes)
            report.refusals.push_back(refusal_of([&] { management.set_policy(change.after); }));
        for (const admin::BindingChange& change : report.plan.bindings) {
            const core::BindingSpec binding = core::error_binding(policy, change.binding);
            report.binding_refusals.push_back(refusal_of([&] { management.bind(binding); }));
        }
        report.left = not_attached(admin::plan_attach(policy, look_at_all(management)));
    } catch (const http::Error& error) {
        report.fault = error.what();
    }
    return report;
}

namespace {

bool something_was_set(const AttachReport& report) {
    return report.applied && !(report.plan.changes.empty() && report.plan.bindings.empty());
}

void print_queues(const std::vector<admin::AttachState>& queues, std::ostream& out) {
    Rows rows;
    for (const admin::AttachState& queue : queues) {
        const bool there = queue.state != admin::AttachState::State::not_there;
        const std::string policy = queue.policy.empty() ? "no policy" : "policy " + core::safe_name(queue.policy);
        rows.push_back({core::safe_name(queue.queue), there ? queue.type : "-", std::string{to_string(queue.state)},
                        there ? policy : "-"});
    }
    print_table(rows, "  ", out);
    for (const admin::AttachState& queue : queues) {
        const bool said_of_all = queue.state == admin::AttachState::State::by_source && queue.remedy.empty();
        if (queue.note.empty() || said_of_all) continue;
        print_line(core::safe_name(queue.queue) + ": " + queue.note + (queue.remedy.empty() ? "" : "; " + queue.remedy),
                   "    ", out);
    }
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
        text.append(text.empty() ? "" : ", ").append(core::safe_name(name));
    return text;
}

/// Compared with what is in effect now: `+` is added, `-` is removed, all else stays.
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
                  const Bold& bold, std::ostream& out) {
    out << '\n';
    const std::string done = !report.applied ? "" : refusal.empty() ? ", set" : ", not set";
    print_line("Policy " + core::safe_name(change.after.name) + (change.before ? ": changed" : ": new") + done,
               bold(""), out);
    if (!refusal.empty()) print_line(refusal, "  ", out);
    if (!change.queues.empty()) print_line("attaches " + joined(change.queues), "  ", out);
    print_pattern(change, out);
    print_difference(change, out);
    for (const std::string& note : change.notes)
        print_line(note, "  Note: ", out);
    if (refusal.empty()) print_commands(change, report, out);
}

void print_binding(const admin::BindingChange& change, const AttachReport& report, const std::string& refusal,
                   const Bold& bold, std::ostream& out) {
    out << '\n';
    const std::string done = !report.applied ? "" : refusal.empty() ? ", bound" : ", not bound";
    print_line("Binding to exchange " + core::safe_name(change.binding.exchange) + " with the routing key " +
                   core::quoted(change.binding.routing_key) + ": new" + done,
               bold(""), out);
    if (!refusal.empty()) print_line(refusal, "  ", out);
    print_line("attaches " + joined(change.queues), "  ", out);
    print_line("have it in errors.bind as well: it is bound again then when the exchange has been declared again",
               "  Note: ", out);
    print_line(admin::bind_items(change.binding.exchange, {{change.binding.routing_key}}), "    ", out);
}

void print_bindings(const AttachReport& report, const Bold& bold, std::ostream& out) {
    for (std::size_t i = 0; i < report.plan.bindings.size(); ++i) {
        const bool known = i < report.binding_refusals.size();
        print_binding(report.plan.bindings[i], report, known ? report.binding_refusals[i] : "", bold, out);
    }
}

void print_what_is_not_known(const AttachReport& report, std::ostream& out) {
    if (report.version) return;
    out << "\nNot known: "
        << (report.management ? core::safe_line(report.fault)
                              : std::string{"the broker was not asked: set management.url for that"})
        << "\nOnly one policy applies to a queue: where there is one, add the key to that one instead. For quorum "
           "work\n"
           "queues a policy of their own with also \"dead-letter-strategy\": \"at-least-once\" and \"overflow\":\n"
           "\"reject-publish\" (RabbitMQ 3.10 and later; a classic queue takes no policy with the first of these in\n"
           "it). A queue whose dead-letter exchange is fixed by argument needs errors.bind instead.\n";
}

void print_left(const AttachReport& report, const Bold& bold, std::ostream& out) {
    if (!something_was_set(report) || report.left.empty()) return;
    out << '\n' << bold("Not attached") << '\n';
    print_queues(report.left, out);
}

void print_not_guarded(const AttachReport& report, const Bold& bold, std::ostream& out) {
    for (const admin::Finding& finding : report.not_guarded) {
        print_line(finding.cause, '\n' + bold("Not guarded: "), out);
        print_line(finding.remedy, "  ", out);
        if (!finding.command.empty()) print_line(finding.command, "    ", out);
    }
}

std::string sums(const AttachReport& report) {
    const AttachSummary summary = summary_of(report);
    std::string line = std::to_string(summary.attached) + " attached";
    const auto add = [&](std::size_t number, const std::string& what) {
        if (number > 0) line += ", " + std::to_string(number) + ' ' + what;
    };
    add(summary.to_attach, "to attach");
    add(summary.out_of_reach, "out of reach");
    add(summary.by_source, "by source");
    add(summary.not_there, "not there");
    const std::size_t changes = report.plan.changes.size();
    const std::size_t bindings = report.plan.bindings.size();
    if (changes + bindings == 0) return line + "; nothing to set";
    const std::string policies = counted(changes, "policy", "policies");
    const std::string keys = counted(bindings, "binding", "bindings");
    const auto both = [&](const std::string& of_policies, const std::string& of_bindings) {
        if (bindings == 0) return of_policies;
        return changes == 0 ? of_bindings : of_policies + ", " + of_bindings;
    };
    if (!report.applied) {
        return line + "; " + both(policies + " to set", keys + " to make") + ": retryd attach --apply" +
               report.configuration + " does";
    }
    const auto done = [](const std::vector<std::string>& refusals) {
        return std::to_string(std::count(refusals.begin(), refusals.end(), "")) + " of ";
    };
    return "before: " + line + "; " +
           both(done(report.refusals) + policies + " set", done(report.binding_refusals) + keys + " made") + "; " +
           (report.left.empty() ? "all are attached now"
                                : counted(report.left.size(), "queue is", "queues are") + " not attached");
}

}  // namespace

void print_attach(const AttachReport& report, bool colour, std::ostream& out) {
    const Bold bold{colour};
    if (report.version) out << bold("RabbitMQ " + core::to_string(*report.version)) << ", ";
    print_line("vhost " + core::safe_name(report.vhost), "", out);
    if (!report.plan.queues.empty()) {
        out << '\n' << bold("Work queues") << (something_was_set(report) ? ", before" : "") << '\n';
        print_queues(report.plan.queues, out);
    }
    if (!report.left_out.empty()) print_line(report.left_out, '\n' + bold("Left out: "), out);
    if (!report.not_ready.empty()) print_line("Not yet: " + report.not_ready, "\n", out);
    for (std::size_t i = 0; i < report.plan.changes.size(); ++i) {
        const bool known = i < report.refusals.size();
        print_change(report.plan.changes[i], report, known ? report.refusals[i] : "", bold, out);
    }
    print_bindings(report, bold, out);
    print_what_is_not_known(report, out);
    print_left(report, bold, out);
    print_not_guarded(report, bold, out);
    if (report.version && !report.fault.empty()) print_line(report.fault, "\nNot known: ", out);
    for (const std::string& hint : report.hints)
        print_line(hint, '\n' + bold("Hint: "), out);
    if (report.version) out << '\n' << sums(report) << '\n';
}

namespace {

Json json_of(const std::vector<admin::AttachState>& queues) {
    Json list = Json::array();
    for (const admin::AttachState& queue : queues) {
        list.push_back({{"queue", queue.queue},
                        {"type", text_or_null(queue.type)},
                        {"state", json_key(to_string(queue.state))},
                        {"policy", text_or_null(queue.policy)},
                        {"note", text_or_null(queue.note)},
                        {"remedy", text_or_null(queue.remedy)}});
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

Json json_of(const std::vector<admin::Finding>& findings) {
    Json list = Json::array();
    for (const admin::Finding& finding : findings) {
        list.push_back({{"cause", finding.cause},
                        {"consequence", finding.consequence},
                        {"remedy", finding.remedy},
                        {"command", text_or_null(finding.command)},
                        {"names", finding.names}});
    }
    return list;
}

Json changes(const AttachReport& report) {
    Json list = Json::array();
    for (std::size_t i = 0; i < report.plan.changes.size(); ++i) {
        Json object = change_of(report.plan.changes[i], report.vhost);
        const bool known = i < report.refusals.size();
        object["applied"] = known && report.refusals[i].empty();
        object["refusal"] = known ? text_or_null(report.refusals[i]) : Json();
        list.push_back(std::move(object));
    }
    return list;
}

Json bindings(const AttachReport& report) {
    Json list = Json::array();
    for (std::size_t i = 0; i < report.plan.bindings.size(); ++i) {
        const admin::BindingChange& change = report.plan.bindings[i];
        const bool known = i < report.binding_refusals.size();
        list.push_back({{"exchange", change.binding.exchange},
                        {"routing_key", change.binding.routing_key},
                        {"queues", change.queues},
                        {"applied", known && report.binding_refusals[i].empty()},
                        {"refusal", known ? text_or_null(report.binding_refusals[i]) : Json()}});
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
                {"queues", json_of(report.plan.queues)},
                {"policies", changes(report)},
                {"bindings", bindings(report)},
                {"left_out", text_or_null(report.left_out)},
                {"hints", report.hints},
                {"not_ready", text_or_null(report.not_ready)},
                {"applied", report.applied},
                {"not_attached", report.applied ? json_of(report.left) : Json()},
                {"not_guarded", json_of(report.not_guarded)},
                {"summary",
                 {{"attached", summary.attached},
                  {"to_attach", summary.to_attach},
                  {"out_of_reach", summary.out_of_reach},
                  {"by_source", summary.by_source},
                  {"not_there", summary.not_there}}}};
    print_json(object, out);
}

}  // namespace retryd::commands
