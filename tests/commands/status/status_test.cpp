#include "commands/status/status.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "commands/status/status_output.h"
#include "support/catch.h"

namespace retryd::commands::status_print_test {
namespace {

using namespace std::chrono_literals;

Status quiet_status() {
    Status status;
    status.broker = {"rabbit", 5671, true, "shop", {4, 3, 6}};
    status.errors = {"errors", 0};
    status.catch_all = {"rest", {}};
    return status;
}

Status busy_status() {
    Status status = quiet_status();
    status.errors.messages = 1;
    const auto rungs = [](const std::string& name, std::int64_t first, std::optional<std::int64_t> second) {
        return std::vector<RungDepth>{{5s, {name + ".retry.5s", first}}, {60s, {name + ".retry.1m", second}}};
    };
    status.queues = {
        {"web.a", "own", false, rungs("web.a", 140, 96), Depth{"web.a.parked", 17}, Totals{1000, 17, 3}},
        {"bell\x1b[31m", "own", false, rungs("bell", 2, {}), {}, {}},
        {"sharing", "all", true, {}, Depth{"sharing.parked", 5}, {}},
    };
    status.ladders = {{"all", {{900s, {"retryd.all.15m", 33}}}}};
    return status;
}

DaemonView daemon_view() {
    DaemonView view;
    view.ready = true;
    view.in_flight = 37;
    view.rates = {13.02, 0.1, 0};
    view.faults = {"the exchange 'graves' is missing"};
    return view;
}

std::string text_of(const Status& status, bool colour = false) {
    std::ostringstream out;
    print_status(status, colour, out);
    return out.str();
}

}  // namespace

TEST_CASE("status: in words, a table for each ladder, and no control character of a name gets through") {
    Status status = busy_status();
    status.not_seen = {"in flight: no daemon"};
    CHECK(text_of(status) == R"(RabbitMQ 4.3.6 at rabbit:5671, vhost shop
Error queue errors: 1 message
Catch-all rest: not there

Ladder all, shared by its work queues
  work queue      15m  waiting  parked
  (all together)   33       33
  sharing                            5

Ladder own
  work queue   5s  1m  waiting     parked
  web.a       140  96      236         17
  bell?[31m     2   -        2  elsewhere

Not seen: in flight: no daemon
)");
}

TEST_CASE("status: what the daemon tells stands above, and its totals beside the queues") {
    Status status = busy_status();
    status.queues.resize(1);
    status.ladders.clear();
    status.daemon = daemon_view();
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

TEST_CASE("status: a thousand quiet queues are one line, twenty are not") {
    Status status = busy_status();
    WorkQueueStatus quiet = status.queues[0];
    quiet.rungs[0].depth.messages = quiet.rungs[1].depth.messages = quiet.parked->messages = 0;
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
    Status status = busy_status();
    status.queues.erase(status.queues.begin());
    status.daemon = daemon_view();
    std::ostringstream out;
    print_status_json(status, false, out);
    CHECK(nlohmann::json::parse(out.str()) == nlohmann::json::parse(R"({
        "ok": true,
        "broker": {"host": "rabbit", "port": 5671, "tls": true, "vhost": "shop", "version": "4.3.6"},
        "errors": {"queue": "errors", "messages": 1}, "catch_all": {"queue": "rest", "messages": null},
        "queues": [
          {"work_queue": "bell\u001b[31m", "ladder": "own", "shared": false, "parked": null, "totals": null,
           "rungs": [{"queue": "bell.retry.5s", "messages": 2, "delay": "5s", "delay_ms": 5000},
                     {"queue": "bell.retry.1m", "messages": null, "delay": "1m", "delay_ms": 60000}]},
          {"work_queue": "sharing", "ladder": "all", "shared": true, "rungs": [], "totals": null,
           "parked": {"queue": "sharing.parked", "messages": 5}}],
        "ladders": [{"name": "all", "rungs": [{"queue": "retryd.all.15m", "messages": 33, "delay": "15m",
                                               "delay_ms": 900000}]}],
        "daemon": {"ready": true, "reason": "", "in_flight": 37, "faults": ["the exchange 'graves' is missing"],
                   "per_second": {"retried": 13.02, "parked": 0.1, "dropped": 0.0}},
        "not_seen": []})"));
    std::ostringstream one_line;
    print_status_json(status, true, one_line);
    CHECK(nlohmann::json::parse(one_line.str()) == nlohmann::json::parse(out.str()));
    CHECK(one_line.str().find('\n') == one_line.str().size() - 1);
}

TEST_CASE("watch: a screen is drawn over the last one, and says how much of it does not fit") {
    CHECK(redrawn("a\nb\n", 3) == "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
    CHECK(redrawn("a\nb\nc\n", 3) == "\x1b[Ha\x1b[K\n… 2 more lines\x1b[K\n\x1b[J");
}

}  // namespace retryd::commands::status_print_test
