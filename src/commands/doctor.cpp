#include "commands/doctor.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <utility>

#include "admin/permissions.h"
#include "admin/rabbitmqctl.h"
#include "admin/work_queues.h"
#include "commands/common/json.h"
#include "commands/common/table.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "commands/plan/topology_diff.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "core/topology.h"

namespace retryd::commands {

int doctor(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report output(options, out, err);
    return output.run([&](const config::Settings& settings) {
        const auto broker = connect(settings, "retryd doctor");
        const DoctorReport report = run_checks(*broker, settings);
        if (output.json()) {
            print_doctor_json(report, out);
        } else {
            print_doctor(report, output.colour(), out);
        }
        return doctor_exit_code(report);
    });
}

namespace {

using admin::Finding;
using admin::Severity;
using Declarer = amqp::Declarer;
using Result = Declarer::Result;

constexpr const char* without_detour =
    "while a rung or parking queue takes no messages, they are held in the error queue, where they hold up others";

/// Of an exchange or queue that is there with other arguments.
const char* consequence_of_difference(core::DesiredItem::Role role) {
    using Role = core::DesiredItem::Role;
    if (role == Role::detour) return without_detour;
    const bool needed_by_all = role == Role::error_exchange || role == Role::error_queue || role == Role::catch_all;
    return needed_by_all ? "retryd consumes nothing while that lasts"
                         : "retryd does not use it: messages that need it are parked or held while that lasts";
}

const char* consequence_of_lack(const core::DesiredItem& wanted) {
    if (wanted.role == core::DesiredItem::Role::detour) return without_detour;
    const bool needed_by_all = wanted.work_queue.empty() && wanted.ladder.empty();
    return needed_by_all ? "rejected messages cannot be retried, and what dead-letters now is lost"
                         : "messages that need it are parked or held until it is there";
}

class Doctor {
  public:
    Doctor(Broker& broker, const config::Settings& settings)
        : broker_(broker), management_(broker.management()), settings_(settings) {}

    DoctorReport run() {
        const Plan plan = diff_topology(broker_, settings_.policy);
        report_.broker = plan.broker;
        report_.management = plan.management;
        report_.fault = plan.management_fault;
        for (const PlanItem& item : plan.items)
            check_item(item);
        check_rest_of(plan);
        check_daemon();
        if (management_ != nullptr && report_.fault.empty()) check_policies_and_permissions();
        if (management_ == nullptr || !report_.fault.empty()) check_without_management();
        std::stable_partition(report_.findings.begin(), report_.findings.end(),
                              [](const Finding& finding) { return finding.severity == Severity::problem; });
        return std::move(report_);
    }

  private:
    void check_item(const PlanItem& item) {
        const std::string what =
            std::string{core::to_string(item.wanted.role)} + " " + core::quoted(core::name_of(item.wanted.item));
        switch (item.state) {
            case State::missing:
                return add_missing(item, what);
            case State::different:
                return add({Severity::problem, item.note, consequence_of_difference(item.wanted.role), ""});
            case State::refused:
                return add({Severity::problem, item.note,
                            "doctor cannot tell whether " + what + " exists and is as it must be",
                            "remove what the broker names as the cause, then run retryd doctor again"});
            case State::in_place:
                if (!item.note.empty()) add({Severity::warning, item.note, "", ""});
                return;
            case State::not_compared:
            case State::unknown:
                return;
        }
    }

    void add_missing(const PlanItem& item, const std::string& what) {
        if (!item.note.empty()) return add({Severity::problem, what + " is missing: " + item.note, "", ""});
        add({Severity::problem, what + " is missing", consequence_of_lack(item.wanted),
             settings_.declare ? "retryd apply declares it, and so does the daemon when it starts"
                               : "declare it; retryd apply does"});
    }

    void check_rest_of(const Plan& plan) {
        if (!plan.left_over.empty()) {
            std::string names;
            for (const LeftOver& rung : plan.left_over)
                names.append(names.empty() ? "" : ", ").append(rung.queue);
            add({Severity::warning, counted(plan.left_over.size(), "rung is", "rungs are") + " left over: " + names,
                 "nothing is published to them any more; what waits there still returns to its work queue",
                 "retryd apply --prune deletes those that are empty"});
        }
        if (!plan.why_not_compared.empty()) {
            report_.not_seen.push_back("whether what is there has the right arguments: " + plan.why_not_compared);
        }
        for (const core::Remark& remark : core::remarks(plan.broker.version)) {
            if (remark.warning) add({Severity::warning, std::string{remark.text}, "", ""});
        }
    }

    void check_daemon() {
        const std::string& queue = settings_.policy.error_queue;
        const auto checked = broker_.carry_out(Declarer::CheckQueue{queue});
        if (checked.result != Result::done || checked.counts.consumers > 0) return;
        const std::string waiting = counted(checked.counts.messages, "message waits", "messages wait");
        add({Severity::problem, "nobody consumes the error queue " + core::quoted(queue) + "; " + waiting + " there",
             "rejected messages wait there and are not retried",
             "start retryd run, or see its log for why it does not consume"});
    }

    void check_policies_and_permissions() {
        try {
            const admin::VhostPolicies vhost_policies = management_->vhost_policies();
            append(admin::check_work_queues(settings_.policy, vhost_policies));
            append(admin::check_error_queue(settings_.policy, vhost_policies, report_.broker.vhost));
            append(admin::check_own_queues(settings_.policy, vhost_policies, report_.broker.vhost));
            check_permissions();
            check_writers(vhost_policies);
            check_feature_flags();
        } catch (const http::Error& error) {
            report_.fault = error.what();
        }
    }

    void check_permissions() {
        if (settings_.broker.endpoints.front().username.empty()) {
            return not_seen(
                "the permissions of retryd's user: it logs in with a certificate, and doctor does not know as whom. "
                "Set broker.username");
        }
        const auto given = management_->permissions();
        if (!given) {
            return not_seen(
                "the permissions of retryd's user: only an administrator may see them (rabbitmqctl "
                "list_user_permissions)");
        }
        const auto wanted = core::desired_topology(settings_.policy, core::features_of(report_.broker.version));
        for (const admin::NeededPermission& missing : admin::missing_permissions(
                 admin::needed_permissions(settings_.policy, wanted, settings_.declare), *given)) {
            add({Severity::problem,
                 "retryd's user lacks the permission to " + std::string{missing.operation} + " " +
                     core::quoted(missing.name),
                 "the broker refuses what the daemon does with it, and messages are held or parked",
                 "rabbitmqctl set_permissions, with a pattern for " + std::string{missing.operation} +
                     " that matches this name"});
        }
    }

    void check_writers(const admin::VhostPolicies& vhost_policies) {
        const auto users = management_->user_permissions();
        if (!users) {
            return not_seen(
                "who else may write to the error exchange: only an administrator may see that (rabbitmqctl "
                "list_permissions)");
        }
        const std::string& own_user = settings_.broker.endpoints.front().username;
        for (const admin::NeedlessWriter& writer :
             admin::needless_writers(settings_.policy, vhost_policies, *users, own_user)) {
            const bool returns = writer.exchange == core::return_exchange_name;
            add({Severity::warning,
                 "user " + core::quoted(writer.user) + " may write to exchange " + core::quoted(writer.exchange) +
                     " and needs that for no queue that it may declare",
                 returns ? "what it publishes there goes into any work queue of a shared ladder, whatever else it may "
                           "write to"
                         : "with a forged x-death it can have a message sent into any work queue of the configuration, "
                           "whatever else it may write to",
                 "rabbitmqctl set_permissions, with a pattern for write that does not match this name; what retryd "
                 "attach connects by a policy takes no permission"});
        }
    }

    void check_feature_flags() {
        const auto disabled = management_->disabled_feature_flags();
        if (!disabled) return not_seen("feature flags: this user may not see them (rabbitmqctl list_feature_flags)");
        if (std::find(disabled->begin(), disabled->end(), "stream_queue") == disabled->end()) return;
        add({Severity::problem, "the feature flag stream_queue is disabled",
             "quorum queues dead-letter at-most-once whatever their arguments say: what a node loses on the way is "
             "lost",
             "rabbitmqctl enable_feature_flag stream_queue"});
    }

    /// AMQP tells at least which queues are there.
    void check_without_management() {
        for (const std::string& queue : admin::configured_work_queues(settings_.policy)) {
            const auto checked = broker_.carry_out(Declarer::CheckQueue{queue});
            if (checked.result == Result::done) continue;
            add({checked.result == Result::refused ? Severity::problem : Severity::warning,
                 "work queue " + core::quoted(queue) + ": " + checked.text,
                 "no message can die in it, and what waits on its rungs cannot return to it",
                 "declare it, or correct its name in the configuration"});
        }
        not_seen(
            "policies and dead-letter exchanges of the work queues, policies on retryd's own queues, bindings, "
            "permissions, feature flags, rungs that are left over: AMQP cannot tell. " +
            (report_.fault.empty() ? "Set management.url to have them looked at" : report_.fault));
    }

    void append(std::vector<Finding> more) {
        std::move(more.begin(), more.end(), std::back_inserter(report_.findings));
    }
    void add(Finding finding) { report_.findings.push_back(std::move(finding)); }
    void not_seen(std::string what) { report_.not_seen.push_back(std::move(what)); }

    Broker& broker_;
    ManagementApi* management_;  // null: none is configured
    const config::Settings& settings_;
    DoctorReport report_;
};

std::size_t count_problems(const DoctorReport& report) {
    return static_cast<std::size_t>(std::count_if(report.findings.begin(), report.findings.end(),
                                                  [](const Finding& f) { return f.severity == Severity::problem; }));
}

}  // namespace

DoctorReport run_checks(Broker& broker, const config::Settings& settings) {
    return Doctor(broker, settings).run();
}

int doctor_exit_code(const DoctorReport& report) {
    if (!report.fault.empty()) return exit_code::failed;
    return report.findings.empty() ? exit_code::fine : exit_code::something_to_do;
}

namespace {

void print_finding(const admin::Finding& finding, const Bold& bold, std::ostream& out) {
    print_line(finding.cause, '\n' + bold(finding.severity == Severity::problem ? "Problem: " : "Warning: "), out);
    if (!finding.consequence.empty()) print_line(finding.consequence, "  so that  ", out);
    if (!finding.remedy.empty()) print_line(finding.remedy, "  remedy   ", out);
}

std::string sums(const DoctorReport& report) {
    if (report.findings.empty()) return "nothing found that would keep a rejected message from coming back";
    const std::size_t problems = count_problems(report);
    return counted(problems, "problem", "problems") + ", " +
           counted(report.findings.size() - problems, "warning", "warnings");
}

}  // namespace

void print_doctor(const DoctorReport& report, bool colour, std::ostream& out) {
    const Bold bold{colour};
    print_broker_line(report.broker, colour, out);
    for (const admin::Finding& finding : report.findings)
        print_finding(finding, bold, out);
    for (const std::string& what : report.not_seen)
        print_line(what, "\nNot seen: ", out);
    out << '\n' << sums(report) << '\n';
}

namespace {

Json findings(const DoctorReport& report) {
    Json list = Json::array();
    for (const admin::Finding& finding : report.findings) {
        list.push_back({{"severity", finding.severity == Severity::problem ? "problem" : "warning"},
                        {"cause", finding.cause},
                        {"consequence", text_or_null(finding.consequence)},
                        {"remedy", text_or_null(finding.remedy)}});
    }
    return list;
}

}  // namespace

void print_doctor_json(const DoctorReport& report, std::ostream& out) {
    const std::size_t problems = count_problems(report);
    Json object{{"ok", doctor_exit_code(report) == exit_code::fine},
                {"broker", json_of(report.broker)},
                {"findings", findings(report)},
                {"not_seen", report.not_seen},
                {"management", {{"configured", report.management}, {"error", text_or_null(report.fault)}}},
                {"summary", {{"problems", problems}, {"warnings", report.findings.size() - problems}}}};
    print_json(object, out);
}

namespace {

Json json_of(const admin::Permissions& permissions, const std::string& command) {
    return {{"configure", permissions.configure},
            {"write", permissions.write},
            {"read", permissions.read},
            {"command", command}};
}

/// The name that the broker takes from a certificate may not be known here.
std::string user_of(const config::Endpoint& endpoint) {
    return endpoint.username.empty() ? "USER" : endpoint.username;
}

/// Of the first broker: all of them stand for one.
struct PermissionCommands {
    explicit PermissionCommands(const config::Settings& settings)
        : vhost(settings.broker.endpoints.front().vhost),
          user(user_of(settings.broker.endpoints.front())),
          daemon(admin::daemon_permissions(settings.policy, settings.declare)),
          replay(admin::replay_permissions(settings.policy)) {}

    std::string daemon_command() const { return admin::set_permissions_command(user, daemon, vhost); }
    std::string replay_command() const { return admin::set_permissions_command("PERSON", replay, vhost); }

    std::string vhost;
    std::string user;
    admin::Permissions daemon;
    admin::Permissions replay;
};

void print_permissions(const PermissionCommands& commands, std::ostream& out) {
    out << "# For the daemon, and for check, plan, apply, attach, doctor and status:\n"
        << commands.daemon_command() << "\n\n"
        << "# For those who work on parked messages (retryd parked), in the place of PERSON; a user that does both\n"
        << "# needs both, joined by | :\n"
        << commands.replay_command() << "\n\n"
        << "# For the management section, if there is one: the tag `monitoring` lets doctor, plan and status see all\n"
        << "# they can; attach --apply takes `policymaker`.\n";
}

void print_permissions_json(const PermissionCommands& commands, std::ostream& out) {
    const Json object{{"ok", true},
                      {"vhost", commands.vhost},
                      {"user", commands.user},
                      {"daemon", json_of(commands.daemon, commands.daemon_command())},
                      {"parked", json_of(commands.replay, commands.replay_command())}};
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
