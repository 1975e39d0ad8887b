#include "commands/attach/attach.h"

#include <algorithm>
#include <utility>

#include "commands/attach/attach_output.h"
#include "commands/common/report.h"

namespace retryd::commands {

AttachSummary summary_of(const AttachReport& report) {
    using Attached = admin::AttachState::State;
    const auto count = [&](Attached state) {
        return static_cast<std::size_t>(
            std::count_if(report.found.queues.begin(), report.found.queues.end(),
                          [&](const admin::AttachState& standing) { return standing.state == state; }));
    };
    return {count(Attached::attached), count(Attached::to_attach), count(Attached::out_of_reach),
            count(Attached::not_there)};
}

int attach_exit_code(const AttachReport& report) {
    if (!report.fault.empty()) return exit_code::failed;
    if (!report.applied) return exit_code::fine;
    const bool refused = std::any_of(report.refusals.begin(), report.refusals.end(),
                                     [](const std::string& refusal) { return !refusal.empty(); });
    if (refused) return exit_code::failed;
    return report.left.empty() ? exit_code::fine : exit_code::something_to_do;
}

namespace {

std::vector<admin::AttachState> not_attached(const admin::AttachPlan& attachment) {
    using State = admin::AttachState::State;
    std::vector<admin::AttachState> left;
    for (const admin::AttachState& standing : attachment.queues) {
        if (standing.state == State::to_attach || standing.state == State::out_of_reach) left.push_back(standing);
    }
    return left;
}

/// Where the error exchange leads nowhere, what is rejected would be lost.
std::string why_not_ready(PolicyBoard& board, const core::Policy& policy) {
    for (const core::BindingSpec& binding : board.bindings_from(policy.error_exchange)) {
        if (binding.queue == policy.error_queue) return "";
    }
    return "the error queue '" + policy.error_queue + "' is not bound to the error exchange '" + policy.error_exchange +
           "', or one of them is not there: whatever a queue attached now rejects would be lost. Run retryd apply "
           "first, or start the daemon";
}

/// Why it was not set; empty where it was.
std::string refusal_of(PolicyBoard& board, const admin::BrokerPolicy& policy) {
    try {
        board.set(policy);
    } catch (const http::Error& error) {
        return error.what();
    }
    return "";
}

AttachReport general_report(const config::Settings& settings) {
    AttachReport report;
    report.found.changes.push_back({admin::general_policy(settings.policy), {}, "", {}, {}, {}});
    return report;
}

AttachReport report_of(const config::Settings& settings, bool apply) {
    AttachReport report;
    if (settings.management) {
        report = look_and_attach(*policy_board(settings), settings.policy, apply);
    }
    if (!report.version) {
        std::string fault = std::move(report.fault);
        report = general_report(settings);
        report.fault = std::move(fault);
    }
    report.management = settings.management.has_value();
    report.vhost = vhost_of(settings);
    return report;
}

}  // namespace

AttachReport look_and_attach(PolicyBoard& board, const core::Policy& policy, bool apply) {
    AttachReport report;
    try {
        const admin::VhostPolicies before = board.governance();
        report.version = before.version;
        report.found = admin::attachment(policy, before);
        if (!report.found.changes.empty()) report.not_ready = why_not_ready(board, policy);
        if (!apply || !report.not_ready.empty()) return report;
        report.applied = true;
        for (const admin::PolicyChange& change : report.found.changes)
            report.refusals.push_back(refusal_of(board, change.after));
        report.left = not_attached(admin::attachment(policy, board.governance()));
    } catch (const http::Error& error) {
        report.fault = error.what();
    }
    return report;
}

int attach(const ReportOptions& options, bool apply, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        if (apply && !settings.management) {
            return report.fail(
                "--apply needs the management API: AMQP cannot set a policy, nor tell which one is in effect. "
                "Nothing was done; set management.url, or leave --apply out to have the command printed",
                exit_code::wrong_configuration);
        }
        const AttachReport found = report_of(settings, apply);
        if (apply && !found.version) return report.fail(found.fault, exit_code::failed);
        if (apply && !found.not_ready.empty()) {
            return report.fail("nothing was set: " + found.not_ready, exit_code::failed);
        }
        const int code = attach_exit_code(found);
        if (report.json()) {
            print_attach_json(found, code == exit_code::fine, out);
        } else {
            print_attach(found, report.colour(), out);
        }
        return code;
    });
}

}  // namespace retryd::commands
