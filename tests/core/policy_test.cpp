#include "core/policy.h"

#include <initializer_list>

#include "support/catch.h"

namespace retryd::core::policy_test {
namespace {

using namespace std::chrono_literals;

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

TEST_CASE("the broker's addresses for direct replies are no work queues, whatever the entry") {
    const Policy policy = policy_of({"*"});
    CHECK(match(policy, "amq.rabbitmq.reply-to") == nullptr);
    CHECK(match(policy, "amq.rabbitmq.reply-to.g1h2AA5yZXBseUAxMjM") == nullptr);
    CHECK(match(policy, "amq.rabbitmq") != nullptr);
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

TEST_CASE("what a framework keeps for itself matches no glob, only an entry with its very name") {
    const Policy policy = policy_of({"celery_delayed_1", "*"});
    for (const char* plumbing :
         {"celery_delayed_0", "celery_delayed_27", "shop_celery_delayed_3", "a_celery_delayed_27",
          "celery@host.celery.pidbox", "celeryev.1", "nsb.delay-level-03", "nsb.v2.delay-level-27",
          "nsb.v2.verify-stream", "MOL.EVENT.node-1", "MOL-shop.REQ.n", "MOL.HEARTBEAT.n"}) {
        CAPTURE(plumbing);
        CHECK(match(policy, plumbing) == nullptr);
    }
    for (const char* work :
         {"celery", "celery_delayed_", "celery_delayed_x", "shop_celery_delayed_", "_celery_delayed_3",
          "shopcelery_delayed_3", "orders.1", "27", "MOL.REQB.orders.create", "MOL.EVENTB.mail.order.created",
          "MOL.EVENT", "MOL.EVENT.", "MOLE.EVENT.x", "nsb.orders"}) {
        CAPTURE(work);
        CHECK(match(policy, work) != nullptr);
    }
    CHECK(match(policy, "celery_delayed_1") == &policy.entries[0]);
}

TEST_CASE("a delay that stands several times in a ladder is one rung, in the order of first use") {
    CHECK(distinct_delays(Ladder{"l", {30s, 5s, 30s, 30s, 2min, 5s}}) == std::vector<Milliseconds>{30s, 5s, 2min});
    CHECK(distinct_delays(Ladder{"l", {5s}}) == std::vector<Milliseconds>{5s});
    CHECK(distinct_delays(Ladder{}).empty());
}

TEST_CASE("lanes lie evenly between the delay less the width and the delay") {
    CHECK(lanes_of(10s, {20, 5}) == std::vector<Milliseconds>{8s, 8500ms, 9s, 9500ms, 10s});
    CHECK(lanes_of(10s, {20, 2}) == std::vector<Milliseconds>{8s, 10s});
    CHECK(lanes_of(10s, {}) == std::vector<Milliseconds>{10s});
    CHECK(lanes_of(3ms, {99, 4}) == std::vector<Milliseconds>{1ms, 1ms, 2ms, 3ms});
}

TEST_CASE("the rungs of a ladder with lanes are all lanes of all steps, each delay once") {
    Ladder ladder{"l", {10s, 8s, 10s}};
    ladder.jitter = {20, 2};
    CHECK(distinct_delays(ladder) == std::vector<Milliseconds>{8s, 10s, 6400ms});
}

}  // namespace retryd::core::policy_test
