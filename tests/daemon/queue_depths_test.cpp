// The queues that retryd looks after; and what the status page makes of them.
#include "daemon/queue_depths.h"

#include "core/names.h"
#include "daemon/status.h"
#include "support/catch.h"

namespace retryd::daemon::queue_depths_test {
namespace {

using core::Milliseconds;
using QueueRole = telemetry::Depth::QueueRole;

const core::BrokerFeatures features = core::features_of({4, 3, 6});

core::Ladder ladder(const std::string& name, std::vector<Milliseconds> steps,
                    core::ReturnPath path = core::ReturnPath::queue) {
    core::Ladder made;
    made.name = name;
    made.steps = std::move(steps);
    made.return_path = path;
    return made;
}

/// `email` by name, `web.*` on rungs of their own, the rest on a shared ladder.
core::Policy policy() {
    core::Policy policy;
    const core::Parking parked{"{queue}.parked", "", {}};
    policy.entries = {{"email", ladder("standard", {Milliseconds{5'000}, Milliseconds{30'000}}), parked},
                      {"web.*", ladder("web", {Milliseconds{1'000}}), parked},
                      {"*", ladder("shared", {Milliseconds{60'000}}, core::ReturnPath::headers), parked}};
    return policy;
}

telemetry::QueueCounts counted(const std::string& work_queue, const std::string& target, relay::TargetRole role,
                               int delay_ms) {
    return {work_queue, {{relay::Outcome::retried, "rejected", role, target, Milliseconds{delay_ms}, 1}}};
}

core::Arguments rung_arguments(const std::string& work_queue, int delay_ms) {
    return {{"x-message-ttl", std::int64_t{delay_ms}},
            {"x-dead-letter-exchange", std::string{}},
            {"x-dead-letter-routing-key", work_queue}};
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("inventory: what the configuration names, before any message") {
    const Inventory found = take_inventory(policy(), features, {});
    const std::map<std::string, CountedQueue> expected{
        {"retryd.errors", {QueueRole::errors, {}, "", false}},
        {"retryd.parked", {QueueRole::parked, {}, "", false}},
        {"retryd.detour.2s", {QueueRole::detour, Milliseconds{2'000}, "", false}},
        {"retryd.detour.30s", {QueueRole::detour, Milliseconds{30'000}, "", false}},
        {"retryd.detour.5m", {QueueRole::detour, Milliseconds{300'000}, "", false}},
        {"email.parked", {QueueRole::parked, {}, "", false}},
        {"email.retry.5s", {QueueRole::rung, Milliseconds{5'000}, "email", false}},
        {"email.retry.30s", {QueueRole::rung, Milliseconds{30'000}, "email", false}},
        {"retryd.shared.1m", {QueueRole::rung, Milliseconds{60'000}, "shared", true}},
    };
    CHECK(found.queues == expected);
    CHECK(found.work_queues == Names{"email"});
}

TEST_CASE("inventory: queues that were made for a glob are met with their messages") {
    QueueSources from;
    from.counted = {counted("web.a", "web.a.retry.1s", relay::TargetRole::rung, 1'000),
                    counted("web.a", "web.a.parked", relay::TargetRole::parking, 0),
                    counted("fax", "retryd.shared.1m.high", relay::TargetRole::rung, 60'000),
                    counted("sms", "team.dlx", relay::TargetRole::parking_exchange, 0),
                    counted(std::string{telemetry::other_queues}, "", relay::TargetRole::rung, 1'000),
                    counted(std::string{telemetry::no_queue}, "retryd.parked", relay::TargetRole::parking, 0)};
    const Inventory found = take_inventory(policy(), features, from);
    CHECK(found.queues.at("web.a.retry.1s") == CountedQueue{QueueRole::rung, Milliseconds{1'000}, "web.a", false});
    CHECK(found.queues.at("web.a.parked").role == QueueRole::parked);
    CHECK(found.queues.at("retryd.shared.1m.high") ==
          CountedQueue{QueueRole::rung, Milliseconds{60'000}, "shared", true});
    CHECK(found.queues.count("team.dlx") == 0);
    CHECK(found.work_queues == Names{"email", "fax", "sms", "web.a"});
}

TEST_CASE("inventory: queues of an earlier run are listed, and nobody else's are taken for them") {
    QueueSources from;
    from.listed = {{"web.b", {}},
                   {"web.b.retry.1s", rung_arguments("web.b", 1'000)},
                   {"web.b.retry.9s", rung_arguments("web.b", 9'000)},  // of a former ladder
                   {"web.c.retry.1s", rung_arguments("elsewhere", 1'000)},
                   {"web.d", {}},
                   {"web.d.parked", {}},
                   {"lonely.parked", {}}};
    const Inventory found = take_inventory(policy(), features, from);
    CHECK(found.queues.at("web.b.retry.1s").serves == "web.b");
    CHECK(found.queues.at("web.b.retry.9s").delay == Milliseconds{9'000});
    CHECK(found.queues.at("web.d.parked").role == QueueRole::parked);
    CHECK(found.queues.count("web.c.retry.1s") == 0);
    CHECK(found.queues.count("web.d") == 0);
    CHECK(found.queues.count("lonely.parked") == 0);
    CHECK(found.work_queues == Names{"email", "web.b", "web.d"});
}

TEST_CASE("inventory: is bounded, and has what the configuration names first") {
    QueueSources from;
    for (int n = 0; n < 6'000; ++n) {
        const std::string name = "web." + std::to_string(n);
        from.listed.push_back({name + ".retry.1s", rung_arguments(name, 1'000)});
    }
    const Inventory found = take_inventory(policy(), features, from);
    CHECK(found.queues.size() == most_counted_queues);
    CHECK(found.queues.count("email.retry.30s") == 1);
}

TEST_CASE("held: what is on its way counts as nothing, as far as two seconds' messages go") {
    const auto listed = [](const std::string& name, std::optional<std::int64_t> held, double published) {
        http::ListedQueue queue{name, "quorum", {}, {}};
        queue.held = held;
        queue.published_rate = published;
        return queue;
    };
    CHECK(held_in({listed("email.retry.5s", 20, 10), listed("sms.retry.5s", 21, 10), listed("web.retry.1s", 3, 0),
                   listed("retryd.detour.2s", 500, 250), listed("new.retry.1s", std::nullopt, 0),
                   listed("email", 7, 0)}) ==
          std::map<std::string, std::uint64_t>{
              {"email.retry.5s", 0}, {"retryd.detour.2s", 0}, {"sms.retry.5s", 21}, {"web.retry.1s", 3}});
}

TEST_CASE("status: each work queue with its rungs and its parking queue, as far as they are counted") {
    config::Settings settings;
    settings.policy = policy();
    StatusSources sources{{}, settings, {}, {}, {}};
    QueueSources from;
    from.listed = {{"email.retry.9s", rung_arguments("email", 9'000)}};
    from.counted = {counted("fax", "retryd.shared.1m", relay::TargetRole::rung, 60'000)};
    from.counted[0].counts.push_back(
        {relay::Outcome::detoured, "detoured", relay::TargetRole::detour, "retryd.detour.2s", Milliseconds{2'000}, 5});
    sources.counts.queues = from.counted;
    sources.counts.oldest_unsettled = Milliseconds{61'000};
    sources.seen.inventory = take_inventory(policy(), features, from);
    sources.seen.messages = {
        {"retryd.errors", 1}, {"email.retry.5s", 12}, {"email.retry.9s", 3}, {"retryd.detour.30s", 7}};
    sources.state.version = {4, 3, 6};
    const telemetry::Status status = status_of(sources);
    CHECK(status.errors.messages == telemetry::Messages{1});
    CHECK_FALSE(status.catch_all.messages.has_value());
    REQUIRE(status.queues.size() == 2);
    const telemetry::QueueStatus& email = status.queues[0];
    CHECK(email.work_queue == "email");
    REQUIRE(email.rungs.size() == 3);
    CHECK(email.rungs[0].messages == telemetry::Messages{12});
    CHECK(email.rungs[1].queue == "email.retry.9s");
    CHECK_FALSE(email.rungs[2].messages.has_value());
    CHECK(email.parked->queue == "email.parked");
    const telemetry::QueueStatus& fax = status.queues[1];
    CHECK(fax.shared);
    CHECK(fax.rungs.empty());
    CHECK(fax.totals->retried == 1);
    REQUIRE(status.ladders.size() == 1);
    CHECK(status.ladders[0].name == "shared");
    CHECK(status.ladders[0].rungs.size() == 1);
    REQUIRE(status.detours.size() == 3);
    CHECK(status.detours[0] == telemetry::RungStatus{"retryd.detour.2s", Milliseconds{2'000}, {}});
    CHECK(status.detours[1].messages == telemetry::Messages{7});
    CHECK(status.oldest_unsettled == Milliseconds{61'000});
    CHECK(depths_of(sources.seen).size() == 4);
    CHECK_FALSE(status.ready);
}

TEST_CASE("status: a thousand queues are shown, the rest is a number") {
    config::Settings settings;
    settings.policy = policy();
    StatusSources sources{{}, settings, {}, {}, {}};
    for (int n = 0; n < 1'200; ++n)
        sources.counts.queues.push_back({"web." + std::to_string(n), {}});
    const telemetry::Status status = status_of(sources);
    CHECK(status.queues.size() == 1'000);
    CHECK(status.queues_left_out == 201);
}

namespace {

/// A work queue of the ladder 5s, 30s in which messages fail; `home` came back from the first rung, `again` of them
/// were put on the second one.
telemetry::FailureHistory::Queue failing_queue(std::uint64_t home, std::uint64_t again) {
    return {"email",
            12,
            {4, 12},
            0,
            {{Milliseconds{5'000}, 12, home, Milliseconds{3'000}, true},
             {Milliseconds{30'000}, again, again, Milliseconds{20'000}, true}}};
}

telemetry::FailingStatus failing_status(const telemetry::FailureHistory::Queue& queue,
                                        const std::optional<WorkQueueDepth>& asked = {},
                                        std::map<std::string, std::uint64_t> depths = {}) {
    config::Settings settings;
    settings.policy = policy();
    StatusSources sources{{}, settings, {}, {}, {}};
    sources.lately.failing = {queue};
    sources.seen.messages = std::move(depths);
    if (asked) sources.seen.work_queues["email"] = *asked;
    const telemetry::Status status = status_of(sources);
    REQUIRE(status.failing.size() == 1);
    return status.failing[0];
}

using State = telemetry::FailingStatus::State;

}  // namespace

TEST_CASE("status: a work queue fails wholly when what comes back fails again, and nothing is acked") {
    CHECK(failing_status(failing_queue(40, 40)).state == State::wholly);
    CHECK(failing_status(failing_queue(40, 36)).state == State::wholly);
    CHECK(failing_status(failing_queue(40, 35)).state == State::partly);
    CHECK(failing_status(failing_queue(2, 2)).state == State::unknown);
    CHECK(failing_status(failing_queue(0, 0)).state == State::unknown);
    // What the management API counts is surer.
    CHECK(failing_status(failing_queue(40, 40), WorkQueueDepth{1, 1, 5}).state == State::partly);
    CHECK(failing_status(failing_queue(2, 2), WorkQueueDepth{1, 1, 0}).state == State::wholly);
    const telemetry::FailingStatus told = failing_status(failing_queue(40, 41), WorkQueueDepth{7, 2, {}});
    CHECK(told.came_back == 40U);
    CHECK(told.failed_again == 40U);
    CHECK(told.messages == 7U);
    CHECK(told.consumers == 2U);
    CHECK(told.failures == 12);
    CHECK(told.minutes == std::vector<std::uint64_t>{4, 12});
}

TEST_CASE("status: when the next retry goes home, as far as it is known") {
    auto queue = failing_queue(1, 1);
    CHECK(failing_status(queue).next_due == Milliseconds{3'000});
    CHECK_FALSE(failing_status(queue).due_at_most);
    // Somebody has sent them home early.
    CHECK(failing_status(queue, {}, {{"email.retry.5s", 0}}).next_due == Milliseconds{20'000});
    // They are there, and nobody knows since when.
    queue.rungs.clear();
    CHECK_FALSE(failing_status(queue).next_due);
    const telemetry::FailingStatus told = failing_status(queue, {}, {{"email.retry.30s", 4}});
    CHECK(told.next_due == Milliseconds{30'000});
    CHECK(told.due_at_most);
}

TEST_CASE("status: those that fail wholly come first, and of many the worst are told") {
    config::Settings settings;
    settings.policy = policy();
    StatusSources sources{{}, settings, {}, {}, {}};
    for (std::uint64_t n = 0; n < 25; ++n)
        sources.lately.failing.push_back({"web." + std::to_string(n), 100 - n, {}, 0, {}});
    sources.lately.failing.push_back(failing_queue(40, 40));
    const telemetry::Status status = status_of(sources);
    REQUIRE(status.failing.size() == telemetry::most_failing_shown);
    CHECK(status.failing[0].work_queue == "email");
    CHECK(status.failing[1].work_queue == "web.0");
    CHECK(status.failing_left_out == 6);
}

TEST_CASE("status: which broker and vhost is told before the first connection, too") {
    config::Settings settings;
    settings.broker.endpoints = {{"one", 5672, false, "shop", "u", "p"}};
    StatusSources sources{{}, settings, {}, {}, {}};
    CHECK(status_of(sources).broker.address == "one:5672");
    CHECK(status_of(sources).broker.vhost == "shop");
    sources.state.endpoint = config::Endpoint{.host = "two"};
    sources.state.version = {4, 3, 6};
    sources.state.version_of = {.host = "one", .vhost = "shop"};
    CHECK(status_of(sources).broker.version == "4.3.6");  // one of the nodes that are configured
    sources.state.version_of.vhost = "former";
    CHECK(status_of(sources).broker.version.empty());
    CHECK(status_of(sources).broker.address == "two:5672");
    CHECK(status_of(sources).broker.vhost == "/");
}

}  // namespace retryd::daemon::queue_depths_test
