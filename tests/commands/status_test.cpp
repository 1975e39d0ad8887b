#include "commands/status.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "commands/fake_broker.h"
#include "support/catch.h"

namespace retryd::commands::status_test {
namespace {

using Lines = std::vector<std::string>;
using namespace std::chrono_literals;

StatusReport quiet_status() {
    StatusReport status;
    status.broker = {"rabbit", 5671, true, "shop", {4, 3, 6}};
    status.errors = {"errors", 0};
    status.catch_all = {"rest", {}};
    return status;
}

StatusReport busy_status() {
    StatusReport status = quiet_status();
    status.errors.messages = 1;
    const auto rungs = [](const std::string& name, std::uint64_t first, telemetry::Messages second) {
        return std::vector<telemetry::RungStatus>{{name + ".retry.5s", 5s, first}, {name + ".retry.1m", 60s, second}};
    };
    using telemetry::QueueDepth;
    status.queues = {
        {"web.a", "own", false, rungs("web.a", 140, 96), QueueDepth{"web.a.parked", 17},
         telemetry::QueueTotals{1000, 17, 3}},
        {"bell\x1b[31m", "own", false, rungs("bell", 2, {}), {}, {}},
        {"sharing", "all", true, {}, QueueDepth{"sharing.parked", 5}, {}},
    };
    status.ladders = {{"all", {{"retryd.all.15m", 900s, 33}}}};
    return status;
}

telemetry::Status daemon_status() {
    telemetry::Status status;
    status.ready = true;
    status.in_flight = 37;
    status.rates = {100s, {1302}, {10}, {}};
    status.faults = {{{}, "the exchange 'graves' is missing"}};
    return status;
}

std::string text_of(const StatusReport& status, bool colour = false) {
    std::ostringstream out;
    print_status(status, colour, out);
    return out.str();
}

}  // namespace

// ── How it is printed ──────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("status: in words, a table for each ladder, and no control character of a name gets through") {
    StatusReport status = busy_status();
    status.not_seen = {"in flight: no daemon"};
    CHECK(text_of(status) == R"(RabbitMQ 4.3.6 at rabbit:5671, vhost shop
Error queue errors: 1 message
Catch-all rest: not there

Ladder all, shared by its work queues
  work queue      15m  waiting  parked
  (all together)   33       33
  sharing                            5

Ladder own
  work queue     5s  1m  waiting     parked
  web.a         140  96      236         17
  bell\x1b[31m    2   -        2  elsewhere

Not seen: in flight: no daemon
)");
}

TEST_CASE("status: what the daemon tells stands above, and its totals beside the queues") {
    StatusReport status = busy_status();
    status.queues.resize(1);
    status.ladders.clear();
    status.daemon = daemon_status();
    CHECK(text_of(status) == R"(RabbitMQ 4.3.6 at rabbit:5671, vhost shop
Daemon: ready, 37 in flight; over the last minute 13.0/s retried, 0.1/s parked, 0.0/s dropped
Fault: the exchange 'graves' is missing
Error queue errors: 1 message
Catch-all rest: not there

Ladder own
  work queue   5s  1m  waiting  parked  retried  dropped
  web.a       140  96      236      17     1000        3

Retried, dropped: since the daemon started.
)");
    status.daemon->ready = false;
    status.daemon->reason = "the broker takes no messages";
    CHECK(text_of(status).find("\nDaemon: not ready: the broker takes no messages, 37 in flight;") !=
          std::string::npos);
}

TEST_CASE("status: detours are named while something waits there, and what is not settled for a minute") {
    StatusReport status = quiet_status();
    status.detours = {{"retryd.detour.2s", 2s, 0}, {"retryd.detour.30s", 30s, 7}, {"retryd.detour.5m", 300s, {}}};
    status.daemon = daemon_status();
    status.daemon->oldest_unsettled = 60s;
    CHECK(text_of(status).find("Detour retryd.detour.30s: 7 messages\n") != std::string::npos);
    CHECK(text_of(status).find("retryd.detour.2s") == std::string::npos);
    CHECK(text_of(status).find("retryd.detour.5m") == std::string::npos);
    CHECK(text_of(status).find("not settled") == std::string::npos);
    status.daemon->oldest_unsettled = 125'700ms;
    CHECK(text_of(status).find("\nOldest message that is not settled: 2m5s\n") != std::string::npos);
}

TEST_CASE("status: a daemon that should answer and does not is the first line") {
    StatusReport status = quiet_status();
    status.no_daemon = "the daemon does not answer at http://127.0.0.1:1";
    CHECK(text_of(status).find("Not answering: the daemon does not answer at http://127.0.0.1:1\nRabbitMQ 4.3.6") == 0);
    FakeBroker broker;
    CHECK(collect_status(broker, {}, std::string{"it is down"}, true).no_daemon == "it is down");
    CHECK(collect_status(broker, {}, std::string{"not configured"}, false).no_daemon.empty());
}

TEST_CASE("status: what the broker holds is named, and whether its work queue is gone") {
    StatusReport status = quiet_status();
    status.held = {{"sms.retry.5s", "sms", 60, true}, {"email.retry.5s", "email", 2, false}};
    CHECK(text_of(status).find(
              "\nHeld by the broker: 60 on sms.retry.5s: work queue sms is gone; next try within 180 s\n") !=
          std::string::npos);
    CHECK(text_of(status).find("\nHeld by the broker: 2 on email.retry.5s: not taken yet; ") != std::string::npos);
}

TEST_CASE("status: what is held, in the daemon's words, or without a daemon the number alone") {
    StatusReport status = quiet_status();
    status.outages = {{"web.a", "web.a.held", 1, 12'400, {}, "holding: 12,400 messages since 14:02"},
                      {"web.b", "web.b.held", 0, 3},
                      {"web.c", "web.c.held", 0, 0}};
    const std::string text = text_of(status);
    CHECK(text.find("\nOutage of web.a, in web.a.held: holding: 12,400 messages since 14:02\n") != std::string::npos);
    CHECK(text.find("\nHeld of web.b, in web.b.held: 3 messages\n") != std::string::npos);
    CHECK(text.find("web.c") == std::string::npos);
    status.outages[0].by_hand = true;
    CHECK(text_of(status).find("\nHeld of web.a, in web.a.held: holding") != std::string::npos);
}

TEST_CASE("status: what the daemon's own checks have found stands above, with its time") {
    StatusReport status = quiet_status();
    status.daemon = daemon_status();
    status.daemon->checks = telemetry::ChecksStatus{core::WallTime{1s},
                                                    {{"no-dead-letter-exchange",
                                                      "problem",
                                                      core::WallTime{60s},
                                                      "email lost it",
                                                      "so",
                                                      "do",
                                                      "run",
                                                      {"email", "sms"}}}};
    CHECK(text_of(status).find("\nProblem: email lost it (and 1 more), since 1970-01-01T00:01:00Z\n") !=
          std::string::npos);
}

TEST_CASE("status: a thousand quiet queues are one line, twenty are not") {
    StatusReport status = busy_status();
    telemetry::QueueStatus quiet = status.queues[0];
    quiet.rungs[0].messages = quiet.rungs[1].messages = quiet.parked->messages = 0;
    status.queues.resize(1);
    for (int i = 0; i < 20; ++i) {
        quiet.work_queue = "quiet" + std::to_string(i);
        status.queues.push_back(quiet);
    }
    CHECK(text_of(status).find("  quiet19") != std::string::npos);
    status.queues.push_back(quiet);
    CHECK(text_of(status).find("quiet19") == std::string::npos);
    CHECK(text_of(status).find("\n  21 more queues: nothing waits, nothing is parked\n") != std::string::npos);
    CHECK(text_of(status).find("  web.a ") != std::string::npos);
}

TEST_CASE("status: colour sets the headings off") {
    CHECK(text_of(busy_status(), true).find("\n\x1b[1mLadder \x1b[0mown\n") != std::string::npos);
}

TEST_CASE("status: as JSON, on several lines or on one") {
    StatusReport status = busy_status();
    status.queues.erase(status.queues.begin());
    status.detours = {{"retryd.detour.2s", 2s, 0}};
    status.daemon = daemon_status();
    status.held = {{"sms.retry.5s", "sms", 60, true}};
    status.outages = {{"sms", "sms.held", 2, {}, core::WallTime{1s}, "releasing", true}};
    std::ostringstream out;
    print_status_json(status, false, out);
    CHECK(nlohmann::json::parse(out.str()) == nlohmann::json::parse(R"({
        "ok": true,
        "broker": {"host": "rabbit", "port": 5671, "tls": true, "vhost": "shop", "version": "4.3.6"},
        "errors": {"queue": "errors", "messages": 1}, "catch_all": {"queue": "rest", "messages": null},
        "detours": [{"queue": "retryd.detour.2s", "delay": "2s", "delay_ms": 2000, "messages": 0}],
        "queues": [
          {"work_queue": "bell\u001b[31m", "ladder": "own", "shared": false, "parked": null, "totals": null,
           "rungs": [{"queue": "bell.retry.5s", "messages": 2, "delay": "5s", "delay_ms": 5000},
                     {"queue": "bell.retry.1m", "messages": null, "delay": "1m", "delay_ms": 60000}]},
          {"work_queue": "sharing", "ladder": "all", "shared": true, "rungs": [], "totals": null,
           "parked": {"queue": "sharing.parked", "messages": 5}}],
        "ladders": [{"name": "all", "rungs": [{"queue": "retryd.all.15m", "messages": 33, "delay": "15m",
                                               "delay_ms": 900000}]}],
        "daemon": {"ready": true, "reason": "", "in_flight": 37, "oldest_unsettled_ms": 0, "faults": ["the exchange 'graves' is missing"],
                   "checks": null,
                   "per_second": {"retried": 13.02, "parked": 0.1, "dropped": 0.0}},
        "held": [{"queue": "sms.retry.5s", "serves": "sms", "messages": 60, "gone": true}],
        "outages": [{"work_queue": "sms", "queue": "sms.held", "state": "releasing", "by_hand": true, "messages": null,
                     "since": 1000, "text": "releasing"}],
        "no_daemon": null, "not_seen": []})"));
    std::ostringstream one_line;
    print_status_json(status, true, one_line);
    CHECK(nlohmann::json::parse(one_line.str()) == nlohmann::json::parse(out.str()));
    CHECK(one_line.str().find('\n') == one_line.str().size() - 1);
}

TEST_CASE("status: the rates are those of the last minute, or of all the time where that is shorter") {
    CHECK(per_second({900, 30, 60, 30}, 20s) == 2.0);
    CHECK(per_second({6}, 20s) == 0.3);
    CHECK(per_second({}, 20s) == 0);
    CHECK(per_second({900}, 0s) == 0);
}

// ── What is counted ────────────────────────────────────────────────────────────────────────────────────────────────

namespace {

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
    CHECK(broker.asked == Lines{"check queue errors", "check queue rest", "check queue retryd.detour.2s",
                                "check queue retryd.detour.30s", "check queue retryd.detour.5m",
                                "check queue email.retry.5s", "check queue email.retry.1m",
                                "check queue email.parked"});
    REQUIRE(status.detours.size() == 3);
    CHECK(status.detours[1] == telemetry::RungStatus{"retryd.detour.30s", 30s, 0});
    CHECK(status.not_seen == Lines{"in flight, rates, totals and faults: no daemon"});
}

TEST_CASE("status: of an error queue that nobody consumes although the daemon runs, no number is known") {
    FakeBroker broker;
    broker.has_management = false;
    const telemetry::Status daemon = daemon_status();
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

TEST_CASE("status: what answers and is no retryd is told") {
    for (const char* odd : {"", "404", "[]", "<html>", "{\"status\": \"ok\"}"}) {
        CAPTURE(odd);
        const DaemonAnswer answer = read_daemon_answer(odd);
        REQUIRE(std::holds_alternative<std::string>(answer));
        CHECK(std::get<std::string>(answer).find("http.listen") != std::string::npos);
    }
    CHECK(std::holds_alternative<telemetry::Status>(read_daemon_answer(R"({"version": "0.1.0", "queues": []})")));
}

TEST_CASE("status: work queues in an order, and those alone that a glob matches") {
    const auto arranged = [](const StatusView& view) {
        StatusReport status = busy_status();
        arrange(status, view);
        Lines names;
        for (const telemetry::QueueStatus& queue : status.queues)
            names.push_back(queue.work_queue);
        return names;
    };
    using Order = StatusView::Order;
    CHECK(arranged({}) == Lines{"web.a", "sharing", "bell\x1b[31m"});
    CHECK(arranged({.order = Order::waiting}) == Lines{"web.a", "bell\x1b[31m", "sharing"});
    CHECK(arranged({.order = Order::parked}) == Lines{"web.a", "sharing", "bell\x1b[31m"});
    CHECK(arranged({.order = Order::name}) == Lines{"bell\x1b[31m", "sharing", "web.a"});
    CHECK(arranged({.match = "*a*"}) == Lines{"web.a", "sharing"});
}

}  // namespace retryd::commands::status_test
