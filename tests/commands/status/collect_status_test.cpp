#include "commands/status/collect_status.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "commands/fake_broker.h"
#include "commands/small_policy.h"
#include "commands/status/print_status.h"
#include "support/catch.h"

namespace retryd::commands::collect_status_test {
namespace {

using Lines = std::vector<std::string>;
using namespace std::chrono_literals;

const core::Ladder own{.name = "own", .steps = {5s, 1min}};
const core::Ladder shared{.name = "all", .steps = {5s, 1min}, .return_path = core::ReturnPath::headers};
const core::Entry email = entry_of("email", own);
const core::Entry web = entry_of("web.*", own);
const core::Entry all = entry_of("*", shared);
const DaemonAnswer no_daemon = std::string{"no daemon"};

/// `queue=messages` of everything that was counted, in its order.
Lines depths_of(const StatusReport& status) {
    Lines lines;
    const auto add = [&](const std::string& queue, const telemetry::Messages& messages) {
        lines.push_back(queue + '=' + (messages ? std::to_string(*messages) : "?"));
    };
    for (const telemetry::QueueStatus& queue : status.queues) {
        for (const telemetry::RungStatus& rung : queue.rungs)
            add(rung.queue, rung.messages);
        if (queue.parked) add(queue.parked->queue, queue.parked->messages);
    }
    for (const telemetry::LadderStatus& ladder : status.ladders)
        for (const telemetry::RungStatus& rung : ladder.rungs)
            add(rung.queue, rung.messages);
    return lines;
}

DaemonAnswer naming(const std::map<std::string, telemetry::QueueTotals>& queues) {
    telemetry::Status status;
    for (const auto& [name, totals] : queues) {
        status.queues.emplace_back().work_queue = name;
        status.queues.back().totals = totals;
    }
    return status;
}

http::ListedQueue listed(const std::string& name) {
    return {name, "quorum", {}, {}};
}

std::string text_of(const StatusReport& status) {
    std::ostringstream out;
    print_status(status, false, out);
    return out.str();
}

}  // namespace

TEST_CASE("status: counts the rungs and the parking queue of each exact entry, and what is not there is not zero") {
    FakeBroker broker;
    broker.has_management = false;
    broker.count("check queue errors", {4, 1});
    broker.count("check queue email.retry.5s", {12, 0});
    broker.miss("check queue email.retry.1m");
    broker.count("check queue email.parked", {2, 0});
    const StatusReport status = collect_status(broker, policy_of({email}), no_daemon);
    CHECK(status.errors.messages == 4);
    CHECK(depths_of(status) == Lines{"email.retry.5s=12", "email.retry.1m=?", "email.parked=2"});
    CHECK(broker.asked == Lines{"check queue errors", "check queue rest", "check queue retryd.detour.2s",
                                "check queue retryd.detour.30s", "check queue retryd.detour.5m",
                                "check queue email.retry.5s", "check queue email.retry.1m",
                                "check queue email.parked"});
    REQUIRE(status.detours.size() == 3);
    CHECK(status.detours[1] == telemetry::RungStatus{"retryd.detour.30s", 30s, 0});
    CHECK(status.not_seen == Lines{"in flight, rates, totals and faults: no daemon"});
}

TEST_CASE("status: a daemon that does not answer is told of where one is configured") {
    FakeBroker broker;
    CHECK(collect_status(broker, {}, std::string{"it is down"}, true).no_daemon == "it is down");
    CHECK(collect_status(broker, {}, std::string{"not configured"}, false).no_daemon.empty());
}

TEST_CASE("status: of an error queue that nobody consumes although the daemon runs, no number is known") {
    FakeBroker broker;
    broker.has_management = false;
    const telemetry::Status daemon;
    broker.count("check queue errors", {0, 0});
    const StatusReport leaderless = collect_status(broker, policy_of({email}), daemon);
    CHECK_FALSE(leaderless.errors.messages);
    CHECK(text_of(leaderless).find("\nError queue errors: not known. The broker names no consumer of it") !=
          std::string::npos);
    std::ostringstream json;
    print_status_json(leaderless, true, json);
    CHECK(nlohmann::json::parse(json.str())["errors"] ==
          nlohmann::json{{"queue", "errors"}, {"messages", nullptr}, {"unknown", true}});
    CHECK(collect_status(broker, policy_of({email}), no_daemon).errors.messages == 0U);
    broker.count("check queue errors", {0, 1});
    CHECK(collect_status(broker, policy_of({email}), daemon).errors.messages == 0U);
    broker.count("check queue errors", {3, 0});
    CHECK(collect_status(broker, policy_of({email}), daemon).errors.messages == 3U);
    broker.miss("check queue errors");
    CHECK(text_of(collect_status(broker, policy_of({email}), daemon)).find("errors: not there") != std::string::npos);
}

TEST_CASE("status: of queues without a leader no number is known, which is not that they are not there") {
    FakeBroker broker;
    core::Entry holding = email;
    holding.hold = true;
    std::vector<http::ListedQueue> queues;
    for (const char* const name :
         {"errors", "rest", "retryd.detour.30s", "email.retry.5s", "email.parked", "email.held", "classic"}) {
        queues.push_back(listed(name));
        queues.back().leaderless = true;
    }
    broker.api.queue_lists = {queues};
    broker.miss("check queue email.retry.1m");
    const StatusReport status = collect_status(broker, policy_of({holding}), no_daemon);
    const std::string text = text_of(status);
    CHECK(text.find(
              "\nError queue errors: not known\nCatch-all rest: not known\nDetour retryd.detour.30s: not known\n") !=
          std::string::npos);
    CHECK(text.find("\nHeld of email, in email.held: not known\n") != std::string::npos);
    CHECK(text.find("\n  email       not known   -  not known  not known\n") != std::string::npos);
    CHECK(text.find("\nNot seen: how many messages some queues have, for they have no leader now: errors, rest, "
                    "retryd.detour.30s, email.retry.5s, email.parked, email.held. Start the nodes that are away") !=
          std::string::npos);
    std::ostringstream out;
    print_status_json(status, true, out);
    auto json = nlohmann::json::parse(out.str());
    CHECK(json["errors"]["unknown"] == true);
    CHECK(json["catch_all"] == nlohmann::json{{"queue", "rest"}, {"messages", nullptr}, {"unknown", true}});
    CHECK(json["queues"][0]["rungs"][0]["unknown"] == true);
    CHECK_FALSE(json["queues"][0]["rungs"][1].contains("unknown"));
    CHECK(json["queues"][0]["rungs"][1]["messages"].is_null());
    CHECK(json["queues"][0]["parked"]["unknown"] == true);
    CHECK(json["outages"][0]["unknown"] == true);
    broker.count("check queue rest", {2, 0});
    CHECK(collect_status(broker, policy_of({holding}), no_daemon).catch_all.messages == 2U);
    broker.miss("check queue email.parked");  // a classic one whose node is away
    CHECK(collect_status(broker, policy_of({holding}), no_daemon).queues[0].parked->unknown);
}

TEST_CASE("status: an error queue that looks unused, and nobody to tell whether it has a leader") {
    FakeBroker broker;
    broker.has_management = false;
    CHECK(collect_status(broker, {}, no_daemon).not_seen.back().starts_with("whether there are no messages in "));
    broker.has_management = true;
    CHECK(collect_status(broker, {}, no_daemon).not_seen == Lines{"in flight, rates, totals and faults: no daemon"});
}

TEST_CASE("status: counts what is held, whether the daemon tells of it or not") {
    FakeBroker broker;
    broker.has_management = false;
    core::Entry holding = email;
    holding.hold = true;
    broker.count("check queue email.held", {7, 0});
    const StatusReport alone = collect_status(broker, policy_of({holding}), no_daemon);
    REQUIRE(alone.outages.size() == 1);
    CHECK(alone.outages[0].queue == "email.held");
    CHECK(alone.outages[0].messages == 7U);
    telemetry::Status daemon;
    daemon.outages = {{"email", "email.held", 1, 5, {}, "holding: 5 messages", true}, {"gone", "gone.held", 2}};
    const StatusReport told = collect_status(broker, policy_of({holding}), daemon);
    REQUIRE(told.outages.size() == 2);
    CHECK(told.outages[0].text == "holding: 5 messages");
    CHECK(told.outages[0].messages == 7U);
    CHECK(collect_status(broker, policy_of({email}), no_daemon).outages.empty());
}

TEST_CASE("status: dead letters on their way are not held, unless their work queue is gone") {
    FakeBroker broker;
    http::ListedQueue rung{
        "email.retry.5s",
        "quorum",
        9,
        {{"x-message-ttl", std::int64_t{5000}}, {"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "email"}},
        9};
    rung.published_rate = 5.0;
    broker.api.queue_lists = {{rung, listed("email")}};
    CHECK(collect_status(broker, policy_of({email}), no_daemon).held.empty());
    broker.api.queue_lists = {{rung}};
    CHECK(collect_status(broker, policy_of({email}), no_daemon).held.size() == 1);
    rung.held = 11;
    broker.api.queue_lists = {{rung, listed("email")}};
    CHECK(collect_status(broker, policy_of({email}), no_daemon).held.size() == 1);
}

TEST_CASE("status: what RabbitMQ could not ask in time is not 0, and it is asked a few times") {
    FakeBroker broker;
    broker.has_management = false;
    broker.before_answer = [&](const std::string& step) {
        if (step == "check queue email.retry.5s") broker.time += 250ms;
    };
    const StatusReport status = collect_status(broker, policy_of({email}), no_daemon);
    CHECK(depths_of(status) == Lines{"email.retry.5s=?", "email.retry.1m=0", "email.parked=0"});
    CHECK(status.queues.front().rungs.front().unknown);
    CHECK(std::count(broker.asked.begin(), broker.asked.end(), "check queue email.retry.5s") == 4);
    CHECK(
        std::count(status.not_seen.begin(), status.not_seen.end(),
                   "how many messages some queues have, for RabbitMQ could not ask them in time: email.retry.5s. It is "
                   "too busy, or they have no leader (rabbitmq-queues quorum_status NAME)") == 1);
}

TEST_CASE("status: where many queues cannot be asked it is not held up by each of them") {
    FakeBroker broker;
    broker.has_management = false;
    broker.before_answer = [&](const std::string&) { broker.time += 250ms; };
    const StatusReport status = collect_status(broker, policy_of({email, entry_of("b", own), entry_of("c", own)}), {});
    CHECK(depths_of(status).size() == 9);
    const auto times = [&](const std::string& queue) {
        return std::count(broker.asked.begin(), broker.asked.end(), "check queue " + queue);
    };
    CHECK(times("errors") == 4);
    CHECK(times("email.retry.1m") == 1);
    CHECK(times("c.parked") == 1);
}

TEST_CASE("status: the rung for high priorities counts as the same rung, where there is one") {
    struct OldBroker : FakeBroker {
        BrokerIdentity identity() const override { return {"rabbit", 5672, false, "shop", {4, 1, 0}}; }
    } broker;
    broker.count("check queue email.retry.5s", {1, 0});
    broker.count("check queue email.retry.5s.high", {2, 0});
    broker.miss("check queue email.retry.1m.high");
    const StatusReport status = collect_status(broker, policy_of({email}), no_daemon);
    CHECK(depths_of(status) == Lines{"email.retry.5s=3", "email.retry.1m=0", "email.parked=0"});
}

TEST_CASE("status: queues of a glob are those that the management API knows to have waited or parked") {
    FakeBroker broker;
    broker.api.queue_lists = {{listed("web.a"), listed("web.a.retry.1m"), listed("web.b"), listed("web.b.parked"),
                               listed("web.c"), listed("other"), listed("other.parked")}};
    const StatusReport status = collect_status(broker, policy_of({email, web}), no_daemon);
    Lines names;
    for (const telemetry::QueueStatus& queue : status.queues)
        names.push_back(queue.work_queue);
    CHECK(names == Lines{"email", "web.a", "web.b"});
}

TEST_CASE("status: queues of a glob are those that the daemon names, too, with their totals") {
    FakeBroker broker;
    broker.has_management = false;
    const StatusReport status =
        collect_status(broker, policy_of({web}), naming({{"web.a", {7, 1, 0}}, {"other", {}}, {"web.a.retry.5s", {}}}));
    REQUIRE(status.queues.size() == 1);
    CHECK(status.queues[0].work_queue == "web.a");
    CHECK(status.queues[0].totals == telemetry::QueueTotals{7, 1, 0});
    CHECK(status.not_seen == Lines{"work queues of globs that the daemon does not name: Set management.url"});
}

TEST_CASE("status: which queues of globs there are nobody tells: said, with what it takes") {
    FakeBroker broker;
    broker.has_management = false;
    const core::Policy policy = policy_of({web});
    CHECK(collect_status(broker, policy, no_daemon).not_seen.back() ==
          "the work queues of globs: AMQP lists no queues. Set management.url, or have the daemon answer at "
          "http.listen: it names those that it knows");
    broker.has_management = true;
    broker.api.fault = "it refuses us";
    CHECK(collect_status(broker, policy, no_daemon).not_seen.back().find("it refuses us") != std::string::npos);
}

TEST_CASE("status: a shared ladder's rungs are counted once, and none for its queues") {
    FakeBroker broker;
    broker.api.queue_lists = {{listed("a"), listed("a.parked"), listed("b"), listed("b.parked")}};
    broker.count("check queue retryd.all.5s", {9, 0});
    const StatusReport status = collect_status(broker, policy_of({all}), no_daemon);
    CHECK(depths_of(status) == Lines{"a.parked=0", "b.parked=0", "retryd.all.5s=9", "retryd.all.1m=0"});
    CHECK(status.queues[0].shared);
}

TEST_CASE("status: the busiest queue comes first, by what waits and what is parked") {
    FakeBroker broker;
    broker.has_management = false;
    core::Entry other = email;
    other.match = "sms";
    broker.count("check queue email.retry.5s", {3, 0});
    broker.count("check queue sms.parked", {4, 0});
    CHECK(collect_status(broker, policy_of({email, other}), no_daemon).queues[0].work_queue == "sms");
}

TEST_CASE("status: who parks to an exchange has no queue to count, and what is refused is said once") {
    FakeBroker broker;
    broker.has_management = false;
    core::Entry elsewhere = email;
    elsewhere.parked = {"", "graves", {}};
    broker.refuse("check queue email.retry.5s", 405, "locked by another");
    broker.refuse("check queue email.retry.1m", 405, "locked as well");
    const StatusReport status = collect_status(broker, policy_of({elsewhere}), no_daemon);
    CHECK(depths_of(status) == Lines{"email.retry.5s=?", "email.retry.1m=?"});
    CHECK(status.not_seen.back() ==
          "how many messages some queues have; the broker's first refusal: locked by another");
    CHECK(status.queues[0].rungs[0].unknown);
}

}  // namespace retryd::commands::collect_status_test
