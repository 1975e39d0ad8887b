#include "commands/doctor/run_checks.h"

#include <algorithm>
#include <iterator>

#include "commands/common/report.h"
#include "commands/common/text.h"
#include "commands/plan/topology_diff.h"
#include "core/names.h"

namespace retryd::commands {

namespace {

using admin::Finding;
using Declarer = amqp::Declarer;
using Result = Declarer::Result;

class Doctor {
  public:
    Doctor(Broker& broker, Records* records, const config::Settings& settings)
        : broker_(broker), records_(records), settings_(settings) {}

    CheckReport run_checks() {
        const Plan plan = diff_topology(broker_, settings_.policy);
        found_.broker = plan.broker;
        found_.management = records_ != nullptr;
        found_.fault = plan.management_fault;
        for (const PlanItem& finding : plan.findings)
            add_finding(finding);
        look_at_rest_of(plan);
        look_for_daemon();
        if (records_ != nullptr && found_.fault.empty()) look_into_records();
        if (records_ == nullptr || !found_.fault.empty()) look_without_records();
        std::stable_partition(found_.diagnoses.begin(), found_.diagnoses.end(),
                              [](const Finding& diagnosis) { return diagnosis.problem; });
        return std::move(found_);
    }

  private:
    void add_finding(const PlanItem& finding) {
        const std::string what =
            std::string{core::to_string(finding.wanted.role)} + " '" + core::name_of(finding.wanted.item) + "'";
        switch (finding.state) {
            case State::missing:
                return add_missing(finding, what);
            case State::different:
                return add({true, finding.note, "it is not used as it is", ""});
            case State::refused:
                return add({true, finding.note, "whether all is right with " + what + " cannot be seen", ""});
            case State::in_place:
                if (!finding.note.empty()) add({false, finding.note, "", ""});
                return;
            case State::not_compared:
            case State::unknown:
                return;
        }
    }

    void add_missing(const PlanItem& finding, const std::string& what) {
        if (!finding.note.empty()) return add({true, what + " is missing: " + finding.note, "", ""});
        const bool needed_first = finding.wanted.work_queue.empty() && finding.wanted.ladder.empty();
        add({true, what + " is missing",
             needed_first ? "nothing that is rejected can be retried, and what dead-letters now is lost"
                          : "what it is for is parked or held until it is there",
             settings_.declare ? "retryd apply declares it, and so does the daemon when it starts"
                               : "declare it; retryd apply does"});
    }

    void look_at_rest_of(const Plan& plan) {
        if (!plan.left_over.empty()) {
            std::string names;
            for (const LeftOver& rung : plan.left_over)
                names.append(names.empty() ? "" : ", ").append(rung.queue);
            add({false, counted(plan.left_over.size(), "rung is", "rungs are") + " left over: " + names,
                 "nothing is published to them any more; what waits there goes home",
                 "retryd apply --prune deletes those that are empty"});
        }
        if (!plan.why_not_compared.empty()) {
            found_.not_seen.push_back("whether what is there has the right arguments: " + plan.why_not_compared);
        }
        for (const core::Remark& remark : core::remarks(plan.broker.version)) {
            if (remark.warning) add({false, std::string{remark.text}, "", ""});
        }
    }

    void look_for_daemon() {
        const std::string& queue = settings_.policy.error_queue;
        const auto checked = broker_.carry_out(Declarer::CheckQueue{queue});
        if (checked.result != Result::done || checked.counts.consumers > 0) return;
        const std::string waiting = counted(checked.counts.messages, "message waits", "messages wait");
        add({true, "nobody consumes the error queue '" + queue + "'; " + waiting + " there",
             "what is rejected waits there and is not retried",
             "start retryd run, or look into its log for what it does not like"});
    }

    void look_into_records() {
        try {
            const admin::VhostPolicies governance = records_->governance();
            append(admin::check_work_queues(settings_.policy, governance));
            append(admin::check_own_queues(settings_.policy, governance, found_.broker.vhost));
            look_at_permissions();
            look_at_feature_flags();
        } catch (const http::Error& error) {
            found_.fault = error.what();
        }
    }

    void look_at_permissions() {
        if (settings_.broker.endpoints.front().username.empty()) {
            return not_seen(
                "the permissions of retryd's user: which one a certificate stands for, the broker decides "
                "(broker.username tells it to doctor)");
        }
        const auto given = records_->permissions();
        if (!given) {
            return not_seen(
                "the permissions of retryd's user: only an administrator may see them (rabbitmqctl "
                "list_user_permissions)");
        }
        const auto wanted = core::desired_topology(settings_.policy, core::features_of(found_.broker.version));
        for (const auto& lack :
             admin::lacking(admin::needed_permissions(settings_.policy, wanted, settings_.declare), *given)) {
            add({true, "retryd's user lacks the permission to " + std::string{lack.operation} + " '" + lack.name + "'",
                 "the broker refuses what the daemon does with it, and messages are held or parked",
                 "rabbitmqctl set_permissions, with a pattern for " + std::string{lack.operation} +
                     " that matches this name"});
        }
    }

    void look_at_feature_flags() {
        const auto disabled = records_->disabled_feature_flags();
        if (!disabled) return not_seen("feature flags: this user may not see them (rabbitmqctl list_feature_flags)");
        if (std::find(disabled->begin(), disabled->end(), "stream_queue") == disabled->end()) return;
        add({true, "the feature flag stream_queue is disabled",
             "quorum queues dead-letter at-most-once whatever their arguments say: what a node loses on the way is "
             "lost",
             "rabbitmqctl enable_feature_flag stream_queue"});
    }

    /// AMQP tells at least which queues are there.
    void look_without_records() {
        for (const core::Entry& entry : settings_.policy.entries) {
            if (core::is_glob(entry.match) || core::match(settings_.policy, entry.match) != &entry) continue;
            const auto checked = broker_.carry_out(Declarer::CheckQueue{entry.match});
            if (checked.result == Result::done) continue;
            add({checked.result == Result::refused, "work queue '" + entry.match + "': " + checked.text,
                 "nothing can die in it, and what waits on its rungs cannot come home",
                 "declare it, or correct its name in the configuration"});
        }
        not_seen(
            "policies and dead-letter exchanges of the work queues, policies on retryd's own queues, bindings, "
            "permissions, feature flags, rungs that are left over: AMQP cannot tell. " +
            (found_.fault.empty() ? "Set management.url to have them looked at" : found_.fault));
    }

    void append(std::vector<Finding> more) {
        std::move(more.begin(), more.end(), std::back_inserter(found_.diagnoses));
    }
    void add(Finding diagnosis) { found_.diagnoses.push_back(std::move(diagnosis)); }
    void not_seen(std::string what) { found_.not_seen.push_back(std::move(what)); }

    Broker& broker_;
    Records* records_;
    const config::Settings& settings_;
    CheckReport found_;
};

}  // namespace

CheckReport run_checks(Broker& broker, Records* records, const config::Settings& settings) {
    return Doctor(broker, records, settings).run_checks();
}

std::size_t count_problems(const CheckReport& check_report) {
    return static_cast<std::size_t>(std::count_if(check_report.diagnoses.begin(), check_report.diagnoses.end(),
                                                  [](const Finding& diagnosis) { return diagnosis.problem; }));
}

int doctor_exit_code(const CheckReport& check_report) {
    if (!check_report.fault.empty()) return exit_code::failed;
    return check_report.diagnoses.empty() ? exit_code::fine : exit_code::something_to_do;
}

}  // namespace retryd::commands
