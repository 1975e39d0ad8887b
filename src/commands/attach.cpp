#include "commands/attach.h"

#include <utility>

#include "commands/attach_json.h"
#include "commands/attach_text.h"
#include "commands/exit_code.h"

namespace retryd::commands {
namespace {

std::vector<core::Standing> not_attached(const core::Attachment& attachment) {
    using State = core::Standing::State;
    std::vector<core::Standing> left;
    for (const core::Standing& standing : attachment.queues) {
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
std::string refusal_of(PolicyBoard& board, const core::BrokerPolicy& policy) {
    try {
        board.set(policy);
    } catch (const http::Error& error) {
        return error.what();
    }
    return "";
}

AttachReport general_report(const config::Settings& settings) {
    AttachReport report;
    report.found.changes.push_back({core::general_policy(settings.policy), {}, "", {}, {}, {}});
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
        const core::Governance before = board.governance();
        report.version = before.version;
        report.found = core::attachment(policy, before);
        if (!report.found.changes.empty()) report.not_ready = why_not_ready(board, policy);
        if (!apply || !report.not_ready.empty()) return report;
        report.applied = true;
        for (const core::PolicyChange& change : report.found.changes)
            report.refusals.push_back(refusal_of(board, change.after));
        report.left = not_attached(core::attachment(policy, board.governance()));
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
