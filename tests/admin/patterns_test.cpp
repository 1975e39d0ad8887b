#include "admin/patterns.h"

#include <algorithm>

#include "support/catch.h"
#include "support/pattern.h"

namespace retryd::admin::patterns_test {
namespace {

using test::pattern_matches;

core::Policy policy_with(const std::vector<std::string>& matches, const std::string& parked = "{queue}.parked") {
    core::Policy policy;
    for (const std::string& match : matches)
        policy.entries.push_back({.match = match, .parked = {.queue = parked}});
    return policy;
}

}  // namespace

TEST_CASE("queue pattern: of names it matches these and no others") {
    CHECK(names_pattern({"email"}) == "^(email)$");
    CHECK(names_pattern({"email", "a.b"}) == R"(^(email|a\.b)$)");
    const std::string odd = R"(a.b+c*d?(e)[f]{1}|^g$\h"i'j)";
    const std::string pattern = names_pattern({odd});
    CHECK(pattern_matches(pattern, odd));
    CHECK_FALSE(pattern_matches(pattern, "x" + odd));
    CHECK_FALSE(pattern_matches(names_pattern({"a.b"}), "axb"));
    CHECK_FALSE(pattern_matches(names_pattern({"a"}), "ab"));
}

TEST_CASE("queue pattern: takes more names in, where it has the form for it") {
    CHECK(extended_pattern("^(email)$", {"a.b", "c"}) == R"(^(email|a\.b|c)$)");
    CHECK(extended_pattern("^email", {"a"}).empty());
    CHECK(extended_pattern(".*", {"a"}).empty());
}

TEST_CASE("queue pattern: tells whether it has a name among its alternatives") {
    CHECK(names_in_pattern("^(email)$", "email"));
    CHECK(names_in_pattern("^(?!(?:x)$)(a\\.b|email|hook\\..*)$", "a.b"));
    CHECK(names_in_pattern("^(my-email|email)$", "email"));
    CHECK_FALSE(names_in_pattern("^(my-email|emails)$", "email"));
    CHECK_FALSE(names_in_pattern("^(?!(?:w|x|y)$)(email)$", "x"));
    CHECK_FALSE(names_in_pattern("^email$", "email"));
}

TEST_CASE("queue pattern: a name that is spared is not matched by a glob") {
    const std::string pattern = matches_patterns(policy_with({"hook.*"}), {"hook.*"}, {"hook.a", "other"}).front();
    CHECK_FALSE(pattern_matches(pattern, "hook.a"));
    CHECK(pattern_matches(pattern, "hook.ab"));
    CHECK(pattern.find("other") == std::string::npos);
}

TEST_CASE("queue pattern: tells the names that it excludes one by one") {
    const core::Policy policy = policy_with({"*"});
    const std::string odd = R"(a.b+c*d?(e)[f]{1}|^g$\h)";
    const std::string pattern = matches_patterns(policy, {"*"}, {"MOL.EVENTB.mail.order.created", odd}).front();
    std::vector<std::string> names = excluded_names(pattern);
    std::sort(names.begin(), names.end());
    CHECK(names == std::vector<std::string>{"MOL.EVENTB.mail.order.created", odd, "retryd.errors", "retryd.parked"});
    CHECK(excluded_names("^(email)$").empty());
    CHECK(excluded_names(".*").empty());
}

TEST_CASE("queue pattern: what a framework keeps for itself is matched by no glob, and by its very name") {
    const core::Policy policy = policy_with({"*"});
    for (const char* glob : {"*", "MOL*", "c*", "nsb*", "*_celery_delayed_*", "*box", "shop*", "*_2", "*.node-1"}) {
        const std::string pattern = matches_patterns(policy_with({glob}), {glob}).front();
        CHECK(pattern.size() <= longest_pattern);
        for (const char* name : {"celery_delayed_0",
                                 "celery_delayed_27",
                                 "shop_celery_delayed_2",
                                 "celery@host.celery.pidbox",
                                 "celeryev.1",
                                 "nsb.delay-level-03",
                                 "nsb.v2.delay-level-27",
                                 "nsb.v2.verify-stream",
                                 "MOL.EVENT.node-1",
                                 "MOL-shop.REQ.node-1",
                                 "MOL.RES.n",
                                 "MOL.INFO.n",
                                 "MOL.DISCOVER.n",
                                 "MOL.DISCONNECT.n",
                                 "MOL.HEARTBEAT.n",
                                 "MOL.PING.n",
                                 "MOL.PONG.n",
                                 "celery",
                                 "celery_delayed_",
                                 "celery_delayed_x",
                                 "_celery_delayed_2",
                                 "shopcelery_delayed_2",
                                 "MOL.REQB.orders.create",
                                 "MOL.EVENTB.mail.order.created",
                                 "MOL.EVENT.",
                                 "MOLE.EVENT.node-1",
                                 "nsb.orders",
                                 "shop",
                                 "orders_2",
                                 "inbox"}) {
            CAPTURE(glob, name, pattern);
            CHECK(pattern_matches(pattern, name) == (match(policy_with({glob}), name) != nullptr));
        }
    }
    CHECK(matches_patterns(policy, {"celery_delayed_1"}).front() == "^(celery_delayed_1)$");
}

TEST_CASE("queue pattern: without a glob it is that of the names") {
    CHECK(matches_patterns(policy_with({"email", "sms"}), {"email", "sms"}).front() == "^(email|sms)$");
}

TEST_CASE("queue pattern: a glob matches what the glob matches, and nothing of retryd's or the broker's own") {
    const core::Policy policy = policy_with({"web?ook.*", "*"});
    const std::string all = matches_patterns(policy, {"*"}).front();
    for (const char* name : {"email", "email.retry", "email.retry.soon", "retryd.x", "x.retry.5s.y", "retryd.a.b.c"}) {
        CAPTURE(name);
        CHECK(pattern_matches(all, name));
    }
    for (const char* own : {"retryd.errors", "retryd.parked", "email.parked", "email.retry.5s", "email.retry.1h30m",
                            "a.retry.500ms.high", "retryd.standard.5s", "retryd.standard.1m.high", "retryd.detour.2s",
                            "retryd.detour.30s", "retryd.detour.5m", "amq.gen-x", "web.ook.a.parked"}) {
        CAPTURE(own);
        CHECK_FALSE(pattern_matches(all, own));
        const bool taken = std::string{own}.starts_with("amq.") || match(policy, own) == nullptr;
        CHECK(taken);
    }
    const std::string some = matches_patterns(policy, {"web?ook.*", "a+b"}).front();
    CHECK(pattern_matches(some, "webhook.a"));
    CHECK(pattern_matches(some, "web.ook."));
    CHECK(pattern_matches(some, "a+b"));
    CHECK_FALSE(pattern_matches(some, "webook.a"));
    CHECK_FALSE(pattern_matches(some, "webhookxa"));
    CHECK_FALSE(pattern_matches(some, "webhook.a.parked"));
    CHECK_FALSE(pattern_matches(some, "email"));
}

TEST_CASE("queue pattern: queues of held messages are no work queues where their entry may hold") {
    core::Policy policy = policy_with({"email", "team.*", "*"});
    for (std::size_t i = 0; i < 2; ++i)
        policy.entries[i].hold = true;
    const std::string pattern = matches_patterns(policy, {"email", "team.*", "*"}).front();
    CHECK_FALSE(pattern_matches(pattern, "email.held"));
    CHECK_FALSE(pattern_matches(pattern, "team.a.held"));
    CHECK(pattern_matches(pattern, "other.held"));
    CHECK(match(policy, "other.held") != nullptr);
    CHECK(match(policy, "team.a.held") == nullptr);
}

TEST_CASE("queue pattern: says of every name the same as the configuration does") {
    core::Policy policy = policy_with({"email", "team.*"}, "dead.{queue}.letters");
    policy.entries.push_back({.match = "*", .parked = {.queue = "one.for.all"}});
    policy.error_queue = "dead";
    policy.catch_all = "lost";
    const std::string pattern = matches_patterns(policy, {"email", "team.*", "*"}).front();
    for (const char* name : {"email", "dead.email.letters", "dead.team.x.letters", "dead.other.letters", "one.for.all",
                             "one_for_all", "team.a", "a.retry.2m", "a.retry.2m5", "a.retry.30m1h", ".retry.5s",
                             "retryd.shared.5s", "retryd..5s", "dead", "lost", "lost.x", "retryd.errors"}) {
        CAPTURE(name);
        CHECK(pattern_matches(pattern, name) == (match(policy, name) != nullptr));
    }
}

TEST_CASE("patterns: as many as it takes for each to be short enough for RabbitMQ 4.3, and none catches more") {
    std::vector<std::string> names;
    for (int i = 0; i < 200; ++i)
        names.push_back("team.work-queue-" + std::to_string(i));
    std::vector<std::string> all = names;
    all.insert(all.end(), {"hook.*", "*.late"});
    const core::Policy policy = policy_with(all);
    const std::vector<std::string> matches = matches_patterns(policy, all, {"hook.x"});
    const std::vector<std::string> own = own_queues_patterns(policy, {"hook.x.retry.5s"}, {"gone.retry.5s"});
    CHECK(matches.size() > 4);
    CHECK(own.size() > 8);
    const auto caught = [](const std::vector<std::string>& patterns, const std::string& name) {
        return std::count_if(patterns.begin(), patterns.end(),
                             [&](const std::string& each) { return pattern_matches(each, name); });
    };
    for (const auto* patterns : {&matches, &own}) {
        for (const std::string& pattern : *patterns)
            CHECK(pattern.size() <= longest_pattern);
    }
    names.insert(names.end(), {"hook.a", "a.late"});
    for (const std::string& name : names) {
        CAPTURE(name);
        CHECK(caught(matches, name) >= 1);
        CHECK(caught(own, name) == 0);
        CHECK(caught(own, name + ".parked") >= 1);
        CHECK(caught(matches, name + ".parked") == 0);
        CHECK(caught(own, name + ".retry.1h30m") == 1);
        CHECK(caught(matches, name + ".retry.1h30m") == 0);
    }
    for (const char* theirs : {"hook.x", "hook.x.retry.5s", "other", "team.work-queue-1000"}) {
        CAPTURE(theirs);
        CHECK(caught(matches, theirs) == 0);
        CHECK((caught(own, theirs) == 0));
    }
    CHECK(caught(own, "gone.retry.5s") == 1);
    CHECK(caught(own, "retryd.errors") == 1);
}

}  // namespace retryd::admin::patterns_test
