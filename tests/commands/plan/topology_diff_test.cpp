#include "commands/plan/topology_diff.h"

#include "commands/common/report.h"
#include "commands/fake_broker.h"
#include "commands/plan/plan.h"
#include "commands/small_policy.h"
#include "support/catch.h"

namespace retryd::commands::topology_diff_test {
namespace {

using Lines = std::vector<std::string>;
using namespace std::chrono_literals;

const core::Ladder own_ladder{.name = "all", .steps = {5s}};
const core::Ladder shared_ladder{.name = "all", .steps = {5s}, .return_path = core::ReturnPath::headers};
const core::Policy own = policy_of({entry_of("email", own_ladder)});

/// What the management API says where all of the base is bound.
std::map<std::string, std::vector<core::BindingSpec>> base_bindings() {
    return {{"dlx", {{"errors", "dlx", "", {}}}}};
}

/// `name: state, note` of all that is not in place.
Lines faults_of(const Plan& plan) {
    Lines lines;
    for (const PlanItem& item : plan.items) {
        if (item.state == State::in_place && item.note.empty()) continue;
        std::string line = core::name_of(item.wanted.item) + ": " + std::string{to_string(item.state)};
        if (!item.note.empty()) line += ", " + item.note;
        lines.push_back(line);
    }
    return lines;
}

}  // namespace

TEST_CASE("topology diff: looks first, and compares only what is there") {
    FakeBroker broker;
    broker.api.bindings = base_bindings();
    broker.miss("check queue email.retry.5s");
    const Plan plan = diff_topology(broker, own);
    CHECK(faults_of(plan) == Lines{"email.retry.5s: missing"});
    CHECK(broker.asked ==
          Lines{"check exchange dlx", "declare exchange dlx", "check queue rest", "declare queue rest",
                "check queue errors", "declare queue errors", "bindings of dlx", "check queue retryd.detour.2s",
                "declare queue retryd.detour.2s", "check queue retryd.detour.30s", "declare queue retryd.detour.30s",
                "check queue retryd.detour.5m", "declare queue retryd.detour.5m", "check queue email.retry.5s",
                "check queue email.parked", "declare queue email.parked", "queues"});
    CHECK(plan_exit_code(plan) == exit_code::something_to_do);
}

TEST_CASE("topology diff: what differs, what is accepted and what may not be compared") {
    FakeBroker broker;
    broker.api.bindings = base_bindings();
    broker.refuse("declare queue email.retry.5s", 406, "another ttl");
    broker.refuse("declare queue email.parked", 403, "no permission");
    broker.answers["declare queue errors"] = {FakeBroker::Result::done, 0, "lacks its limit", {}};
    broker.refuse("check queue rest", 405, "locked");
    const Plan plan = diff_topology(broker, own);
    CHECK(faults_of(plan) == Lines{"rest: refused, locked", "errors: in place, lacks its limit",
                                   "email.retry.5s: different, another ttl", "email.parked: not compared"});
    CHECK(plan.why_not_compared == "no permission");
    CHECK(plan_exit_code(plan) == exit_code::failed);
}

TEST_CASE("topology diff: bindings are compared with all that they have") {
    const core::BindingSpec binding = core::return_binding("email");
    const core::Policy shared = policy_of({entry_of("email", shared_ladder)});
    FakeBroker broker;
    broker.api.bindings = base_bindings();
    broker.api.bindings["retryd.all.5s"] = {{"retryd.all.5s", "retryd.all.5s", "", {}}};
    broker.api.bindings["retryd.return"] = {
        {binding.queue, binding.exchange, "", {binding.arguments.rbegin(), binding.arguments.rend()}}};
    CHECK(faults_of(diff_topology(broker, shared)).empty());

    broker.api.bindings["retryd.return"] = {{binding.queue, binding.exchange, "", {{"x-match", "all"}}}};
    broker.api.bindings["dlx"] = {{"errors", "dlx", "#", {}}, {"other", "dlx", "", {}}};
    CHECK(faults_of(diff_topology(broker, shared)) == Lines{"dlx → errors: missing", "retryd.return → email: missing"});
}

TEST_CASE("topology diff: without the management API bindings and what is left over are not known") {
    FakeBroker broker;
    broker.has_management = false;
    const Plan plan = diff_topology(broker, own);
    CHECK(faults_of(plan) == Lines{"dlx → errors: unknown"});
    CHECK(plan_exit_code(plan) == exit_code::fine);
    CHECK(std::find(broker.asked.begin(), broker.asked.end(), "queues") == broker.asked.end());

    broker.miss("check exchange dlx");
    CHECK(faults_of(diff_topology(broker, own)) == Lines{"dlx: missing", "dlx → errors: missing"});
}

TEST_CASE("topology diff: a management API that does not answer is asked once, and the plan fails") {
    FakeBroker broker;
    broker.api.fault = "no answer";
    const Plan plan = diff_topology(broker, own);
    CHECK(plan.management_fault == "no answer");
    CHECK(std::count(broker.asked.begin(), broker.asked.end(), "queues") == 0);
    CHECK(std::count(broker.asked.begin(), broker.asked.end(), "bindings of dlx") == 1);
    CHECK(plan_exit_code(plan) == exit_code::failed);
}

TEST_CASE("topology diff: what others have to make is told, each with its consequence") {
    core::Policy policy = policy_of({entry_of("email", shared_ladder)});
    policy.error_bindings = {{"legacy", "#"}};
    policy.entries[0].parked = {"", "graves", {}};
    FakeBroker broker;
    broker.has_management = false;
    broker.miss("check exchange legacy");
    broker.miss("check queue email");
    broker.refuse("need exchange graves", 404, "no exchange graves");
    const Lines faults = faults_of(diff_topology(broker, policy));
    REQUIRE(faults.size() == 5);
    CHECK(faults[1].find("legacy → errors: missing, exchange 'legacy' does not exist, so that nothing comes") == 0);
    CHECK(faults[3] == "graves: missing, no exchange graves");
    CHECK(faults[4].find("retryd.return → email: missing, queue 'email' does not exist, so that nothing can return") ==
          0);
}

TEST_CASE("topology diff: rungs that are left over are listed by name, globs as what comes on demand") {
    const auto rung = [](const std::string& queue, const std::string& delay, std::int64_t ttl) {
        return http::ListedQueue{
            queue + ".retry." + delay,
            "quorum",
            ttl,
            {{"x-message-ttl", ttl}, {"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", queue}}};
    };
    FakeBroker broker;
    broker.api.bindings = base_bindings();
    broker.api.queue_lists = {
        {rung("web.a", "9s", 9000), rung("web.a", "5s", 5000), rung("fax", "5s", 5000), {"email", "", 1, {}}}};
    const Plan plan = diff_topology(broker, policy_of({entry_of("web.*", own_ladder)}));
    REQUIRE(plan.left_over.size() == 2);
    CHECK(plan.left_over[0].queue == "fax.retry.5s");
    CHECK(plan.left_over[1].queue == "web.a.retry.9s");
    CHECK(plan.left_over[1].rung == core::ParsedRung{"web.a", core::ReturnPath::queue, 9s});
    CHECK(plan.left_over[1].messages == 9000);
    REQUIRE(plan.on_demand.size() == 1);
    CHECK(plan.on_demand[0].match == "web.*");
    CHECK(plan_exit_code(plan) == exit_code::something_to_do);
    CHECK(apply_exit_code(plan, false) == exit_code::fine);
}

TEST_CASE("apply: declares in order, goes on after a refusal, and looking afterwards knows what became of it") {
    FakeBroker broker;
    broker.has_management = false;
    broker.refuse("declare queue email.retry.5s", 403, "no permission");
    const auto outcomes = declare_topology(broker, own);
    CHECK(broker.asked == Lines{"declare exchange dlx", "declare queue rest", "declare queue errors",
                                "bind errors to dlx", "declare queue retryd.detour.2s",
                                "declare queue retryd.detour.30s", "declare queue retryd.detour.5m",
                                "declare queue email.retry.5s", "declare queue email.parked"});
    CHECK(any_refused(outcomes));
    broker.miss("check queue email.retry.5s");
    Plan plan = diff_topology(broker, own);
    add_outcomes(plan, outcomes);
    CHECK(faults_of(plan) == Lines{"email.retry.5s: missing, no permission"});
    CHECK(apply_exit_code(plan, true) == exit_code::failed);
}

TEST_CASE("apply: what only others can make is left to do") {
    const core::Policy shared = policy_of({entry_of("email", shared_ladder)});
    FakeBroker broker;
    broker.has_management = false;
    broker.miss("bind email to retryd.return");
    broker.miss("check queue email");
    const auto outcomes = declare_topology(broker, shared);
    CHECK_FALSE(any_refused(outcomes));
    Plan plan = diff_topology(broker, shared);
    add_outcomes(plan, outcomes);
    CHECK(apply_exit_code(plan, false) == exit_code::something_to_do);
    broker.answers.clear();
    Plan later = diff_topology(broker, shared);
    add_outcomes(later, declare_topology(broker, shared));
    CHECK(faults_of(later).empty());
    CHECK(apply_exit_code(later, false) == exit_code::fine);
}

}  // namespace retryd::commands::topology_diff_test
