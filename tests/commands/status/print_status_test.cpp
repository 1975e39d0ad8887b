#include "commands/status/print_status.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/catch.h"

namespace retryd::commands::print_status_test {
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

}  // namespace retryd::commands::print_status_test
