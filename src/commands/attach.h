// `retryd attach`: the policies that make the work queues dead-letter to the error exchange.
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

/// Prints the policies as commands of rabbitmqctl, each with its undo; with `apply` sets them. Without a management API
/// it can only print a general one. Returns 0 nothing to do, or nobody can tell; 1 the management API refused or cannot
/// be reached, or nothing was set since the error exchange is not ready; 2 there is something to set, or a queue is
/// left that no policy can attach, or a policy that none can stand above; 78 wrong configuration. With `json`, `out`
/// has one object in every case.
int attach(const ReportOptions& options, bool apply, std::ostream& out, std::ostream& err);

// What `attach` found and did, and how it prints it.

struct AttachReport {
    std::string vhost;
    std::string configuration;  // configuration_option() of the commands that it names
    bool management = false;    // is configured
    std::string fault;          // why the management API did not answer
    /// Of the broker that answered.
    std::optional<core::BrokerVersion> version;
    /// Without an answer: the general policy alone, and no queues.
    admin::AttachPlan plan;
    /// Why nothing should be set yet; then nothing was.
    std::string not_ready;
    bool applied = false;
    /// For each change of `plan` why it was not set; empty where it was. None unless `applied`.
    std::vector<std::string> refusals;
    /// The same for each binding of `plan`.
    std::vector<std::string> binding_refusals;
    /// Which entries are left out, and why; empty where none is.
    std::string left_out;
    /// What to think of, where nothing is wrong.
    std::vector<std::string> hints;
    /// What was not attached when all was set.
    std::vector<admin::AttachState> left;
    /// Policies that harm queues of retryd's own, and that no policy of attach can stand above.
    std::vector<admin::Finding> not_guarded;
};

struct AttachSummary {
    std::size_t attached = 0;
    std::size_t to_attach = 0;
    std::size_t out_of_reach = 0;
    std::size_t by_source = 0;  // left out
    std::size_t not_there = 0;
};

/// Before anything was set.
AttachSummary summary_of(const AttachReport& report);

int attach_exit_code(const AttachReport& report);

/// Plans, and with `apply` sets what is to be set and plans again. A fault or a refusal is part of the report.
AttachReport attach_work_queues(ManagementApi& management, const core::Policy& policy, const std::string& vhost,
                                bool apply);

/// The commands stand on lines of their own, to be pasted into a shell. The sums are the last line.
void print_attach(const AttachReport& report, bool colour, std::ostream& out);

/// One object; `ok` says whether the command ends with 0.
void print_attach_json(const AttachReport& report, bool ok, std::ostream& out);

}  // namespace retryd::commands
