#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "admin/permissions.h"
#include "commands/doctor/checkup.h"
#include "commands/plan/topology_diff.h"
#include "core/safe_text.h"
#include "core/topology.h"

namespace retryd::commands {

namespace {

using admin::FindingCode;
using admin::FindingDetails;

constexpr const char* without_detour =
    "while a rung or parking queue takes no messages, they stay in the error queue, where they hold up others";
constexpr const char* with_another_detour =
    "while a rung or parking queue takes no messages, they stay in the error queue, where they hold up others; and "
    "what comes from this queue without a proof of retryd's is parked in the catch-all queue";

/// What it means that an exchange or queue has other arguments than configured.
std::string consequence_of_difference(core::DesiredItem::ItemRole role) {
    using ItemRole = core::DesiredItem::ItemRole;
    if (role == ItemRole::detour) return with_another_detour;
    const bool needed_by_all =
        role == ItemRole::error_exchange || role == ItemRole::error_queue || role == ItemRole::catch_all;
    return needed_by_all ? "retryd consumes nothing while that lasts" : "";
}

std::string consequence_of_lack(const core::DesiredItem& wanted) {
    if (wanted.role == core::DesiredItem::ItemRole::detour) return without_detour;
    const bool needed_by_all = wanted.work_queue.empty() && wanted.ladder.empty();
    return needed_by_all ? "rejected messages cannot be retried, and what dead-letters now is lost" : "";
}

/// Whether retryd's user would be refused if it declared that item.
bool may_not_declare(const core::TopologyItem& item, const LackingPermissions& lacking) {
    const auto needed = admin::permissions_to_declare(item);
    return std::any_of(needed.begin(), needed.end(), [&](const admin::NeededPermission& each) {
        return std::find(lacking.missing.begin(), lacking.missing.end(), each) != lacking.missing.end();
    });
}

constexpr const char* permission_first =
    "give retryd's user the permission first: without it retryd apply is refused, and so is the daemon, which declares "
    "it by itself within a minute once it may";
constexpr const char* permission_first_by_hand =
    "give retryd's user the permission first: without it retryd apply is refused; or leave it without, and have "
    "somebody who may import what retryd plan --definitions prints";

void add_missing(Checkup& checkup, const PlanItem& item, const LackingPermissions& lacking, const std::string& what,
                 const std::string& name) {
    const std::string group{core::to_string(item.wanted.role)};
    if (!item.note.empty()) {
        return checkup.add(FindingCode::not_declared,
                           what + " is missing: " + (item.told.empty() ? item.note : item.told.cause),
                           {.consequence = consequence_of_lack(item.wanted),
                            .remedy = item.told.empty() ? "fix what is named" : item.told.remedy,
                            .name = name,
                            .group = group + ' ' + name});
    }
    FindingDetails details{.consequence = consequence_of_lack(item.wanted), .name = name, .group = group};
    const bool by_hand = !checkup.settings.declare;
    if (may_not_declare(item.wanted.item, lacking)) {
        details.remedy = by_hand ? permission_first_by_hand : permission_first;
        details.command = lacking.command + (by_hand ? " && retryd apply" : "");
        details.group += " without permission";
    } else if (by_hand) {
        details.remedy = "declare it; retryd apply does";
        details.command = "retryd apply";
    }
    checkup.add(FindingCode::not_declared, what + " is missing", std::move(details));
}

/// What keeps retryd's user from declaring what is missing, as far as that can be seen.
LackingPermissions lacking_to_declare(Checkup& checkup, const Plan& plan) {
    std::optional<LackingPermissions> lacking;
    const bool any_missing = std::any_of(plan.items.begin(), plan.items.end(),
                                         [](const PlanItem& item) { return item.state == State::missing; });
    if (any_missing) checkup.ask_management([&] { lacking = lacking_permissions(checkup, true); });
    return lacking.value_or(LackingPermissions{});
}

void check_item(Checkup& checkup, const PlanItem& item, const LackingPermissions& lacking) {
    const std::string name = core::name_of(item.wanted.item);
    const std::string what = std::string{core::to_string(item.wanted.role)} + " " + core::quoted(name);
    const std::string cause = item.told.empty() ? item.note : item.told.cause;
    switch (item.state) {
        case State::missing:
            return add_missing(checkup, item, lacking, what, name);
        case State::different:
            return checkup.add(FindingCode::different_arguments, cause,
                               {.consequence = consequence_of_difference(item.wanted.role),
                                .remedy = item.told.remedy,
                                .name = name,
                                .group = name});
        case State::refused:
            return checkup.cannot_tell("whether " + what + " exists and is as it must be: " + item.note);
        case State::in_place:
            if (item.note.empty()) return;
            // A difference in the error queue's delivery limit is left out here: the management API tells which limit
            // is in effect.
            if (item.wanted.role == core::DesiredItem::ItemRole::error_queue && checkup.knows_policies()) return;
            return checkup.add(FindingCode::lacks_argument, cause,
                               {.remedy = item.told.remedy, .name = name, .group = name});
        case State::not_compared:
        case State::unknown:
            return;
    }
}

}  // namespace

void check_declared(Checkup& checkup) {
    const Plan plan = diff_topology(checkup.broker, checkup.settings.policy);
    if (checkup.management_fault.empty()) checkup.management_fault = plan.management_fault;
    const LackingPermissions lacking = lacking_to_declare(checkup, plan);
    for (const PlanItem& item : plan.items)
        check_item(checkup, item, lacking);
    for (const LeftOver& rung : plan.left_over)
        checkup.add(FindingCode::left_over_rungs, "rung " + core::quoted(rung.queue) + " is left over",
                    {.name = rung.queue});
    if (!plan.why_not_compared.empty())
        checkup.cannot_tell("whether what is there has the right arguments: " + plan.why_not_compared);
}

}  // namespace retryd::commands
