#include "commands/doctor/doctor.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "admin/permissions.h"
#include "admin/rabbitmqctl.h"
#include "commands/common/json.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"

namespace retryd::commands {

int doctor(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report output(options, out, err);
    return output.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, "retryd doctor");
        std::optional<DaemonAnswer> daemon;
        if (settings.http) daemon = ask_daemon(settings);
        Checked checked = run_checks(*broker, settings, daemon ? &*daemon : nullptr);
        name_configuration(checked.diagnosis.findings, options.config_path);
        if (output.json()) {
            print_doctor_json(checked, out);
        } else {
            print_doctor(checked, options.all, output.colour(), out);
        }
        return doctor_exit_code(checked);
    });
}

void name_configuration(std::vector<admin::Finding>& findings, const std::string& path) {
    const std::string option = configuration_option(path);
    for (admin::Finding& finding : findings) {
        const bool last =
            finding.command.ends_with(" && retryd attach --apply") || finding.command.ends_with(" && retryd apply");
        if (last || finding.command.starts_with("retryd ")) finding.command += option;
    }
}

namespace {

std::size_t count_problems(const Checked& checked) {
    const auto& findings = checked.diagnosis.findings;
    return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(), [](const admin::Finding& finding) {
        return finding.severity == admin::Severity::problem;
    }));
}

}  // namespace

int doctor_exit_code(const Checked& checked) {
    // A problem that was found counts more than a check that could not be made.
    if (count_problems(checked) > 0) return exit_code::something_to_do;
    if (!checked.diagnosis.cannot_tell.empty()) return exit_code::failed;
    return checked.diagnosis.findings.empty() ? exit_code::fine : exit_code::something_to_do;
}

namespace {

constexpr std::size_t most_names = 10;

void print_finding(const admin::Finding& finding, bool all, const Colours& colours, std::ostream& out) {
    const bool problem = finding.severity == admin::Severity::problem;
    print_line(finding.cause + " [" + std::string{kind_of(finding.code).name} + ']',
               '\n' + (problem ? colours.problem("Problem: ") : colours.warning("Warning: ")), out);
    if (finding.names.size() > 1) {
        const std::vector<std::string> others(finding.names.begin() + 1, finding.names.end());
        print_line(admin::folded(others, all ? others.size() : most_names) +
                       (!all && others.size() > most_names ? " (--all names them)" : ""),
                   "  also     ", out);
    }
    print_line(finding.consequence, "  so that  ", out);
    print_line(finding.remedy, "  remedy   ", out);
    if (!finding.command.empty()) print_line(finding.command, "  command  ", out);
}

std::string sums(const Checked& checked, const Colours& colours) {
    const std::size_t problems = count_problems(checked);
    const std::size_t warnings = checked.diagnosis.findings.size() - problems;
    const std::size_t unseen = checked.diagnosis.cannot_tell.size();
    if (problems + warnings + unseen == 0)
        return colours.fine("nothing found that would keep a rejected message from coming back");
    std::string line = counted(problems, "problem", "problems") + ", " + counted(warnings, "warning", "warnings");
    if (unseen > 0) line += "; not all could be looked at";
    return problems > 0 ? colours.problem(line) : colours.warning(line);
}

}  // namespace

void print_doctor(const Checked& checked, bool all, bool colour, std::ostream& out) {
    const Colours colours{colour};
    print_broker_line(checked.broker, colour, out);
    for (const admin::Finding& finding : checked.diagnosis.findings)
        print_finding(finding, all, colours, out);
    for (const std::string& what : checked.diagnosis.cannot_tell)
        print_line(what, '\n' + colours.warning("cannot tell "), out);
    for (const std::string& note : checked.notes)
        print_line(note, "\nNote: ", out);
    out << '\n' << sums(checked, colours) << '\n';
}

namespace {

Json findings(const Checked& checked) {
    Json list = Json::array();
    for (const admin::Finding& finding : checked.diagnosis.findings) {
        list.push_back({{"code", kind_of(finding.code).name},
                        {"severity", to_string(finding.severity)},
                        {"cause", finding.cause},
                        {"consequence", finding.consequence},
                        {"remedy", finding.remedy},
                        {"command", text_or_null(finding.command)},
                        {"names", finding.names}});
    }
    return list;
}

}  // namespace

void print_doctor_json(const Checked& checked, std::ostream& out) {
    const std::size_t problems = count_problems(checked);
    Json object{{"ok", doctor_exit_code(checked) == exit_code::fine},
                {"broker", json_of(checked.broker)},
                {"findings", findings(checked)},
                {"not_seen", checked.diagnosis.cannot_tell},
                {"notes", checked.notes},
                {"management", {{"configured", checked.management}, {"error", text_or_null(checked.fault)}}},
                {"summary", {{"problems", problems}, {"warnings", checked.diagnosis.findings.size() - problems}}}};
    print_json(object, out);
}

namespace {

/// The tags that each user needs for the management API, besides permissions.
constexpr const char* tag_of_daemon = "monitoring";
constexpr const char* tag_of_person = "policymaker";
constexpr const char* person = "PERSON";

/// With a certificate, the user name that the broker takes from it may not be known here.
std::string user_of(const config::Endpoint& endpoint) {
    return endpoint.username.empty() ? "USER" : endpoint.username;
}

/// The rabbitmqctl commands for the first broker; the others are members of the same cluster.
struct PermissionCommands {
    explicit PermissionCommands(const config::Settings& settings)
        : vhost(settings.broker.endpoints.front().vhost),
          user(user_of(settings.broker.endpoints.front())),
          daemon(admin::daemon_permissions(settings.policy, settings.declare)),
          operators(admin::replay_permissions(settings.policy)) {
        for_daemon.push_back(admin::set_permissions_command(user, daemon, vhost));
        for_operators.push_back(admin::set_permissions_command(person, operators, vhost));
        for_operators.push_back(admin::set_user_tags_command(person, tag_of_person));
        if (!settings.management) return;
        const std::string& other = settings.management->username;
        const bool same = other.empty() || other == user;
        if (!same) for_daemon.push_back(admin::set_permissions_command(other, {"^$", "^$", "^$"}, vhost));
        for_daemon.push_back(admin::set_user_tags_command(same ? user : other, tag_of_daemon));
    }

    std::string vhost;
    std::string user;
    admin::Permissions daemon;
    admin::Permissions operators;
    std::vector<std::string> for_daemon;
    std::vector<std::string> for_operators;
};

void print_commands(const std::vector<std::string>& commands, std::ostream& out) {
    for (const std::string& command : commands)
        out << command << '\n';
}

void print_permissions(const PermissionCommands& commands, std::ostream& out) {
    out << "# For the daemon, and for check, plan, apply, doctor and status:\n";
    print_commands(commands.for_daemon, out);
    out << "\n# For the operator who works on parked and waiting messages and attaches work queues (retryd parked, "
           "retryd\n"
           "# waiting, retryd attach --apply), in the place of PERSON, with a configuration that has this user in "
           "broker\n"
           "# and management. A user that does both needs both, the patterns joined by |, the tags by a blank:\n";
    print_commands(commands.for_operators, out);
    out << "\n# The tag `monitoring` lets doctor, plan and status see all they can, but for who may write to the "
           "error\n"
           "# exchange without need: RabbitMQ shows that to the tag `administrator` alone, which retryd never needs.\n";
}

Json json_of(const admin::Permissions& permissions, const std::vector<std::string>& commands) {
    return {{"configure", permissions.configure},
            {"write", permissions.write},
            {"read", permissions.read},
            {"command", commands.front()},
            {"commands", commands}};
}

void print_permissions_json(const PermissionCommands& commands, std::ostream& out) {
    const Json object{{"ok", true},
                      {"vhost", commands.vhost},
                      {"user", commands.user},
                      {"daemon", json_of(commands.daemon, commands.for_daemon)},
                      {"parked", json_of(commands.operators, commands.for_operators)}};
    print_json(object, out);
}

}  // namespace

int print_needed_permissions(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report output(options, out, err);
    return output.run([&](const config::Settings& settings) {
        const PermissionCommands commands(settings);
        output.json() ? print_permissions_json(commands, out) : print_permissions(commands, out);
        return exit_code::fine;
    });
}

}  // namespace retryd::commands
