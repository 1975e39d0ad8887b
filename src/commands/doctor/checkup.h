// The checks of `retryd doctor` and of the daemon: each a function, listed by the file that has it, and what they
// share. In which order they are made: run_checks.cpp.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admin/effective_policy.h"
#include "admin/finding.h"
#include "admin/permissions.h"
#include "commands/common/broker.h"
#include "commands/common/daemon.h"
#include "config/settings.h"
#include "core/time.h"
#include "http/client.h"
#include "telemetry/status.h"

namespace retryd::commands {

/// Who is asked in one round of checks, and what has been found so far.
struct Checkup {
    /// Keeps references. `daemon_answer`: null if the daemon was not asked.
    Checkup(Broker& broker, const config::Settings& settings, const DaemonAnswer* daemon_answer);

    Broker& broker;
    ManagementApi* management;  // null: none is configured; asked within ask_management() alone
    const config::Settings& settings;
    const DaemonAnswer* daemon_answer;          // null: the daemon was not asked
    const telemetry::Status* daemon = nullptr;  // null: it did not answer
    /// How far the daemon's clock is ahead of this machine's; nothing: unknown.
    std::optional<core::Milliseconds> daemon_ahead = {};
    BrokerIdentity identity;

    std::vector<admin::Finding> findings = {};
    std::vector<std::string> unseen = {};  // what could not be checked: admin::Diagnosis::cannot_tell
    std::vector<std::string> notes = {};   // Checked::notes
    std::string management_fault = {};     // why the management API did not answer; empty if it did

    void add(admin::FindingCode code, std::string cause, admin::FindingDetails details);
    void add(std::vector<admin::Finding> more);
    bool has_found(admin::FindingCode code) const;
    /// `what` begins with `whether …`.
    void cannot_tell(std::string what) { unseen.push_back(std::move(what)); }

    /// Puts a question to the management API, but not again once it has failed: a failure may take long.
    template <typename Question>
    void ask_management(const Question& question) {
        if (management == nullptr || !management_fault.empty()) return;
        try {
            question();
        } catch (const http::Error& error) {
            management_fault = error.what();
        }
    }

    // Answers of the management API that several checks need; it is asked once for each. They throw http::Error, so
    // they belong into a question.

    const admin::VhostPolicies& vhost_policies();
    /// Of retryd's user; nothing if they cannot be seen.
    const std::optional<admin::Permissions>& given_permissions();
    /// Whether an entry matches it and no glob leaves it out.
    bool is_work_queue(const std::string& name);

    /// Whether the policies are known; asks for them.
    bool knows_policies();

  private:
    std::optional<admin::VhostPolicies> vhost_policies_ = {};
    std::optional<std::optional<admin::Permissions>> given_permissions_ = {};
    std::optional<std::set<std::string>> plumbing_ = {};  // queues that globs leave out
};

// The checks. Where it says [management] they need the management API, throw http::Error and belong into a question.

// declared_checks.cpp: what retryd declares.

/// What is missing or different, and rungs that are left over.
void check_declared(Checkup& checkup);

// consumer_checks.cpp: who consumes a queue, and how.

/// Nobody consumes the error queue, or it has no leader. Not if a daemon has already said that it does not consume.
void check_error_queue_consumer(Checkup& checkup);
/// [management] All other queues of retryd's that have no leader now. The list may be some seconds old.
void check_other_leaders(Checkup& checkup);
/// [management] Consumers of work queues that do not ack.
void check_no_ack(Checkup& checkup);

// held_checks.cpp: messages that do not get on.

/// [management] Dead letters that their work queue has not taken, and messages that are redelivered again and again.
/// Looks a second time, some seconds later, if either may be over by then.
void check_held_and_looping(Checkup& checkup);

// work_queue_checks.cpp: work queues, and what policies, arguments and bindings do to them and to retryd's own queues.

/// [management]
void check_policies(Checkup& checkup);
/// At least which work queues exist, where there is no management API.
void check_work_queues_by_amqp(Checkup& checkup);
/// [management] A note: this is no fault but what the configuration asks for.
void note_by_source(Checkup& checkup);
/// [management] A note and not a finding: it is no fault and does not change, so the daemon need not report it.
void note_amqp10_clients(Checkup& checkup);

// broker_checks.cpp: the broker, and what retryd's user and others may do there.

void check_version(Checkup& checkup);
/// [management] Those that retryd's user lacks.
void check_permissions(Checkup& checkup);

struct LackingPermissions {
    std::vector<admin::NeededPermission> missing;
    std::string command;  // gives them all, and takes none away; empty if none is missing
};
/// [management] Of retryd's user; `declares`: also what it takes to declare everything. Nothing if they cannot be seen.
std::optional<LackingPermissions> lacking_permissions(Checkup& checkup, bool declares);
/// [management] Users who may write to an exchange that leads to retryd, and need not.
void check_writers(Checkup& checkup);
/// [management]
void check_feature_flags(Checkup& checkup);
/// [management] Nodes that have run short of memory or disk.
void check_alarms(Checkup& checkup);

// daemon_checks.cpp: what the daemon tells, and its clock.

void check_daemon(Checkup& checkup);
/// [management] Its clock against the broker's.
void check_clock_against_broker(Checkup& checkup);

}  // namespace retryd::commands
