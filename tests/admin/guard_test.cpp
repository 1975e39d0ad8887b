#include "admin/guard.h"

#include "admin/checks.h"
#include "admin/fake_policies.h"
#include "admin/patterns.h"
#include "core/names.h"
#include "support/catch.h"

namespace retryd::admin::guard_test {
namespace {

struct World : retryd::test::FakePolicies {
    core::Policy policy;

    World() {
        policy.entries.push_back({.match = "email", .parked = {.queue = "{queue}.parked"}});
        policy.entries.push_back({.match = "hook.*", .parked = {.queue = "{queue}.parked"}});
        for (const char* queue :
             {"retryd.errors", "retryd.parked", "email.parked", "hook.a.parked", "retryd.detour.2s"})
            add(queue, "quorum");
        add_rung("email", "5s", 5'000);
        add_rung("hook.a", "1m", 60'000);
        for (const char* queue :
             {"email", "hook.a", "other", "other.parked", "orders.retry.30s", "hook.b.retry.1m", "retryd.invoices.1d"})
            add(queue, "classic");
    }
    std::vector<PolicyChange> plan() const { return plan_guard(policy, vhost_policies()); }
    void apply() {
        for (const PolicyChange& change : plan())
            set(change.after);
    }
    std::vector<Finding> harm() const { return check_own_queues(policy, vhost_policies(), "/"); }
};

const core::Definition guarded{{"overflow", "\"reject-publish\""}};

}  // namespace

TEST_CASE(
    "guard: one policy for all queues of retryd's own, and for no other; the second time there is nothing to do") {
    World w;
    REQUIRE(w.plan().size() == 1);
    CHECK(w.plan()[0].after.name == "retryd.errors-guard");
    CHECK(w.plan()[0].after.priority == 1000);
    CHECK(check_guard(w.policy, w.vhost_policies()).size() == 1);
    w.apply();
    CHECK(w.plan().empty());
    CHECK(check_guard(w.policy, w.vhost_policies()).empty());
    for (const char* own : {"retryd.errors", "retryd.parked", "email.parked", "email.retry.5s", "hook.a.retry.1m",
                            "hook.a.parked", "retryd.detour.2s"}) {
        CAPTURE(own);
        CHECK(w.on(own) == guarded);
    }
    for (const char* other :
         {"email", "hook.a", "other", "other.parked", "orders.retry.30s", "hook.b.retry.1m", "retryd.invoices.1d"}) {
        CAPTURE(other);
        CHECK(w.on(other).empty());
    }
}

TEST_CASE("guard: a policy for all queues does no harm, before it or after it, and applies to all others") {
    const bool before = GENERATE(true, false);
    CAPTURE(before);
    World w;
    const BrokerPolicy all{"all", ".*", "queues", {{"max-length", "3"}, {"overflow", "\"drop-head\""}}, 7};
    if (before) {
        w.set(all);
        CHECK_FALSE(w.harm().empty());
    }
    w.apply();
    if (!before) w.set(all);
    CHECK(w.harm().empty());
    CHECK(w.plan().empty());
    CHECK(w.on("other").size() == 2);
}

TEST_CASE("guard: it rises above every policy that could catch its queues, whatever the priority") {
    World w;
    w.apply();
    w.set({"high", ".*", "queues", {{"message-ttl", "3"}}, 5000});
    w.set({"for others", "^other$", "queues", {{"message-ttl", "3"}}, 9000});
    CHECK_FALSE(w.harm().empty());
    REQUIRE(w.plan().size() == 1);
    CHECK(w.plan()[0].before);
    CHECK(w.plan()[0].after.priority == 5001);
    w.apply();
    CHECK(w.harm().empty());
    CHECK(w.plan().empty());
}

TEST_CASE("guard: what a policy says to these queues and does no harm stays in effect") {
    World w;
    w.set({"limit", "^retryd.errors$", "queues", {{"delivery-limit", "100"}}, 0});
    w.set({"all", ".*", "queues", {{"max-length", "3"}, {"queue-leader-locator", "\"balanced\""}}, -1});
    w.apply();
    CHECK(w.harm().empty());
    CHECK(w.plan().empty());
    CHECK(w.on("retryd.errors") == core::Definition{{"delivery-limit", "100"}, {"overflow", "\"reject-publish\""}});
    CHECK(w.on("email.parked") ==
          core::Definition{{"queue-leader-locator", "\"balanced\""}, {"overflow", "\"reject-publish\""}});
}

TEST_CASE("guard: what other teams say to queues that are called like rungs stays, and is no harm") {
    World w;
    const core::Definition theirs{{"message-ttl", "3000"}, {"max-length", "5"}};
    w.set({"teams", R"(.*\.retry\..*)", "queues", theirs, 5});
    w.apply();
    CHECK(w.on("orders.retry.30s") == theirs);
    CHECK(w.on("hook.b.retry.1m") == theirs);
    CHECK(w.on("email.retry.5s") == guarded);
    CHECK(w.harm().empty());
}

TEST_CASE("guard: a policy of the highest priority there is has to be lowered first, and the command does that") {
    World w;
    BrokerPolicy largest{"largest", ".*", "queues", {{"max-length", "3"}}, highest_priority};
    w.set(largest);
    w.apply();
    REQUIRE_FALSE(w.harm().empty());
    for (const Finding& finding : w.harm()) {
        CHECK(finding.remedy.find("highest priority there is") != std::string::npos);
        CHECK(finding.command ==
              "rabbitmqctl set_policy --priority=9223372036854775806 --apply-to queues 'largest' '.*' "
              "'{\"max-length\": 3}' && retryd attach --apply");
    }
    --largest.priority;
    w.set(largest);
    w.apply();
    CHECK(w.harm().empty());
}

TEST_CASE("guard: one whose pattern takes for ever is stood above as if it matched") {
    World w;
    w.set({"slow", "^([a-z.]+[.-]?)+_dlq$", "queues", {{"max-length", "3"}}, 2000});
    w.add("a.work.queue.with.quite.a.long.name.parked", "quorum");
    w.policy.entries.push_back({.match = "a.work.queue.with.quite.a.long.name", .parked = {.queue = "{queue}.parked"}});
    REQUIRE(w.plan().size() == 1);
    CHECK(w.plan()[0].after.priority == 2001);
}

TEST_CASE(
    "guard: it covers rungs and parking queues whose names are shortened, and rungs that nobody asks for any more") {
    World w;
    const std::string exact(250, 'x');
    const std::string caught = std::string(248, 'y') + ".late";
    w.policy.entries.push_back({.match = "*.late", .parked = {.queue = "{queue}.parked"}});
    core::Ladder ladder;
    ladder.steps = {core::Milliseconds{5'000}};
    w.policy.entries.push_back({.match = exact, .ladder = ladder, .parked = {.queue = "{queue}.parked"}});
    std::vector<std::string> own{core::rung_name(exact, core::Milliseconds{5'000}, false),
                                 core::rung_name(caught, core::Milliseconds{5'000}, false),
                                 core::expand_queue("{queue}.parked", exact),
                                 core::expand_queue("{queue}.parked", caught)};
    const auto add_rung = [&](const std::string& name, const std::string& serves, core::Arguments more) {
        more.insert(more.end(), {{"x-message-ttl", std::int64_t{5'000}},
                                 {"x-dead-letter-exchange", ""},
                                 {"x-dead-letter-routing-key", serves}});
        w.add(name, "quorum", std::move(more));
    };
    add_rung(own[0], exact, {});
    add_rung(own[1], caught, {});
    w.add(own[2], "quorum");
    w.add(own[3], "quorum");
    own.insert(own.end(), {"gone.retry.5s", "retryd.gone.5s"});
    add_rung("gone.retry.5s", "gone", {{"x-dead-letter-strategy", "at-least-once"}, {"x-overflow", "reject-publish"}});
    add_rung("theirs.retry.5s", "theirs", {});
    w.add("retryd.gone.5s", "classic",
          {{"x-message-ttl", std::int64_t{5'000}}, {"x-dead-letter-exchange", "retryd.return"}});
    w.apply();
    CHECK(w.plan().empty());
    CHECK(check_guard(w.policy, w.vhost_policies()).empty());
    for (const std::string& name : own) {
        CAPTURE(name);
        CHECK(w.on(name) == guarded);
    }
    CHECK(w.on("theirs.retry.5s").empty());
    CHECK(w.on(exact).empty());
    // An exact name's rungs are known before they are there.
    World later = w;
    later.policies = general_guards(w.policy);
    CHECK(later.on(own[0]) == guarded);
    CHECK(later.on(own[2]) == guarded);
    CHECK(unguarded_queues(later.policy, later.vhost_policies()) ==
          std::vector<std::string>{own[1], own[3], "gone.retry.5s", "retryd.gone.5s"});
}

TEST_CASE("guard: where one pattern would be too long for the broker there are several, which change together") {
    World w;
    for (int i = 0; i < 60; ++i) {
        const std::string queue = "team.work-queue-" + std::to_string(i);
        w.policy.entries.push_back({.match = queue, .parked = {.queue = "{queue}.parked"}});
        w.add(queue, "classic");
        w.add(queue + ".parked", "quorum");
        w.add_rung(queue, "5s", 5'000);
    }
    w.apply();
    CHECK(w.policies.size() > 3);
    CHECK(w.plan().empty());
    CHECK(check_guard(w.policy, w.vhost_policies()).empty());
    CHECK(w.on("team.work-queue-59").empty());
    w.set({"all", ".*", "queues", {{"max-length", "3"}, {"overflow", "\"drop-head\""}}, 1000});
    w.apply();
    CHECK(w.harm().empty());
    CHECK(w.on("team.work-queue-59.parked") == guarded);
    w.add_rung("team.gone", "5s", 5'000);
    w.policy.entries.push_back({.match = "team.gone", .parked = {.queue = "{queue}.parked"}});
    CHECK_FALSE(check_guard(w.policy, w.vhost_policies()).empty());
    w.apply();
    CHECK(check_guard(w.policy, w.vhost_policies()).empty());
    // Parts that are not needed any more catch nothing that they should not.
    w.policy.entries.resize(2);
    w.apply();
    CHECK(w.plan().empty());
    CHECK(w.on("email.parked") == guarded);
    CHECK(w.on("team.work-queue-59.parked").size() == 2);
}

TEST_CASE("guard: whether it is there is judged by the queues that are, and not by its text") {
    World w;
    CHECK(unguarded_queues(w.policy, w.vhost_policies()).size() == 7);
    w.set({"their own guard", "^(retryd\\..*|.*\\.(parked|retry\\..*))$", "queues", guarded, 1000});
    CHECK(check_guard(w.policy, w.vhost_policies()).empty());
    w.add_rung("hook.c", "5s", 5'000);
    w.policies[0].pattern = "^(retryd\\..*|.*\\.parked|(email|hook\\.a)\\.retry\\..*)$";
    const auto found = check_guard(w.policy, w.vhost_policies());
    REQUIRE(found.size() == 1);
    CHECK(found[0].names == std::vector<std::string>{"hook.c.retry.5s"});
}

TEST_CASE("guard: two daemons of one vhost do not outbid each other") {
    World w;
    w.set({"limit", "^retryd.detour.2s$", "queues", {{"delivery-limit", "1000000"}}, 0});
    w.apply();
    World other = w;
    other.policy.error_exchange = "team.errors";
    other.apply();
    w.policies = other.policies;
    CHECK(w.plan().empty());
}

TEST_CASE("guard: none where no queue of retryd's is there, and none before 3.10") {
    World w;
    w.version = {3, 9, 0};
    CHECK(w.plan().empty());
    retryd::test::FakePolicies empty;
    CHECK(plan_guard(w.policy, empty.vhost_policies()).empty());
}

}  // namespace retryd::admin::guard_test
