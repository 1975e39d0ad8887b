#include "admin/attach_plan.h"

#include "admin/fake_policies.h"
#include "support/catch.h"

namespace retryd::admin::attach_plan_test {
namespace {

using State = AttachState::State;
using Names = std::vector<std::string>;

constexpr const char* ours = "\"retryd.errors\"";

/// A broker's policies and a configuration.
struct World : retryd::test::FakePolicies {
    core::Policy policy;

    explicit World(const Names& matches) {
        for (const std::string& match : matches)
            policy.entries.push_back({.match = match, .parked = {.queue = "{queue}.parked"}});
    }

    AttachPlan plan() const { return plan_attach(policy, vhost_policies()); }

    /// Does what is planned, after which nothing may be left to do; the plan.
    AttachPlan attach() {
        AttachPlan planned = plan();
        for (const PolicyChange& change : planned.changes)
            set(change.after);
        CHECK(plan().changes.empty());
        return planned;
    }

    State state_of(const std::string& queue) const { return attach_state_of(queue).state; }
    AttachState attach_state_of(const std::string& queue) const {
        for (const AttachState& state : plan().queues) {
            if (state.queue == queue) return state;
        }
        FAIL("no state of " << queue);
        return {};
    }
    std::string exchange_of(const std::string& queue) const {
        const core::Definition definition = on(queue);
        const auto found = definition.find("dead-letter-exchange");
        return found == definition.end() ? "" : found->second;
    }
};

const core::Definition at_least_once{
    {"dead-letter-exchange", ours}, {"dead-letter-strategy", "\"at-least-once\""}, {"overflow", "\"reject-publish\""}};

bool says(const PolicyChange& change, const std::string& text) {
    for (const std::string& note : change.notes) {
        if (note.find(text) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("attach plan: classic queues without a policy get one together") {
    World w({"email", "sms"});
    w.add("email", "classic");
    w.add("sms", "classic");
    w.add("other", "classic");
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after ==
          BrokerPolicy{"retryd.errors", "^(email|sms)$", "queues", {{"dead-letter-exchange", ours}}, 0});
    CHECK(plan.changes[0].queues == Names{"email", "sms"});
    CHECK_FALSE(plan.changes[0].before);
    CHECK(w.exchange_of("sms") == ours);
    CHECK(w.exchange_of("other").empty());
    CHECK(w.state_of("email") == State::attached);
}

TEST_CASE("attach plan: quorum queues dead-letter at-least-once, in a policy that no classic queue would take") {
    World w({"*"});
    w.add("paid", "quorum");
    w.add("email", "classic");
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 2);
    CHECK(w.on("paid") == at_least_once);
    CHECK(w.on("email") == core::Definition{{"dead-letter-exchange", ours}});
    w.add("later", "classic");
    CHECK(w.state_of("later") == State::attached);
    w.add("later.retry.5s", "quorum");
    CHECK(w.exchange_of("later.retry.5s").empty());
}

TEST_CASE("attach plan: before 3.10 quorum queues have no at-least-once") {
    World w({"paid"});
    w.version = {3, 8, 9};
    w.add("paid", "quorum");
    w.attach();
    CHECK(w.on("paid") == core::Definition{{"dead-letter-exchange", ours}});
}

TEST_CASE("attach plan: a policy that applies to work queues alone is changed, and keeps what it says") {
    World w({"email", "sms"});
    w.add("email", "classic");
    w.add("sms", "classic");
    const BrokerPolicy team{"team", "^(email|sms)", "all", {{"max-length", "1000"}}, 7};
    w.set(team);
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    BrokerPolicy after = team;
    after.definition["dead-letter-exchange"] = ours;
    CHECK(plan.changes[0].after == after);
    CHECK(plan.changes[0].before == team);
    CHECK(plan.changes[0].definition_now == team.definition);
    CHECK(says(plan.changes[0], "also to later ones; but no longer to a stream: "));
}

TEST_CASE("attach plan: a policy that applies to other queues, too, is copied for the work queue, one step above") {
    World w({"email"});
    w.add("email", "classic");
    w.add("other", "classic");
    const BrokerPolicy all{"all", ".*", "queues", {{"max-length", "1000"}, {"expires", "60000"}}, 3};
    w.set(all);
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    core::Definition copy = all.definition;
    copy["dead-letter-exchange"] = ours;
    CHECK(plan.changes[0].after == BrokerPolicy{"retryd.errors-all", "^(email)$", "queues", copy, 4});
    CHECK_FALSE(plan.changes[0].before);
    CHECK(plan.changes[0].in_effect == "all");
    CHECK(says(plan.changes[0], "a copy of policy 'all', which applies to 1 other queue, too"));
    CHECK(w.on("email") == copy);
    CHECK(w.on("other") == all.definition);
}

TEST_CASE("attach plan: one more queue under the same policy joins the copy") {
    World w({"email", "sms"});
    w.add("email", "classic");
    w.add("other", "classic");
    w.set({"all", ".*", "queues", {{"max-length", "1000"}}, 0});
    w.attach();
    w.add("sms", "classic");
    const AttachPlan plan = w.attach();
    const auto change = std::find_if(plan.changes.begin(), plan.changes.end(),
                                     [](const PolicyChange& each) { return each.after.name == "retryd.errors-all"; });
    REQUIRE(change != plan.changes.end());
    CHECK(change->after.pattern == "^(email|sms)$");
    CHECK(change->before->pattern == "^(email)$");
    CHECK(w.exchange_of("sms") == ours);
    CHECK(w.exchange_of("email") == ours);
}

TEST_CASE("attach plan: a copy that is no longer like the policy is made like it, and the next one has another name") {
    World w({"email", "sms"});
    w.add("email", "classic");
    w.add("other", "classic");
    w.set({"all", ".*", "queues", {{"max-length", "1000"}}, 0});
    w.attach();
    w.set({"all", ".*", "queues", {{"max-length", "2000"}}, 0});
    w.add("sms", "classic");
    w.attach();
    CHECK(w.on("sms").at("max-length") == "2000");
    CHECK(w.on("email").at("max-length") == "2000");
    CHECK(w.exchange_of("email") == ours);
    const auto policies = w.vhost_policies().policies;
    CHECK(std::any_of(policies.begin(), policies.end(),
                      [](const BrokerPolicy& each) { return each.name == "retryd.errors-all-2"; }));
}

TEST_CASE("attach plan: the general policy stands below all others, so that none of them is lost") {
    World w({"webhook.*"});
    w.set({"all", "^webhook\\.big", "queues", {{"max-length", "1000"}}, 0});
    w.add("webhook.a", "classic");
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.priority == -1);
    CHECK(says(plan.changes[0], "also for queues made later"));
    w.add("webhook.big", "classic");
    CHECK(w.on("webhook.big") == core::Definition{{"max-length", "1000"}});
    CHECK(w.state_of("webhook.big") == State::to_attach);
    w.attach();
    CHECK(w.exchange_of("webhook.big") == ours);
    CHECK(w.on("webhook.big").at("max-length") == "1000");
}

TEST_CASE("attach plan: a policy of the same priority that comes later takes nothing away") {
    World w({"email"});
    w.add("email", "classic");
    w.attach();
    w.set({"all", ".*", "queues", {{"max-length", "1000"}}, 0});
    CHECK(w.plan().changes.empty());  // the one that was there first is in effect
    std::reverse(w.policies.begin(), w.policies.end());
    CHECK(w.state_of("email") == State::to_attach);
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(says(plan.changes[0], "a copy of policy 'all', whose priority is no higher than that of 'retryd.errors': "));
    CHECK(w.exchange_of("email") == ours);
    CHECK(w.on("email").at("max-length") == "1000");
}

TEST_CASE("attach plan: a dead-letter exchange elsewhere is replaced, and what that takes away is said") {
    World w({"email"});
    w.add("email", "classic");
    w.set({"team", "^email$", "queues", {{"dead-letter-exchange", "\"team.dlx\""}, {"max-length", "5"}}, 0});
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(says(plan.changes[0], "dead letters of these queues go to exchange \"team.dlx\" now, and no longer will"));
    CHECK(says(plan.changes[0], "parked: {exchange: \"team.dlx\"}"));
    CHECK(w.exchange_of("email") == ours);
    CHECK(w.on("email").at("max-length") == "5");
}

TEST_CASE("attach plan: an exchange that the error queue is bound to is as good as the error exchange") {
    World w({"email", "sms"});
    w.policy.error_bindings = {{"team.dlx"}};
    w.add("email", "classic", {{"x-dead-letter-exchange", "team.dlx"}});
    w.add("sms", "classic");
    w.set({"team", "^sms$", "queues", {{"dead-letter-exchange", "\"team.dlx\""}}, 0});
    CHECK(w.plan().changes.empty());
    CHECK(w.state_of("email") == State::attached);
    CHECK(w.state_of("sms") == State::attached);
}

TEST_CASE("attach plan: what no policy can attach is named with the way out") {
    World w({"*"});
    w.add("fixed", "classic", {{"x-dead-letter-exchange", "it's \"theirs\""}});
    w.add("default", "classic", {{"x-dead-letter-exchange", ""}});
    w.add("log", "stream");
    w.attach();
    CHECK(w.attach_state_of("fixed").remedy.find(R"(errors.bind, {exchange: "it's \"theirs\""})") != std::string::npos);
    CHECK(w.attach_state_of("default").remedy.find("errors.bind") == std::string::npos);
    CHECK(w.attach_state_of("log").note == "a stream queue cannot dead-letter");
    for (const char* queue : {"fixed", "default", "log"})
        CHECK(w.state_of(queue) == State::out_of_reach);
}

TEST_CASE("attach plan: publishers are not refused where now the oldest messages are dropped") {
    World w({"*"});
    w.add("by-argument", "quorum", {{"x-max-length", std::int64_t{10}}});
    w.add("by-policy", "quorum");
    w.add("by-operator", "quorum");
    w.add("drop-head", "quorum", {{"x-overflow", "drop-head"}});
    w.add("strategy", "quorum", {{"x-dead-letter-strategy", "at-most-once"}});
    w.set({"limit", "^by-policy$", "queues", {{"max-length-bytes", "10"}}, 0});
    w.operator_policies = {{"limit", "^by-operator$", "queues", {{"max-length", "10"}}, 0}};
    w.attach();
    for (const char* queue : {"by-argument", "by-policy", "by-operator", "drop-head", "strategy"}) {
        CAPTURE(queue);
        CHECK(w.exchange_of(queue) == ours);
        CHECK(w.on(queue).count("overflow") == 0);
        CHECK(w.on(queue).count("dead-letter-strategy") == 0);
        CHECK(w.state_of(queue) == State::attached);
        CHECK(w.attach_state_of(queue).note.find("its way to the error queue is at-most-once: ") == 0);
    }
}

TEST_CASE("attach plan: a queue that refuses publications already has only the rest added") {
    World w({"*"});
    w.add("limited", "quorum", {{"x-max-length", std::int64_t{10}}, {"x-overflow", "reject-publish"}});
    w.add("made", "quorum", {{"x-dead-letter-exchange", "retryd.errors"}});
    w.attach();
    CHECK(w.on("limited") ==
          core::Definition{{"dead-letter-exchange", ours}, {"dead-letter-strategy", "\"at-least-once\""}});
    core::Definition rest = at_least_once;
    rest.erase("dead-letter-exchange");
    CHECK(w.on("made") == rest);
}

TEST_CASE("attach plan: an operator's drop-head stands against at-least-once") {
    World w({"paid"});
    w.add("paid", "quorum");
    w.operator_policies = {{"keep", ".*", "queues", {{"overflow", "\"drop-head\""}}, 0}};
    w.attach();
    CHECK(w.on("paid") == core::Definition{{"dead-letter-exchange", ours}});
    CHECK(w.attach_state_of("paid").note.find("an operator policy says \"drop-head\"") != std::string::npos);
}

TEST_CASE("attach plan: queues of its own, exclusive ones and the broker's are none of its business") {
    World w({"*"});
    w.add("retryd.errors", "quorum");
    w.add("email.parked", "quorum");
    w.add("email.retry.5s", "quorum");
    w.add("amq.gen-1", "classic");
    w.add_exclusive("reply");
    CHECK(w.plan().queues.empty());
}

TEST_CASE("attach plan: a queue that is not there yet is attached when it comes") {
    World w({"email"});
    CHECK(w.state_of("email") == State::not_there);
    w.attach();
    w.add("email", "classic");
    CHECK(w.state_of("email") == State::attached);
    CHECK(w.plan().changes.empty());
}

TEST_CASE("attach plan: a general policy that somebody extended keeps what was added, and says whom it leaves") {
    World w({"email", "sms"});
    w.add("email", "classic");
    w.add("sms", "classic");
    w.add("gone", "classic");
    w.set({"retryd.errors", "^(email|gone)$", "queues", {{"max-length", "9"}, {"dead-letter-exchange", ours}}, 5});
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.priority == 5);
    CHECK(plan.changes[0].after.pattern == "^(email|sms)$");
    CHECK(says(plan.changes[0], "no longer applies to queue 'gone'"));
    CHECK(w.on("email").at("max-length") == "9");
}

TEST_CASE("attach plan: a general policy that others stand below takes no queue from them when its pattern grows") {
    World w({"email"});
    w.add("email", "classic");
    w.attach();
    w.add("hook.fixed", "classic", {{"x-dead-letter-exchange", "elsewhere"}});
    w.add("hook.made", "classic", {{"x-dead-letter-exchange", "retryd.errors"}});
    w.add("hook.a", "classic");
    const core::Definition limit{{"max-length", "1000"}};
    w.set({"limit", "^hook\\.", "queues", limit, -2});
    w.policy.entries.push_back({.match = "hook.*", .parked = {.queue = "{queue}.parked"}});
    const AttachPlan plan = w.attach();
    CHECK(w.on("hook.fixed") == limit);
    CHECK(w.on("hook.made") == limit);
    CHECK(w.on("hook.a") == core::Definition{{"dead-letter-exchange", ours}, {"max-length", "1000"}});
    CHECK(w.exchange_of("email") == ours);
    CHECK(says(plan.changes.at(0),
               "One of them that a policy with a priority of 0 or less applies to may lose what "
               "that one says: give this one the priority -3 and attach again"));
}

TEST_CASE("attach plan: a policy that classic queues made later would no longer take is copied, not changed") {
    World w({"team.*"});
    w.add("team.paid", "quorum");
    const BrokerPolicy team{"team", "^team\\.", "queues", {{"message-ttl", "60000"}}, 0};
    w.set(team);
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 2);
    CHECK(plan.changes[1].after.name == "retryd.errors-team");
    CHECK(says(
        plan.changes[1],
        "a copy of policy 'team', which with these keys would not apply to a classic queue that is created later"));
    CHECK(w.on("team.paid").at("message-ttl") == "60000");
    CHECK(w.on("team.paid").at("dead-letter-strategy") == at_least_once.at("dead-letter-strategy"));
    w.add("team.reply", "classic");
    CHECK(w.on("team.reply") == team.definition);
}

TEST_CASE("attach plan: a policy for quorum queues alone is changed for them") {
    World w({"paid"});
    w.add("paid", "quorum");
    w.set({"team", "^paid$", "quorum_queues", {{"message-ttl", "60000"}}, 0});
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.name == "team");
}

TEST_CASE("attach plan: a queue that gets a policy above the general one stays in that one's pattern") {
    World w({"paid", "hook.*"});
    w.attach();
    w.add("paid", "quorum");
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.name == "retryd.errors-queues");
    CHECK(w.on("paid") == at_least_once);
}

TEST_CASE("attach plan: a queue attached by argument is not named in the general policy that a glob brings it under") {
    World w({"email", "*"});
    w.add("email", "classic", {{"x-dead-letter-exchange", "retryd.errors"}});
    w.attach();
    CHECK(w.state_of("email") == State::attached);
}

TEST_CASE("attach plan: where the general policy is not for a queue's type it has one of its own") {
    World w({"email"});
    w.add("email", "classic");
    w.set({"retryd.errors", "^(email)$", "queues", at_least_once, 0});
    w.attach();
    CHECK(w.exchange_of("email") == ours);
    CHECK(w.state_of("email") == State::attached);
}

TEST_CASE("attach plan: two daemons in one vhost have policies of different names") {
    World w({"email"});
    w.policy.error_exchange = "team-b.errors";
    w.add("email", "classic");
    CHECK(w.attach().changes.at(0).after.name == "retryd-team-b.errors");
}

TEST_CASE("attach plan: without a broker there is a policy for all that is configured") {
    const World w({"email", "webhook.*"});
    const BrokerPolicy general = general_policies(w.policy).front();
    CHECK(general.name == "retryd.errors");
    CHECK(general.definition == core::Definition{{"dead-letter-exchange", ours}});
    CHECK(general.pattern.ends_with(R"((email|webhook\..*)$)"));
    CHECK(general.priority == 0);
}

TEST_CASE("attach plan: so many names that one pattern would be too long for the broker take several policies") {
    Names names;
    for (int i = 0; i < 120; ++i)
        names.push_back("team.work-queue-" + std::to_string(i));
    World w(names);
    for (int i = 0; i < 120; ++i)
        w.add(names[static_cast<std::size_t>(i)], i < 60 ? "classic" : "quorum");
    const BrokerPolicy of_another{
        "retryd.errors.2", "^(mine)$", "queues", {{"dead-letter-exchange", "\"retryd.errors.2\""}}, 0};
    w.set(of_another);
    const AttachPlan plan = w.attach();
    CHECK(plan.changes.size() == 4);
    std::size_t attached = 0;
    for (const PolicyChange& change : plan.changes) {
        CHECK(change.after.pattern.size() <= 1024);
        attached += change.queues.size();
    }
    CHECK(attached == 120);
    for (const std::string& name : names)
        CHECK(w.state_of(name) == State::attached);
    CHECK(w.on(names[0]).size() == 1);
    CHECK(w.on(names[119]) == at_least_once);

    w.add("late", "classic");
    w.add("other", "classic");
    w.policy.entries.push_back({.match = "late", .parked = {.queue = "{queue}.parked"}});
    w.attach();
    CHECK(w.state_of("late") == State::attached);
    w.policy.entries.erase(w.policy.entries.begin(), w.policy.entries.begin() + 100);
    w.attach();
    CHECK(w.exchange_of(names[10]).empty());
    CHECK(w.exchange_of("late") == ours);
    CHECK(w.exchange_of("other").empty());
    w.add("mine", "classic");
    CHECK(w.exchange_of("mine") == of_another.definition.begin()->second);
}

}  // namespace retryd::admin::attach_plan_test
