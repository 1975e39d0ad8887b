#include "admin/permissions.h"

#include <algorithm>

#include "core/names.h"
#include "core/topology.h"
#include "support/catch.h"
#include "support/pattern.h"

namespace retryd::admin::permissions_test {
namespace {

using Needed = std::vector<NeededPermission>;

core::Policy policy_with(core::ReturnPath path) {
    core::Policy policy;
    policy.entries.push_back({.match = "email",
                              .ladder = {.name = "all", .steps = {core::Milliseconds{5000}}, .return_path = path},
                              .parked = {.queue = "{queue}.parked"}});
    return policy;
}

Needed needed(const core::Policy& policy, bool declares = true) {
    return needed_permissions(policy, desired_topology(policy, core::features_of({4, 0, 5})), declares);
}

bool has(const Needed& list, std::string_view operation, const std::string& name) {
    return std::find(list.begin(), list.end(), NeededPermission{operation, name}) != list.end();
}

}  // namespace

TEST_CASE("permissions: queues of held messages are declared and consumed") {
    core::Policy policy = policy_with(core::ReturnPath::queue);
    CHECK_FALSE(has(needed(policy), "read", "email.held"));
    policy.entries[0].hold = true;
    CHECK(has(needed(policy), "configure", "email.held"));
    CHECK(has(needed(policy, false), "read", "email.held"));
}

TEST_CASE("permissions: who takes out what has been parked for too long reads the parking queue") {
    core::Policy policy = policy_with(core::ReturnPath::queue);
    CHECK_FALSE(has(needed(policy), "read", "email.parked"));
    policy.entries[0].parked_age = core::ParkedAge{core::Milliseconds{60'000}, "/a"};
    CHECK(has(needed(policy), "read", "email.parked"));
    CHECK(has(needed(policy, false), "read", "email.parked"));
    policy.entries[0].match = "email.*";
    CHECK_FALSE(has(needed(policy), "read", "email.*.parked"));
    policy.entries[0].parked.queue = "graves";
    CHECK(has(needed(policy), "read", "graves"));
}

TEST_CASE("permissions: what it takes to declare, to publish and to consume") {
    const Needed list = needed(policy_with(core::ReturnPath::queue));
    for (const char* queue :
         {"retryd.errors", "retryd.parked", "retryd.detour.2s", "retryd.detour.5m", "email.retry.5s", "email.parked"}) {
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

TEST_CASE("permissions: a source is read, and nothing else") {
    core::Policy policy = policy_with(core::ReturnPath::queue);
    policy.sources = {{"orders_error", core::Dialect::masstransit}};
    const Needed list = needed(policy);
    CHECK(has(list, "read", "orders_error"));
    CHECK_FALSE(has(list, "configure", "orders_error"));
    CHECK_FALSE(has(list, "write", "orders_error"));
}

TEST_CASE("permissions: a shared ladder needs those of its exchanges and of the way back") {
    core::Policy policy = policy_with(core::ReturnPath::headers);
    policy.error_exchange = "errors";
    const Needed list = needed(policy);
    CHECK(has(list, "write", "errors"));  // the alternate exchange of the one that leads back
    CHECK(has(list, "write", "retryd.all.5s"));
    CHECK(has(list, "write", "retryd.return"));
    CHECK(has(list, "read", "retryd.return"));
    CHECK(has(list, "write", "email"));
}

TEST_CASE("permissions: who declares nothing needs to configure nothing") {
    for (const NeededPermission& each : needed(policy_with(core::ReturnPath::queue), false))
        CHECK(each.operation != "configure");
}

TEST_CASE("permissions: another's exchange to park in is written to") {
    core::Policy policy = policy_with(core::ReturnPath::queue);
    policy.entries[0].parked = {.exchange = "team.dlx"};
    CHECK(has(needed(policy), "write", "team.dlx"));
    CHECK_FALSE(has(needed(policy), "configure", "team.dlx"));
}

TEST_CASE("permissions: those that the regular expressions do not give are lacking") {
    const Needed list{{"configure", "retryd.errors"}, {"write", "amq.default"}, {"read", "email"}};
    CHECK(missing_permissions(list, {".*", ".*", ".*"}).empty());
    CHECK(missing_permissions(list, {"^retryd\\.", "^amq\\.", "mai"}).empty());
    CHECK(missing_permissions(list, {"", "", ""}) == list);
    CHECK(missing_permissions(list, {"^errors", ".*", ".*"}) == Needed{{"configure", "retryd.errors"}});
    CHECK(missing_permissions(list, {".*", "^retryd", ".*"}) == Needed{{"write", "amq.default"}});
    CHECK(missing_permissions(list, {".*", ".*", "^$"}) == Needed{{"read", "email"}});
    CHECK(missing_permissions(list, {"(?<!x)*(", "(", "("}).empty());
}

// ── The patterns to give ───────────────────────────────────────────────────────────────────────────────────────────

namespace {

using test::pattern_matches;

core::Entry entry(const std::string& match, core::ReturnPath path = core::ReturnPath::queue,
                  const std::string& parked = "{queue}.parked") {
    const core::Ladder ladder{
        .name = "all", .steps = {core::Milliseconds{5000}, core::Milliseconds{90'000}}, .return_path = path};
    return {.match = match, .ladder = ladder, .parked = {.queue = parked}};
}

core::Policy policy_of(const std::vector<core::Entry>& entries) {
    core::Policy policy;
    policy.entries = entries;
    return policy;
}

/// As if the glob that matches it were that name.
core::Policy met(core::Policy policy, const std::string& name) {
    for (core::Entry& each : policy.entries) {
        if (core::is_glob(each.match) && core::glob_matches(each.match, name)) each.match = name;
    }
    return policy;
}

std::vector<NeededPermission> lacking_for(const core::Policy& policy, const std::string& met_name,
                                          core::BrokerVersion version, bool declares) {
    const core::Policy now = met(policy, met_name);
    return missing_permissions(
        needed_permissions(now, core::desired_topology(now, core::features_of(version)), declares),
        daemon_permissions(policy, declares));
}

}  // namespace

TEST_CASE("permission patterns: whatever a configuration needs on any version is permitted, by name and by glob") {
    core::Policy policy = policy_of({entry("email"), entry("web(hook).*"), entry("sms.*", core::ReturnPath::headers),
                                     entry("a.b", core::ReturnPath::headers, "lost+found")});
    policy.entries.push_back(entry("fax.*"));
    policy.entries.back().parked = {.exchange = "team.dlx"};
    for (const core::ReturnPath path : {core::ReturnPath::queue, core::ReturnPath::headers}) {
        for (const char* match : {"kept", "kept.*"}) {
            policy.entries.push_back(entry(path == core::ReturnPath::queue ? match : "s" + std::string(match), path));
            policy.entries.back().ladder.x_death = core::XDeath::keep;
        }
    }
    policy.error_bindings = {{"legacy.dlx", "#"}};
    for (const core::BrokerVersion version : {core::BrokerVersion{3, 8, 9}, {3, 10, 8}, {4, 0, 5}, {4, 3, 6}}) {
        for (const bool declares : {true, false}) {
            for (const std::string name : {"web(hook).a", "sms.b", "fax.c", "kept.d", "skept.e"}) {
                CAPTURE(to_string(version), declares, name);
                CHECK(lacking_for(policy, name, version, declares).empty());
            }
        }
    }
}

TEST_CASE("permission patterns: nothing else is permitted") {
    const Permissions given = daemon_permissions(policy_of({entry("email"), entry("webhook.*")}), true);
    CHECK(pattern_matches(given.configure, "webhook.a.retry.1h30m"));
    CHECK(pattern_matches(given.configure, "email.retry.5s.high"));
    CHECK(pattern_matches(given.configure, "webhook.a.parked"));
    for (const char* name :
         {"email", "webhook.a", "xemail.retry.5s", "email.retry.5s.x", "emailxretry.5s", "amq.default"}) {
        CAPTURE(name);
        CHECK_FALSE(pattern_matches(given.configure, name));
    }
    CHECK(pattern_matches(given.write, "amq.default"));
    CHECK_FALSE(pattern_matches(given.write, "email"));
    CHECK_FALSE(pattern_matches(given.write, "webhook.a"));
    CHECK_FALSE(pattern_matches(given.read, "email"));
    CHECK_FALSE(pattern_matches(given.read, "email.parked"));
}

TEST_CASE("permission patterns: as the operator reads them") {
    core::Policy policy = policy_of({entry("email"), entry("webhook.*")});
    CHECK(
        daemon_permissions(policy, true) ==
        Permissions{
            R"(^(email\.parked|email\.retry\.[0-9dhms]+(\.high)?|retryd\.detour\.[0-9dhms]+(\.high)?|retryd\.errors|retryd\.parked|webhook\..*\.parked|webhook\..*\.retry\.[0-9dhms]+(\.high)?)$)",
            R"(^(amq\.default|retryd\.errors)$)",
            R"(^(email\.retry\.[0-9dhms]+(\.high)?|retryd\.detour\.[0-9dhms]+(\.high)?|retryd\.errors|webhook\..*\.retry\.[0-9dhms]+(\.high)?)$)"});
    CHECK(daemon_permissions(policy, false) ==
          Permissions{"^$", R"(^(amq\.default|retryd\.errors)$)", R"(^(retryd\.errors)$)"});
}

TEST_CASE("permission patterns: who works on parked messages may take from parking queues and return them") {
    const Permissions given =
        replay_permissions(policy_of({entry("email"), entry("sms.*", core::ReturnPath::headers)}));
    const std::string read =
        R"(^(email\.parked|email\.retry\.[0-9dhms]+(\.high)?|retryd\.all\.[0-9dhms]+(\.high)?|retryd\.errors|)"
        R"(retryd\.parked|retryd\.replay\..*|sms\..*\.parked)$)";
    CHECK(given == Permissions{R"(^(retryd\.replay\..*)$)",
                               R"(^(amq\.default|email|retryd\.replay\..*|retryd\.return|sms\..*)$)", read});
}

TEST_CASE("permissions: who may write to the error exchange and needs it for nothing") {
    const core::Policy policy = policy_with(core::ReturnPath::queue);
    VhostPolicies vhost;
    vhost.queues.push_back({.name = "email", .arguments = {{"x-dead-letter-exchange", "retryd.errors"}}});
    const auto found = [&](const Permissions& given, const std::string& own = "retryd") {
        return needless_writers(policy, vhost, {{"user", given}}, own);
    };
    const std::vector<NeedlessWriter> needless{{"user", "retryd.errors"}};
    CHECK(found({"^$", "^retryd", ".*"}) == needless);
    CHECK(found({"^sms", "errors", ""}) == needless);
    CHECK(found({"^email", "^retryd", ""}).empty());      // to declare its queue
    CHECK(found({"^$", "^mine", ""}).empty());            // may not write there
    CHECK(found({"^$", "", ""}).empty());                 // an empty pattern is no name at all
    CHECK(found({"^$", ".*", ""}).empty());               // can write to every queue anyway
    CHECK(found({"^$", "^retryd", ""}, "user").empty());  // is retryd itself
    CHECK(found({"^$", "(", ""}).empty());                // cannot be read here
}

TEST_CASE(
    "permissions: the exchanges of others that lead to retryd, and the one that leads back, are guarded as well") {
    core::Policy policy = policy_with(core::ReturnPath::headers);
    policy.error_bindings = {{"legacy.dlx", "#"}, {"legacy.dlx", "other"}};
    VhostPolicies vhost;
    vhost.queues.push_back({.name = "email", .arguments = {{"x-dead-letter-exchange", "legacy.dlx"}}});
    const std::vector<UserPermissions> users{{"a", {"^$", "^legacy", ""}}, {"b", {"email", "dlx|return", ""}}};
    CHECK(needless_writers(policy, vhost, users, "retryd") ==
          std::vector<NeedlessWriter>{{"a", "legacy.dlx"}, {"b", "retryd.return"}});
}

}  // namespace retryd::admin::permissions_test
