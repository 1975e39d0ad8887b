// `retryd attach`: sets the policies that make the work queues dead-letter to the error exchange.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "admin/attach_plan.h"
#include "commands/common/broker.h"
#include "commands/common/report.h"
#include "core/policy.h"

namespace retryd::commands {

/// Prints the policies as rabbitmqctl commands, each with the command that undoes it; with `apply` it sets them.
/// Without a management API it can only print a general policy. Returns 0 if there is nothing to do or nobody can tell;
/// 1 if the management API refused or cannot be reached, or nothing was set because the error exchange is not ready; 2
/// if there is something to set, a queue is left that no policy can attach, or a policy that no policy of `attach` can
/// outrank; 78 for a wrong configuration. With `json`, `out` has one object in every case.
int attach(const ReportOptions& options, bool apply, std::ostream& out, std::ostream& err);

// The report of `attach`: what it found and did, and how it is printed.

struct AttachReport {
    std::string vhost;
    std::string configuration;  // configuration_option() for the commands in the report
    bool management = false;    // a management API is configured
    std::string fault;          // why the management API did not answer; empty if it did
    /// The version of the broker that answered.
    std::optional<core::BrokerVersion> version;
    /// Without an answer it holds only the general policy, and no queues.
    admin::AttachPlan plan;
    /// Why nothing may be set yet; if not empty, nothing was set.
    std::string not_ready;
    bool applied = false;
    /// For each change of `plan`: why it was not set; empty if it was. No items unless `applied`.
    std::vector<std::string> refusals;
    /// The same for each binding of `plan`.
    std::vector<std::string> binding_refusals;
    /// Which entries are left out, and why; empty if none are.
    std::string left_out;
    /// Hints about things that are not wrong.
    std::vector<std::string> hints;
    /// Queues that are still not attached after everything was set.
    std::vector<admin::AttachState> left;
    /// Policies that do harm on retryd's own queues and that no policy of `attach` can outrank.
    std::vector<admin::Finding> not_guarded;
};

struct AttachSummary {
    std::size_t attached = 0;
    std::size_t to_attach = 0;
    std::size_t out_of_reach = 0;
    std::size_t by_source = 0;  // left out by their entry
    std::size_t not_there = 0;
};

/// The numbers before anything was set.
AttachSummary summary_of(const AttachReport& report);

int attach_exit_code(const AttachReport& report);

/// Makes the plan; with `apply` carries it out and plans again. A fault or refusal becomes part of the report.
AttachReport attach_work_queues(ManagementApi& management, const core::Policy& policy, const std::string& vhost,
                                bool apply);

/// Commands are on lines of their own, so that they can be pasted into a shell. The last line has the totals.
void print_attach(const AttachReport& report, bool colour, std::ostream& out);

/// One object; `ok` says whether the exit code is 0.
void print_attach_json(const AttachReport& report, bool ok, std::ostream& out);

}  // namespace retryd::commands
