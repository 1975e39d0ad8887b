#include "commands/plan/prune.h"

#include "commands/fake_broker.h"
#include "core/fingerprint.h"
#include "support/catch.h"

namespace retryd::commands::prune_test {
namespace {

using Lines = std::vector<std::string>;
using namespace std::chrono_literals;

core::Policy policy_with(core::ReturnPath path) {
    core::Entry entry;
    entry.match = "email";
    entry.ladder.name = "all";
    entry.ladder.steps = {5s};
    entry.ladder.return_path = path;
    core::Policy policy;
    policy.entries = {entry};
    return policy;
}

const core::Policy policy = policy_with(core::ReturnPath::queue);
const std::string own_tag = core::consumer_tag(policy);

http::ListedQueue rung(const std::string& delay, std::int64_t ttl, std::optional<std::int64_t> messages,
                       const std::string& type = "quorum") {
    return {"email.retry." + delay,
            type,
            messages,
            {{"x-message-ttl", ttl}, {"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "email"}}};
}

http::ListedQueue shared_rung() {
    return {"retryd.all.9s",
            "quorum",
            0,
            {{"x-message-ttl", std::int64_t{9000}}, {"x-dead-letter-exchange", "retryd.return"}}};
}

struct Fixture {
    FakeBroker broker;
    Lines progress;

    Fixture() {
        broker.api.consumer_lists = {{{"retryd.errors", own_tag}}};
        broker.count("check queue retryd.errors", {0, 1});
    }
    PruneResult prune() {
        return commands::prune(broker, policy, [&](const std::string& text) { progress.push_back(text); });
    }
    bool was_asked(const std::string& step) const {
        return std::find(broker.asked.begin(), broker.asked.end(), step) != broker.asked.end();
    }
    bool deleted_any() const {
        return std::any_of(broker.asked.begin(), broker.asked.end(),
                           [](const std::string& step) { return step.starts_with("delete"); });
    }
};

}  // namespace

TEST_CASE("prune: deletes what was counted empty twice, and looks again right before") {
    Fixture f;
    f.broker.api.queue_lists = {{rung("5s", 5000, 0), rung("9s", 9000, 0), {"email", "classic", 0, {}}}};
    const PruneResult result = f.prune();
    CHECK(result.deleted == Lines{"email.retry.9s"});
    CHECK(result.kept.empty());
    CHECK(result.refused.empty());
    CHECK(f.broker.asked == Lines{"queues", "check queue retryd.errors", "consumers", "wait 11000 ms", "queues",
                                  "check queue retryd.errors", "consumers", "check queue email.retry.9s",
                                  "check queue email.retry.9s", "delete queue email.retry.9s"});
    CHECK(f.progress.size() == 1);
}

TEST_CASE("prune: a classic rung is deleted only if the broker finds it idle") {
    Fixture f;
    f.broker.api.queue_lists = {{rung("9s", 9000, 0, "classic")}};
    f.broker.refuse("delete queue email.retry.9s if idle", 406, "not empty");
    const PruneResult result = f.prune();
    CHECK(result.deleted.empty());
    CHECK(result.kept == std::vector<KeptRung>{{"email.retry.9s", "not empty"}});
}

TEST_CASE("prune: without anything that is left over and empty nobody waits") {
    Fixture f;
    f.broker.api.queue_lists = {{rung("5s", 5000, 0), rung("9s", 9000, 12), rung("8s", 8000, 1), rung("7s", 7000, {})}};
    const PruneResult result = f.prune();
    CHECK(result.kept == std::vector<KeptRung>{
                             {"email.retry.7s", "the broker has not counted its messages yet; prune again in a minute"},
                             {"email.retry.8s", "1 message, it drains by itself"},
                             {"email.retry.9s", "12 messages, it drains by itself"}});
    CHECK(f.broker.asked == Lines{"queues"});
    CHECK(f.progress.empty());
}

TEST_CASE("prune: detours are never left over, however empty they are") {
    Fixture f;
    for (const core::Milliseconds delay : core::detour_delays) {
        const core::QueueSpec spec = core::detour_spec(policy, delay, core::features_of({4, 3, 6}));
        f.broker.api.queue_lists.front().push_back({spec.name, "quorum", 0, spec.arguments});
    }
    const PruneResult result = f.prune();
    CHECK(result.kept.empty());
    CHECK(result.deleted.empty());
    CHECK(f.broker.asked == Lines{"queues"});
}

TEST_CASE("prune: what is not empty at the second look stays, and so does what was not at the first") {
    Fixture f;
    f.broker.api.queue_lists = {{rung("7s", 7000, 0), rung("8s", 8000, 3), rung("9s", 9000, 0)},
                                {rung("7s", 7000, 2), rung("8s", 8000, 0), rung("9s", 9000, {})}};
    const PruneResult result = f.prune();
    CHECK(result.deleted.empty());
    CHECK_FALSE(f.deleted_any());
    REQUIRE(result.kept.size() == 3);
    CHECK(result.kept[0] == KeptRung{"email.retry.7s", "2 messages, it drains by itself"});
    CHECK(result.kept[1].queue == "email.retry.9s");
    CHECK(result.kept[2] ==
          KeptRung{"email.retry.8s", "it was not empty, or not counted, a moment ago; prune again in a minute"});
}

TEST_CASE("prune: what AMQP finds in a rung at the last moment keeps it") {
    Fixture f;
    f.broker.api.queue_lists = {{rung("6s", 6000, 0), rung("7s", 7000, 0), rung("8s", 8000, 0), rung("9s", 9000, 0)}};
    f.broker.count("check queue email.retry.6s", {1, 0});
    f.broker.count("check queue email.retry.7s", {0, 1});
    f.broker.miss("check queue email.retry.8s");
    f.broker.refuse("check queue email.retry.9s", 403, "no");
    const PruneResult result = f.prune();
    CHECK(result.deleted.empty());
    CHECK_FALSE(f.deleted_any());
    CHECK(result.kept == std::vector<KeptRung>{{"email.retry.6s", "1 message, it drains by itself"},
                                               {"email.retry.7s", "somebody consumes from it"},
                                               {"email.retry.9s", "no"}});
}

TEST_CASE("prune: a rung that RabbitMQ calls empty because it could not ask it stays") {
    Fixture f;
    f.broker.api.queue_lists = {{rung("9s", 9000, 0)}};
    f.broker.before_answer = [&](const std::string& step) {
        if (step == "check queue email.retry.9s") f.broker.time += 250ms;
    };
    const PruneResult result = f.prune();
    CHECK(result.deleted.empty());
    CHECK_FALSE(f.deleted_any());
    REQUIRE(result.kept.size() == 1);
    CHECK(result.kept.front().why.starts_with("how many messages lie in it is not known: RabbitMQ could not ask"));
}

TEST_CASE("prune: a rung without a leader stays, although it counts as empty each time") {
    Fixture f;
    http::ListedQueue leaderless = rung("9s", 9000, 0);
    leaderless.leaderless = true;
    f.broker.api.queue_lists = {{rung("9s", 9000, 0)}, {leaderless}};
    const PruneResult result = f.prune();
    CHECK_FALSE(f.deleted_any());
    REQUIRE(result.kept.size() == 1);
    CHECK(result.kept.front().why.starts_with("it has no leader now"));
}

TEST_CASE("prune: the exchange of a shared rung goes after its queue, and stays where something is bound to it") {
    Fixture f;
    f.broker.api.queue_lists = {{shared_rung()}};
    CHECK(f.prune().deleted == Lines{"retryd.all.9s"});
    REQUIRE(f.broker.asked.size() >= 2);
    CHECK(f.broker.asked[f.broker.asked.size() - 2] == "delete queue retryd.all.9s");
    CHECK(f.broker.asked.back() == "delete exchange retryd.all.9s");

    Fixture bound;
    bound.broker.api.queue_lists = {{shared_rung()}};
    bound.broker.refuse("delete exchange retryd.all.9s", 406, "in use");
    const PruneResult result = bound.prune();
    CHECK(result.deleted == Lines{"retryd.all.9s"});
    CHECK(result.kept == std::vector<KeptRung>{{"retryd.all.9s", "its exchange stays: in use"}});

    Fixture kept;
    kept.broker.api.queue_lists = {{shared_rung()}};
    kept.broker.refuse("delete queue retryd.all.9s", 403, "no");
    CHECK(kept.prune().deleted.empty());
    CHECK_FALSE(kept.was_asked("delete exchange retryd.all.9s"));
}

TEST_CASE("prune: a daemon with another configuration forbids it, at once or when it comes later") {
    Fixture at_once;
    at_once.broker.api.queue_lists = {{rung("9s", 9000, 0)}};
    at_once.broker.api.consumer_lists = {{{"retryd.errors", "retryd-0123456789abcdef"}}};
    CHECK(at_once.prune().refused.find("consumer 'retryd-0123456789abcdef' of the error queue") != std::string::npos);
    CHECK_FALSE(at_once.was_asked("wait 11000 ms"));
    CHECK_FALSE(at_once.deleted_any());

    Fixture later;
    later.broker.api.queue_lists = {{rung("9s", 9000, 0)}};
    later.broker.api.consumer_lists = {{{"retryd.errors", own_tag}}, {{"retryd.errors", "retryd"}}};
    CHECK_FALSE(later.prune().refused.empty());
    CHECK(later.was_asked("wait 11000 ms"));
    CHECK_FALSE(later.deleted_any());
}

TEST_CASE("prune: a consumer that the management API does not know yet is waited for, but not for ever") {
    Fixture f;
    f.broker.api.queue_lists = {{rung("9s", 9000, 0)}};
    f.broker.api.consumer_lists = {{}, {{"retryd.errors", own_tag}}};
    CHECK(f.prune().deleted == Lines{"email.retry.9s"});
    CHECK(f.was_asked("wait 1000 ms"));

    Fixture never;
    never.broker.api.queue_lists = {{rung("9s", 9000, 0)}};
    never.broker.api.consumer_lists = {{}};
    CHECK(never.prune().refused.find("has 1 consumer, but the management API lists 0") != std::string::npos);
    CHECK(std::count(never.broker.asked.begin(), never.broker.asked.end(), "wait 1000 ms") == 9);
    CHECK_FALSE(never.deleted_any());

    Fixture stranger;
    stranger.broker.api.queue_lists = {{rung("9s", 9000, 0)}};
    stranger.broker.api.consumer_lists = {{}, {{"retryd.errors", "retryd-0123456789abcdef"}}};
    CHECK(stranger.prune().refused.find("consumer 'retryd-0123456789abcdef'") != std::string::npos);
    CHECK_FALSE(stranger.deleted_any());
}

TEST_CASE("prune: nothing is deleted while the management API or the broker would not say") {
    Fixture silent;
    silent.broker.api.fault = "no answer";
    CHECK(silent.prune().refused == "nothing more is pruned: no answer");

    Fixture refused;
    refused.broker.api.queue_lists = {{rung("9s", 9000, 0)}};
    refused.broker.refuse("check queue retryd.errors", 403, "no");
    CHECK(refused.prune().refused == "nothing is pruned: no");
    CHECK_FALSE(refused.deleted_any());
}

TEST_CASE("prune: only daemons with this configuration may consume") {
    CHECK_FALSE(why_not_prune(policy, {}, 0));
    CHECK_FALSE(why_not_prune(policy, {{"retryd.errors", own_tag}, {"retryd.errors", own_tag}}, 2));
    CHECK_FALSE(why_not_prune(policy, {{"email", "ctag1.1"}}, 0));
    CHECK(why_not_prune(policy, {{"retryd.errors", own_tag}, {"retryd.errors", "ctag1.1"}}, 2));
    CHECK_FALSE(why_not_prune(policy, {{"retryd.errors", own_tag}, {"retryd.errors", own_tag + "-2"}}, 2));
    CHECK(why_not_prune(policy, {{"retryd.errors", own_tag}, {"retryd.errors", own_tag + "2"}}, 2));
    CHECK(why_not_prune(policy, {{"retryd.errors", "retryd"}}, 1));
}

TEST_CASE("prune: another retryd in the vhost forbids it, since the rungs may be its") {
    for (const std::string& tag : {std::string{"retryd"}, std::string{"retryd-0123456789abcdef"}, own_tag}) {
        CAPTURE(tag);
        const auto why = why_not_prune(policy, {{"team-b.errors", tag}}, 0);
        REQUIRE(why);
        CHECK(why->find("another retryd (consumer '" + tag + "' of queue 'team-b.errors')") != std::string::npos);
    }
}

TEST_CASE("prune: consumers that the management API does not know forbid it") {
    const auto why = why_not_prune(policy, {{"retryd.errors", own_tag}}, 2);
    REQUIRE(why);
    CHECK(why->find("has 2 consumers, but the management API lists 1") != std::string::npos);
    CHECK(why_not_prune(policy, {{"retryd.errors", own_tag}}, 0));
}

}  // namespace retryd::commands::prune_test
