#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admin/attach_plan.h"
#include "admin/by_source.h"
#include "admin/checks.h"
#include "admin/framework_retries.h"
#include "admin/routing.h"
#include "admin/work_queues.h"
#include "commands/doctor/checkup.h"
#include "core/safe_text.h"

namespace retryd::commands {

void check_policies(Checkup& checkup) {
    const core::Policy& policy = checkup.settings.policy;
    const std::string& vhost = checkup.identity.vhost;
    const admin::VhostPolicies& found = checkup.vhost_policies();
    checkup.add(admin::check_work_queues(policy, found, vhost));
    checkup.add(admin::check_other_queues(policy, found));
    checkup.add(admin::check_framework_retries(policy, found));
    checkup.add(admin::check_globs(policy, found));
    checkup.add(admin::check_error_queue(policy, found, vhost));
    checkup.add(admin::check_own_queues(policy, found, vhost));
    checkup.add(admin::check_copies(policy, found));
    // The remedy for a harmful policy also guards against further ones.
    if (!checkup.has_found(admin::FindingCode::harmful_policy)) checkup.add(admin::check_guard(policy, found));
}

void check_work_queues_by_amqp(Checkup& checkup) {
    for (const std::string& queue : admin::configured_work_queues(checkup.settings.policy)) {
        const auto checked = checkup.broker.carry_out(amqp::Declarer::CheckQueue{queue});
        if (checked.result == amqp::Declarer::Result::done) continue;
        if (checked.result == amqp::Declarer::Result::refused) {
            checkup.cannot_tell("whether work queue " + core::quoted(queue) + " exists: " + checked.text);
        } else {
            checkup.add(admin::FindingCode::no_work_queue, "work queue " + core::quoted(queue) + " does not exist",
                        {.name = queue});
        }
    }
}

void note_by_source(Checkup& checkup) {
    const core::Policy& policy = checkup.settings.policy;
    const bool any = std::any_of(policy.entries.begin(), policy.entries.end(),
                                 [](const core::Entry& entry) { return entry.failures == core::FailuresBy::source; });
    if (!any) return;
    std::string note = admin::by_source_note(admin::plan_attach(policy, checkup.vhost_policies()).queues);
    if (!note.empty()) checkup.notes.push_back(std::move(note));
}

void note_amqp10_clients(Checkup& checkup) {
    std::set<std::string> queues;
    for (const http::ListedConsumer& consumer : checkup.management->consumers())
        if (consumer.amqp10) queues.insert(consumer.queue);
    const std::vector<std::string> targets = checkup.management->amqp10_targets();
    const admin::Routing routing = targets.empty() ? admin::Routing{} : checkup.management->routing();
    for (const std::string& target : targets)
        queues.merge(admin::queues_behind(target, admin::RoutingGraph(routing)));
    std::erase_if(queues, [&](const std::string& queue) { return !checkup.is_work_queue(queue); });
    if (!queues.empty()) checkup.notes.push_back(admin::amqp10_note(queues));
}

}  // namespace retryd::commands
