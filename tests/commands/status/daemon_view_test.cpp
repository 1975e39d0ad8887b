#include "commands/status/daemon_view.h"

#include "support/catch.h"

namespace retryd::commands::daemon_view_test {
namespace {

/// `members`: of the object, besides those without which it is none of retryd's.
DaemonView view_of(const std::string& members) {
    const std::string needed = members.find("queues\": ") == std::string::npos ? "\"queues\": [], " : "";
    const DaemonAnswer answer = read_daemon_view("{\"version\": \"0.1.0\", " + needed + members.substr(1));
    REQUIRE(std::holds_alternative<DaemonView>(answer));
    return std::get<DaemonView>(answer);
}

}  // namespace

TEST_CASE("daemon view: what the daemon tells is read") {
    const DaemonView view = view_of(R"({
        "ready": false, "reason": "not connected", "in_flight": 37, "queues_left_out": 4,
        "queues": [{"work_queue": "email", "totals": {"retried": 5, "parked": 1, "dropped": 2}}],
        "faults": [{"since": 0, "text": "broken"}]})");
    CHECK_FALSE(view.ready);
    CHECK(view.reason == "not connected");
    CHECK(view.in_flight == 37);
    CHECK(view.left_out == 4);
    CHECK(view.work_queues == std::map<std::string, Totals>{{"email", {5, 1, 2}}});
    CHECK(view.faults == std::vector<std::string>{"broken"});
}

TEST_CASE("daemon view: the rates are those of the last minute") {
    const DaemonView view = view_of(R"({"rates": {"interval_ms": 20000, "retried": [900, 30, 60, 30],
                                                  "parked": [6], "dropped": []}})");
    CHECK(view.rates.retried == 2.0);
    CHECK(view.rates.parked == 0.3);
    CHECK(view.rates.dropped == 0);
    CHECK(view_of(R"({"rates": {"interval_ms": 0, "retried": [900]}})").rates.retried == 0);
}

TEST_CASE("daemon view: an odd answer is no view, or one without what is odd") {
    for (const char* odd : {"", "404", "[]", "<html>", "{\"status\": \"ok\"}"}) {
        CAPTURE(odd);
        const DaemonAnswer answer = read_daemon_view(odd);
        REQUIRE(std::holds_alternative<std::string>(answer));
        CHECK(std::get<std::string>(answer).find("http.listen") != std::string::npos);
    }
    const DaemonView view = view_of(R"({"ready": 1, "in_flight": "x", "queues": [3, {}], "faults": "x", "rates": 7})");
    CHECK_FALSE(view.ready);
    CHECK(view.in_flight == 0);
    CHECK(view.rates.retried == 0);
}

}  // namespace retryd::commands::daemon_view_test
