// What the daemon is doing, in plain words; and which faults last.
#include "daemon/state.h"

#include <algorithm>

#include "daemon/session.h"
#include "support/catch.h"

namespace retryd::daemon::state_test {
namespace {

using core::Milliseconds;
using relay::RequeueCause;
using relay::TargetRole;

std::string reason_of(const DaemonState& state) {
    return why_not_ready(state.snapshot());
}

std::vector<std::string> faults_of(const DaemonState& state) {
    std::vector<std::string> texts;
    for (const telemetry::LastingFault& fault : state.snapshot().faults)
        texts.push_back(fault.text);
    return texts;
}

const core::BrokerVersion version{4, 3, 6};

}  // namespace

TEST_CASE("state: ready while it consumes, and why not in plain words otherwise") {
    DaemonState state;
    CHECK(reason_of(state) == "starting: not connected to a broker yet");
    state.disconnected("h:1, vhost '/'", {}, "Connection refused", "None is lost");
    CHECK(reason_of(state) == "not connected to h:1, vhost '/': Connection refused");
    state.consuming("h:1, vhost '/'", {}, version);
    CHECK(reason_of(state).empty());
    CHECK(state.snapshot().reconnects == 0);
    CHECK(state.snapshot().faults.empty());
    state.reconnecting();
    CHECK(reason_of(state) == "reconnecting, for a changed configuration");
    state.consuming("h:1, vhost '/'", {}, version);
    CHECK(state.snapshot().reconnects == 1);
    state.stopping();
    CHECK(reason_of(state) == "stopping");
}

TEST_CASE("state: a broker that keeps its answers to itself is no reason to be silent") {
    DaemonState state;
    state.declaring("h:1, vhost '/'", {});
    CHECK(reason_of(state) ==
          "connected to h:1, vhost '/', which has not answered yet what is declared: it is busy, or a queue has no "
          "leader");
}

TEST_CASE("state: systemctl shows in one line what is and what is wrong") {
    DaemonState state;
    CHECK(status_line(state.snapshot()) == "starting: not connected to a broker yet");
    state.disconnected("h:1, vhost '/'", {}, "Connection refused", "None is lost");
    CHECK(status_line(state.snapshot()) == "not connected to h:1, vhost '/': Connection refused");
    state.consuming("h:1, vhost '/'", {}, version);
    CHECK(status_line(state.snapshot()) == "connected to h:1, vhost '/'");
    state.blocked("low on memory");
    CHECK(status_line(state.snapshot()) == "connected to h:1, vhost '/'. But " + why_blocked(state.snapshot()));
}

TEST_CASE("state: the broker that is tried is told, and which one the version is of") {
    DaemonState state;
    const config::Endpoint one{.host = "one"};
    const config::Endpoint other{.host = "two", .vhost = "shop"};
    state.consuming("one:5672, vhost '/'", one, version);
    SECTION("it is not there") {
        state.disconnected("another", other, "Connection refused", "None is lost");
    }
    SECTION("it does not answer what is declared") {
        state.declaring("another", other);
    }
    CHECK(state.snapshot().endpoint == other);
    CHECK(state.snapshot().version_of == one);
}

TEST_CASE("state: a file that was refused is a fault until one is taken, whatever else happens") {
    DaemonState state;
    state.consuming("h", {}, version);
    state.reload_refused("/etc/retryd/retryd.yaml");
    const std::string refused =
        "/etc/retryd/retryd.yaml is wrong and was not reloaded: the former configuration is in force, but retryd would "
        "not start again. `retryd check` says what is wrong";
    CHECK(reason_of(state).empty());
    CHECK(status_line(state.snapshot()) == "connected to h. " + refused);
    state.disconnected("h", {}, "gone", "None is lost");
    CHECK(status_line(state.snapshot()) == "not connected to h: gone. " + refused);
    const auto faults = faults_of(state);
    CHECK(std::count(faults.begin(), faults.end(), refused) == 1);
    state.reloaded();
    CHECK(status_line(state.snapshot()) == "not connected to h: gone");
    CHECK(faults_of(state).size() == 1);
}

TEST_CASE("state: a broker that takes no messages is a fault, but no reason not to be ready") {
    DaemonState state;
    state.blocked("low on memory");  // may come before the consumer is there
    state.consuming("h", {}, version);
    CHECK(reason_of(state).empty());
    REQUIRE(faults_of(state).size() == 1);
    CHECK(faults_of(state)[0].find("takes no messages (low on memory)") != std::string::npos);
    state.unblocked();
    CHECK(faults_of(state).empty());
    state.blocked("low on disk");
    state.disconnected("h", {}, "gone", "None is lost");
    CHECK_FALSE(state.snapshot().blocked.has_value());
    CHECK(faults_of(state).size() == 1);
}

TEST_CASE("state: an error queue that does not answer is a fault and a reason not to be ready, until it does") {
    DaemonState state;
    state.consuming("h", {}, version);
    state.error_queue_silent("no answer");
    CHECK(reason_of(state) == "no answer");
    CHECK(faults_of(state) == std::vector<std::string>{"no answer"});
    state.blocked("low on memory");
    CHECK(reason_of(state) == "no answer");  // it does not come back with the end of the alarm
    CHECK(status_line(state.snapshot()) == "no answer. But " + why_blocked(state.snapshot()));
    state.unblocked();
    state.error_queue_answers();
    CHECK(reason_of(state).empty());
    CHECK(faults_of(state).empty());
    state.error_queue_silent("no answer");
    state.disconnected("h", {}, "gone", "None is lost");
    CHECK(faults_of(state).size() == 1);
    state.consuming("h", {}, version);
    CHECK(reason_of(state).empty());
}

TEST_CASE(
    "state: what is not settled for more than a minute is a reason not to be ready, unless the broker is blocked") {
    DaemonState state;
    state.consuming("h", {}, version);
    state.unsettled(Milliseconds{60'000});
    CHECK(reason_of(state).empty());
    state.unsettled(Milliseconds{125'700});
    CHECK(reason_of(state) ==
          "a message has waited for 2m5s to be settled: the broker does not answer what was published, or takes "
          "nothing. The log says which queue");
    CHECK(status_line(state.snapshot()) == reason_of(state));
    state.blocked("low on memory");
    CHECK(reason_of(state).empty());
    state.unblocked();
    state.unsettled({});
    CHECK(reason_of(state).empty());
}

TEST_CASE("state: a lasting fault keeps the moment when it began") {
    DaemonState state;
    state.disconnected("h", {}, "one", "None is lost");
    const core::WallTime since = state.snapshot().faults.at(0).since;
    state.disconnected("h", {}, "two", "None is lost");
    CHECK(state.snapshot().faults.at(0).since == since);
    CHECK(state.snapshot().faults.at(0).text.find("two") != std::string::npos);
}

TEST_CASE("reporters: what is refused, and what is given back, lasts until it heals or the session ends") {
    const config::Log quiet{config::LogLevel::error, config::LogFormat::text};
    telemetry::Log log(quiet, telemetry::Log::Sink::plain);
    DaemonState state;
    telemetry::MessageStats stats;
    {
        HeldQueues held(log);
        FlowEvents events(log, state.faults(), &stats, held);
        events.requeued({TargetRole::rung, "email.retry.5s"}, RequeueCause::nacked, Milliseconds{1});
        events.requeued({TargetRole::rung, "email.retry.5s"}, RequeueCause::nacked, Milliseconds{1});
        CHECK(faults_of(state).size() == 1);
        events.settled({relay::Outcome::retried, "email", "other", "rejected", {}, {}, {}});
        CHECK(faults_of(state).size() == 1);
        events.settled({relay::Outcome::retried, "email", "email.retry.5s", "rejected", {}, {}, {}});
        CHECK(faults_of(state).empty());
        events.refused(TargetRole::rung, "email.retry.5s", "it has other arguments");
        events.refused(TargetRole::parking, "email.parked", "it has other arguments, too");
        events.healed(TargetRole::rung, "email.retry.5s");
        CHECK(faults_of(state) ==
              std::vector<std::string>{
                  "it has other arguments, too. While that lasts, messages that should be parked in 'email.parked' are "
                  "parked in the catch-all queue. It is tried again every minute"});
        events.silent({TargetRole::rung, "email.retry.30s"});
        CHECK(faults_of(state).size() == 2);
        events.in_flight(3);
        CHECK(stats.counts().in_flight == 3);
        events.oldest_unsettled(Milliseconds{7});
        CHECK(stats.counts().oldest_unsettled == Milliseconds{7});
        events.count_with(nullptr);
        events.settled({relay::Outcome::retried, "email", "other", "rejected", {}, {}, {}});
        CHECK(stats.totals().retried == 2);
    }
    CHECK(faults_of(state).empty());
}

}  // namespace retryd::daemon::state_test
