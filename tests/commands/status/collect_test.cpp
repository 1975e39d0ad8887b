#include "commands/status/collect.h"

#include "commands/fake_broker.h"
#include "support/catch.h"

namespace retryd::commands::collect_status_test {
namespace {

using Lines = std::vector<std::string>;
using namespace std::chrono_literals;

core::Entry entry_of(const std::string& match, const std::string& ladder, core::ReturnPath path) {
    core::Entry entry;
    entry.match = match;
    entry.ladder.name = ladder;
    entry.ladder.steps = {5s, 1min};
    entry.ladder.return_path = path;
    entry.parked.queue = "{queue}.parked";
    return entry;
}

core::Policy policy_of(std::vector<core::Entry> entries) {
    core::Policy policy;
    policy.error_queue = "errors";
    policy.catch_all = "rest";
    policy.entries = std::move(entries);
    return policy;
}

const core::Entry email = entry_of("email", "own", core::ReturnPath::queue);
const core::Entry web = entry_of("web.*", "own", core::ReturnPath::queue);
const core::Entry all = entry_of("*", "all", core::ReturnPath::headers);
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
    CHECK(broker.asked == Lines{"check queue errors", "check queue rest", "check queue email.retry.5s",
                                "check queue email.retry.1m", "check queue email.parked"});
    CHECK(status.not_seen == Lines{"in flight, rates, totals and faults: no daemon"});
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
}

TEST_CASE("status: what answers and is no retryd is told") {
    for (const char* odd : {"", "404", "[]", "<html>", "{\"status\": \"ok\"}"}) {
        CAPTURE(odd);
        const DaemonAnswer answer = read_daemon_answer(odd);
        REQUIRE(std::holds_alternative<std::string>(answer));
        CHECK(std::get<std::string>(answer).find("http.listen") != std::string::npos);
    }
    CHECK(std::holds_alternative<telemetry::Status>(read_daemon_answer(R"({"version": "0.1.0", "queues": []})")));
}

}  // namespace retryd::commands::collect_status_test
