#include "daemon/state.h"

#include <algorithm>

#include "daemon/events.h"
#include "support/catch.h"

// How the daemon stands, in plain words; and which faults last.

namespace retryd::daemon::standing_test {
namespace {

using core::Milliseconds;
using relay::RequeueCause;
using relay::Role;

std::string reason_of(const Standing& standing) {
    return why_not_ready(standing.now());
}

std::vector<std::string> faults_of(const Standing& standing) {
    std::vector<std::string> texts;
    for (const telemetry::LastingFault& fault : standing.now().faults)
        texts.push_back(fault.text);
    return texts;
}

const core::BrokerVersion version{4, 3, 6};

}  // namespace

TEST_CASE("standing: ready while it consumes, and why not in plain words otherwise") {
    Standing standing;
    CHECK(reason_of(standing) == "starting: not connected to a broker yet");
    standing.disconnected("h:1, vhost '/'", "Connection refused", "None is lost");
    CHECK(reason_of(standing) == "not connected to h:1, vhost '/': Connection refused");
    standing.consuming("h:1, vhost '/'", {}, version);
    CHECK(reason_of(standing).empty());
    CHECK(standing.now().reconnects == 0);
    CHECK(standing.now().faults.empty());
    standing.leaving(false);
    CHECK(reason_of(standing) == "connecting anew, for a changed configuration");
    standing.consuming("h:1, vhost '/'", {}, version);
    CHECK(standing.now().reconnects == 1);
    standing.leaving(true);
    CHECK(reason_of(standing) == "stopping");
}

TEST_CASE("standing: a broker that keeps its answers to itself is no reason to be silent") {
    Standing standing;
    standing.declaring("h:1, vhost '/'");
    CHECK(reason_of(standing) ==
          "connected to h:1, vhost '/', which does not answer what is declared: a queue without a leader?");
}

TEST_CASE("standing: systemctl shows in one line what is and what is wrong") {
    Standing standing;
    CHECK(status_line(standing.now()) == "starting: not connected to a broker yet");
    standing.disconnected("h:1, vhost '/'", "Connection refused", "None is lost");
    CHECK(status_line(standing.now()) == "not connected to h:1, vhost '/': Connection refused");
    standing.consuming("h:1, vhost '/'", {}, version);
    CHECK(status_line(standing.now()) == "connected to h:1, vhost '/'");
    standing.blocked("low on memory");
    CHECK(status_line(standing.now()) == "connected to h:1, vhost '/'. But " + why_blocked(standing.now()));
}

TEST_CASE("standing: a file that was refused is a fault until one is taken, whatever else happens") {
    Standing standing;
    standing.consuming("h", {}, version);
    standing.reload_refused("/etc/retryd/retryd.yaml");
    const std::string refused =
        "/etc/retryd/retryd.yaml is wrong and was not reloaded: the former configuration is in force, but retryd would "
        "not start again. `retryd check` says what is wrong";
    CHECK(reason_of(standing).empty());
    CHECK(status_line(standing.now()) == "connected to h. " + refused);
    standing.disconnected("h", "gone", "None is lost");
    CHECK(status_line(standing.now()) == "not connected to h: gone. " + refused);
    const auto faults = faults_of(standing);
    CHECK(std::count(faults.begin(), faults.end(), refused) == 1);
    standing.reloaded();
    CHECK(status_line(standing.now()) == "not connected to h: gone");
    CHECK(faults_of(standing).size() == 1);
}

TEST_CASE("standing: a broker that takes no messages is a fault, but no reason not to be ready") {
    Standing standing;
    standing.blocked("low on memory");  // may come before the consumer is there
    standing.consuming("h", {}, version);
    CHECK(reason_of(standing).empty());
    REQUIRE(faults_of(standing).size() == 1);
    CHECK(faults_of(standing)[0].find("takes no messages (low on memory)") != std::string::npos);
    standing.unblocked();
    CHECK(faults_of(standing).empty());
    standing.blocked("low on disk");
    standing.disconnected("h", "gone", "None is lost");
    CHECK_FALSE(standing.now().blocked.has_value());
    CHECK(faults_of(standing).size() == 1);
}

TEST_CASE("standing: a lasting fault keeps the moment when it began") {
    Standing standing;
    standing.disconnected("h", "one", "None is lost");
    const core::WallTime since = standing.now().faults.at(0).since;
    standing.disconnected("h", "two", "None is lost");
    CHECK(standing.now().faults.at(0).since == since);
    CHECK(standing.now().faults.at(0).text.find("two") != std::string::npos);
}

TEST_CASE("reporters: what is refused, and what is given back, lasts until it heals or the session ends") {
    const config::Log quiet{config::LogLevel::error, config::LogFormat::text};
    telemetry::Log log(quiet, telemetry::Log::Sink::plain);
    Standing standing;
    telemetry::Tally tally;
    {
        Reporters reporters(log, standing, &tally);
        reporters.requeued(Role::rung, "email.retry.5s", RequeueCause::nacked, Milliseconds{1});
        reporters.requeued(Role::rung, "email.retry.5s", RequeueCause::nacked, Milliseconds{1});
        CHECK(faults_of(standing).size() == 1);
        reporters.settled({relay::Outcome::retried, "email", "other", "rejected", {}, {}, {}});
        CHECK(faults_of(standing).size() == 1);
        reporters.settled({relay::Outcome::retried, "email", "email.retry.5s", "rejected", {}, {}, {}});
        CHECK(faults_of(standing).empty());
        reporters.refused(Role::rung, "email.retry.5s", "it has other arguments");
        reporters.refused(Role::parking, "email.parked", "it has other arguments, too");
        reporters.healed(Role::rung, "email.retry.5s");
        CHECK(faults_of(standing) == std::vector<std::string>{"it has other arguments, too"});
        reporters.in_flight(3);
        CHECK(tally.counts().in_flight == 3);
        reporters.count_with(nullptr);
        reporters.settled({relay::Outcome::retried, "email", "other", "rejected", {}, {}, {}});
        CHECK(tally.totals().retried == 2);
    }
    CHECK(faults_of(standing).empty());
}

}  // namespace retryd::daemon::standing_test
