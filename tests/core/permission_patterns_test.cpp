#include "core/permission_patterns.h"

#include <regex>

#include "core/names.h"
#include "core/wanted.h"
#include "support/catch.h"

namespace retryd::core::permission_patterns_test {
namespace {

Entry entry(const std::string& match, ReturnPath path = ReturnPath::queue,
            const std::string& parked = "{queue}.parked") {
    const Ladder ladder{.name = "all", .steps = {Milliseconds{5000}, Milliseconds{90'000}}, .return_path = path};
    return {.match = match, .ladder = ladder, .parked = {.queue = parked}};
}

Policy policy_of(const std::vector<Entry>& entries) {
    Policy policy;
    policy.entries = entries;
    return policy;
}

bool permits(const std::string& pattern, const std::string& name) {
    return std::regex_search(name, std::regex(pattern));
}

/// As if the glob that matches it were that name.
Policy met(Policy policy, const std::string& name) {
    for (Entry& each : policy.entries) {
        if (is_glob(each.match) && glob_matches(each.match, name)) each.match = name;
    }
    return policy;
}

std::vector<NeededPermission> lacking_for(const Policy& policy, const std::string& met_name, BrokerVersion version,
                                          bool declares) {
    const Policy now = met(policy, met_name);
    return lacking(needed_permissions(now, wanted(now, features_of(version)), declares),
                   daemon_permissions(policy, declares));
}

}  // namespace

TEST_CASE("permission patterns: whatever a configuration needs on any version is permitted, by name and by glob") {
    Policy policy = policy_of({entry("email"), entry("web(hook).*"), entry("sms.*", ReturnPath::headers),
                               entry("a.b", ReturnPath::headers, "lost+found")});
    policy.entries.push_back(entry("fax.*"));
    policy.entries.back().parked = {.exchange = "team.dlx"};
    policy.error_bindings = {{"legacy.dlx", "#"}};
    for (const BrokerVersion version : {BrokerVersion{3, 8, 9}, {3, 10, 8}, {4, 0, 5}, {4, 3, 6}}) {
        for (const bool declares : {true, false}) {
            for (const std::string name : {"web(hook).a", "sms.b", "fax.c"}) {
                CAPTURE(to_string(version), declares, name);
                CHECK(lacking_for(policy, name, version, declares).empty());
            }
        }
    }
}

TEST_CASE("permission patterns: nothing else is permitted") {
    const Permissions given = daemon_permissions(policy_of({entry("email"), entry("webhook.*")}), true);
    CHECK(permits(given.configure, "webhook.a.retry.1h30m"));
    CHECK(permits(given.configure, "email.retry.5s.high"));
    CHECK(permits(given.configure, "webhook.a.parked"));
    for (const char* name :
         {"email", "webhook.a", "xemail.retry.5s", "email.retry.5s.x", "emailxretry.5s", "amq.default"}) {
        CAPTURE(name);
        CHECK_FALSE(permits(given.configure, name));
    }
    CHECK(permits(given.write, "amq.default"));
    CHECK_FALSE(permits(given.write, "email"));
    CHECK_FALSE(permits(given.write, "webhook.a"));
    CHECK_FALSE(permits(given.read, "email"));
    CHECK_FALSE(permits(given.read, "email.parked"));
}

TEST_CASE("permission patterns: as the operator reads them") {
    Policy policy = policy_of({entry("email"), entry("webhook.*")});
    CHECK(
        daemon_permissions(policy, true) ==
        Permissions{
            R"(^(email\.parked|email\.retry\.[0-9dhms]+(\.high)?|retryd\.errors|retryd\.parked|webhook\..*\.parked|webhook\..*\.retry\.[0-9dhms]+(\.high)?)$)",
            R"(^(amq\.default|retryd\.errors)$)",
            R"(^(email\.retry\.[0-9dhms]+(\.high)?|retryd\.errors|webhook\..*\.retry\.[0-9dhms]+(\.high)?)$)"});
    CHECK(daemon_permissions(policy, false) ==
          Permissions{"^$", R"(^(amq\.default|retryd\.errors)$)", R"(^(retryd\.errors)$)"});
}

TEST_CASE("permission patterns: who works on parked messages may take from parking queues and send home") {
    const Permissions given = replay_permissions(policy_of({entry("email"), entry("sms.*", ReturnPath::headers)}));
    CHECK(given ==
          Permissions{R"(^(retryd\.replay\..*)$)", R"(^(amq\.default|retryd\.replay\..*|retryd\.return)$)",
                      R"(^(email\.parked|retryd\.errors|retryd\.parked|retryd\.replay\..*|sms\..*\.parked)$)"});
}

}  // namespace retryd::core::permission_patterns_test
