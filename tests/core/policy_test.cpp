#include "core/policy.h"

#include <initializer_list>

#include "support/catch.h"

namespace retryd::core::policy_test {
namespace {

Policy policy_of(std::initializer_list<const char*> patterns) {
    Policy policy;
    for (const char* pattern : patterns)
        policy.entries.push_back({pattern, {}, {"{queue}.parked"}});
    return policy;
}

}  // namespace

TEST_CASE("the first entry that matches wins") {
    const Policy policy = policy_of({"email", "webhook.eu", "webhook.*", "webhook.us", "*", "never"});
    CHECK(match(policy, "email") == &policy.entries[0]);
    CHECK(match(policy, "webhook.eu") == &policy.entries[1]);
    CHECK(match(policy, "webhook.us") == &policy.entries[2]);
    CHECK(match(policy, "never") == &policy.entries[4]);
}

TEST_CASE("a queue that no entry matches has none") {
    const Policy policy = policy_of({"email", "webhook.*"});
    CHECK(match(policy, "emails") == nullptr);
    CHECK(match(policy, "") == nullptr);
    CHECK(match(Policy{}, "email") == nullptr);
}

TEST_CASE("queue types are written as RabbitMQ writes them") {
    CHECK(to_string(QueueType::quorum) == "quorum");
    CHECK(to_string(QueueType::classic) == "classic");
}

TEST_CASE("queues of our own are told from work queues, and never match an entry") {
    Policy policy = policy_of({"email", "web.*"});
    policy.entries.push_back({"team", {}, {"graves"}});
    policy.entries.push_back({"x", {}, {"dead.{queue}.here"}});
    for (const char* own : {"retryd.errors", "retryd.parked", "email.parked", "web.shop.parked", "graves",
                            "dead.x.here", "any.retry.5s", "retryd.l.5s", "retryd.l.5s.high"}) {
        CAPTURE(own);
        CHECK(is_own_queue(policy, own));
    }
    for (const char* other : {"email", "web.shop", "other.parked", ".parked", "parked", "dead.y.here", "retryd.other",
                              "dead.here", "graves.5s"}) {
        CAPTURE(other);
        CHECK_FALSE(is_own_queue(policy, other));
    }
    CHECK(match(policy_of({"*"}), "retryd.errors") == nullptr);
    CHECK(match(policy_of({"*"}), "email.parked") == nullptr);
}

}  // namespace retryd::core::policy_test
