#include "admin/own_policies.h"

#include "admin/checks.h"
#include "admin/fake_policies.h"
#include "admin/guard.h"
#include "support/catch.h"

namespace retryd::admin::own_policies_test {
namespace {

/// `email` and `other` under a policy of somebody's, which attach therefore copies for `email`.
struct World : retryd::test::FakePolicies {
    core::Policy policy;

    explicit World(const std::string& name = "ttl")
        : theirs{name, "^(email|other)$", "queues", {{"message-ttl", "1000"}}, 5} {
        policy.entries.push_back({.match = "email", .parked = {.queue = "{queue}.parked"}});
        add("email", "quorum");
        add("other", "quorum");
        add("email.parked", "quorum");
        set(theirs);
        apply();
    }
    void apply() {
        AttachPlan plan = plan_attach(policy, vhost_policies());
        for (const PolicyChange& change : plan.changes)
            set(change.after);
        for (const PolicyChange& change : plan_guard(policy, vhost_policies()))
            set(change.after);
    }
    void change(const std::string& key, const std::string& value) {
        theirs.definition[key] = value;
        set(theirs);
    }
    void clear(const std::string& name) {
        std::erase_if(policies, [&](const BrokerPolicy& each) { return each.name == name; });
    }
    std::vector<Finding> found() const { return check_copies(policy, vhost_policies()); }

    BrokerPolicy theirs;
};

const core::Definition attached{{"dead-letter-exchange", "\"retryd.errors\""},
                                {"dead-letter-strategy", "\"at-least-once\""},
                                {"overflow", "\"reject-publish\""}};

core::Definition with(core::Definition definition, const std::string& key, const std::string& value) {
    definition[key] = value;
    return definition;
}

}  // namespace

TEST_CASE("copies: one that says what the policy says is fine") {
    World w;
    CHECK(w.on("email") == with(attached, "message-ttl", "1000"));
    CHECK(w.found().empty());
    CHECK(plan_attach(w.policy, w.vhost_policies()).changes.empty());
}

TEST_CASE("copies: a policy that is changed later is told, and attach makes the copy say the same") {
    World w;
    w.change("message-ttl", "2000");
    w.change("max-length", "7");
    REQUIRE(w.found().size() == 1);
    const Finding finding = w.found()[0];
    CHECK(finding.cause ==
          "policy 'retryd.errors-ttl' is a copy of policy 'ttl' as it was: max-length is not set and would be 7, "
          "message-ttl is 1000 and would be 2000, on queue 'email'");
    CHECK(finding.names == std::vector<std::string>{"email"});
    CHECK(finding.command == "retryd attach --apply");
    w.apply();
    CHECK(w.found().empty());
    CHECK(w.on("email") == with(with(attached, "message-ttl", "2000"), "max-length", "7"));
    CHECK(plan_attach(w.policy, w.vhost_policies()).changes.empty());
}

TEST_CASE(
    "copies: of a policy that is gone, or for other queues now, nothing stays in effect once it is attached again") {
    const bool gone = GENERATE(true, false);
    World w;
    w.theirs.pattern = "^other$";
    gone ? w.clear("ttl") : w.set(w.theirs);
    REQUIRE(w.found().size() == 1);
    CHECK(w.found()[0].cause.find("copy of policy 'ttl', which is gone or no longer for these queues: "
                                  "message-ttl is 1000 and would be not set") != std::string::npos);
    w.apply();
    CHECK(w.found().empty());
    CHECK(w.on("email") == attached);
}

TEST_CASE("copies: what harms nothing on queues of retryd's own is copied as well, and looked at") {
    World w;
    w.set({"limit", "^email.parked$", "queues", {{"delivery-limit", "1000000"}}, 0});
    w.clear("retryd.errors-guard");
    w.apply();
    CHECK(w.on("email.parked").at("delivery-limit") == "1000000");
    CHECK(w.found().empty());
    w.set({"limit", "^email.parked$", "queues", {{"delivery-limit", "2000000"}, {"max-length", "1"}}, 0});
    REQUIRE(w.found().size() == 1);
    w.apply();
    CHECK(w.found().empty());
    CHECK(w.on("email.parked") == core::Definition{{"delivery-limit", "2000000"}, {"overflow", "\"reject-publish\""}});
    w.clear("limit");
    REQUIRE(w.found().size() == 1);
    w.apply();
    CHECK(w.found().empty());
    CHECK(w.on("email.parked") == core::Definition{{"overflow", "\"reject-publish\""}});
}

TEST_CASE("copies: no name of a policy makes one that takes the place of another of retryd's") {
    for (const char* name : {"guard", "guard-2", "queues", "queues-2", "-x", "a-7"}) {
        CAPTURE(name);
        World w(name);
        w.apply();
        CHECK(w.on("email") == with(attached, "message-ttl", "1000"));
        CHECK(w.on("email.parked") == core::Definition{{"overflow", "\"reject-publish\""}});
        CHECK(w.found().empty());
        w.change("message-ttl", "3000");
        CHECK(w.found().size() == 1);
        w.apply();
        CHECK(w.on("email") == with(attached, "message-ttl", "3000"));
        CHECK(w.found().empty());
    }
}

TEST_CASE("copies: those of another retryd in this vhost, and policies of others, are none") {
    World w;
    w.set({"retryd.errors-b", "^(other)$", "queues", {{"dead-letter-exchange", "\"retryd.errors-b\""}}, 9});
    w.set({"retryd.errors-mine", "^oth", "queues", attached, 10});
    CHECK(w.found().empty());
}

}  // namespace retryd::admin::own_policies_test
