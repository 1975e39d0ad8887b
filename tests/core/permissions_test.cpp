#include "core/permissions.h"

#include <algorithm>

#include "support/catch.h"

namespace retryd::core::permissions_test {
namespace {

using Needed = std::vector<NeededPermission>;

Policy policy_with(ReturnPath path) {
    Policy policy;
    policy.entries.push_back({.match = "email",
                              .ladder = {.name = "all", .steps = {Milliseconds{5000}}, .return_path = path},
                              .parked = {.queue = "{queue}.parked"}});
    return policy;
}

Needed needed(const Policy& policy, bool declares = true) {
    return needed_permissions(policy, wanted(policy, features_of({4, 0, 5})), declares);
}

bool has(const Needed& list, std::string_view operation, const std::string& name) {
    return std::find(list.begin(), list.end(), NeededPermission{operation, name}) != list.end();
}

}  // namespace

TEST_CASE("permissions: what it takes to declare, to publish and to consume") {
    const Needed list = needed(policy_with(ReturnPath::queue));
    for (const char* queue : {"retryd.errors", "retryd.parked", "email.retry.5s", "email.parked"}) {
        CAPTURE(queue);
        CHECK(has(list, "configure", queue));
    }
    CHECK(has(list, "read", "retryd.errors"));
    CHECK(has(list, "write", "retryd.errors"));
    CHECK(has(list, "read", "email.retry.5s"));
    CHECK(has(list, "write", "amq.default"));
    CHECK_FALSE(has(list, "configure", "email"));
    for (const NeededPermission& each : list) {
        CHECK(std::count(list.begin(), list.end(), each) == 1);
        CHECK_FALSE(each.name.empty());
    }
}

TEST_CASE("permissions: a shared ladder needs those of its exchanges and of the way home") {
    Policy policy = policy_with(ReturnPath::headers);
    policy.error_exchange = "errors";
    const Needed list = needed(policy);
    CHECK(has(list, "write", "errors"));  // the alternate exchange of the one that leads home
    CHECK(has(list, "write", "retryd.all.5s"));
    CHECK(has(list, "write", "retryd.return"));
    CHECK(has(list, "read", "retryd.return"));
    CHECK(has(list, "write", "email"));
}

TEST_CASE("permissions: who declares nothing needs to configure nothing") {
    for (const NeededPermission& each : needed(policy_with(ReturnPath::queue), false))
        CHECK(each.operation != "configure");
}

TEST_CASE("permissions: another's exchange to park in is written to") {
    Policy policy = policy_with(ReturnPath::queue);
    policy.entries[0].parked = {.exchange = "team.dlx"};
    CHECK(has(needed(policy), "write", "team.dlx"));
    CHECK_FALSE(has(needed(policy), "configure", "team.dlx"));
}

TEST_CASE("permissions: those that the regular expressions do not give are lacking") {
    const Needed list{{"configure", "retryd.errors"}, {"write", "amq.default"}, {"read", "email"}};
    CHECK(lacking(list, {".*", ".*", ".*"}).empty());
    CHECK(lacking(list, {"^retryd\\.", "^amq\\.", "mai"}).empty());
    CHECK(lacking(list, {"", "", ""}) == list);
    CHECK(lacking(list, {"^errors", ".*", ".*"}) == Needed{{"configure", "retryd.errors"}});
    CHECK(lacking(list, {".*", "^retryd", ".*"}) == Needed{{"write", "amq.default"}});
    CHECK(lacking(list, {".*", ".*", "^$"}) == Needed{{"read", "email"}});
    CHECK(lacking(list, {"(?<!x)*(", "(", "("}).empty());
}

}  // namespace retryd::core::permissions_test
