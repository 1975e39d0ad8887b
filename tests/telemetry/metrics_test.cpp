// The text that Prometheus reads.
#include "telemetry/metrics.h"

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "support/catch.h"

namespace retryd::telemetry::metrics_test {
namespace {

using core::Milliseconds;
using relay::Outcome;
using relay::TargetRole;

Measured nothing() {
    Measured measured;
    measured.version = "1.2.3";
    return measured;
}

std::string after_some_messages() {
    MessageStats stats;
    stats.settled({Outcome::retried, "email", "email.retry.5s", "rejected", Milliseconds{5'000}, Milliseconds{3}, {}});
    stats.settled({Outcome::retried, "email", "email.retry.5s", "expired", Milliseconds{5'000}, Milliseconds{3}, {}});
    stats.settled({Outcome::retried, "email", "email.retry.1m", "expired", Milliseconds{60'000}, Milliseconds{3}, {}});
    stats.settled({Outcome::parked, "email", "email.parked", "too-old", {}, Milliseconds{40}, TargetRole::parking});
    stats.settled(
        {Outcome::returned_to_queue, "fax", "retryd.return", "undelivered", {}, {}, TargetRole::return_exchange});
    stats.settled({Outcome::dropped, "a\"b\\c", "", "maxlen", {}, {}, {}});
    for (const Milliseconds delay : {Milliseconds{2'000}, Milliseconds{2'000}, Milliseconds{30'000}})
        stats.settled({Outcome::detoured, "email", "retryd.detour", "detoured", delay, {}, TargetRole::detour});
    stats.in_flight(7);
    stats.oldest_unsettled(Milliseconds{61'500});
    Measured measured = nothing();
    measured.counts = stats.counts();
    measured.depths = {{"retryd.errors", Depth::QueueRole::errors, {}, 3},
                       {"email.retry.5s", Depth::QueueRole::rung, Milliseconds{5'000}, 2, 60},
                       {"retryd.detour.30s", Depth::QueueRole::detour, Milliseconds{30'000}, 9},
                       {"email.parked", Depth::QueueRole::parked, {}, 1}};
    measured.held = {{"email", "email.held", 1, 12'400}, {"sms", "sms.held", 0, std::nullopt}};
    measured.aged = {{"email.parked", "archived", 12}};
    measured.connected = true;
    measured.reconnects = 4;
    measured.reloads = 5;
    measured.refused_reloads = 6;
    const auto finding = [](const std::string& code, const std::string& severity) {
        return FindingStatus{code, severity, {}, "cause", "consequence", "remedy", "", {"a", "b"}};
    };
    measured.checks = ChecksStatus{core::WallTime{Milliseconds{1'500}},
                                   {finding("harmful-policy", "problem"), finding("harmful-policy", "problem"),
                                    finding("at-most-once", "warning")}};
    return metrics_text(measured);
}

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

using Names = std::set<std::string>;

/// The lines of a file of the project from the one that begins with `first` on, up to the one that is `last`.
std::string lines_of(const std::string& path, const std::string& first, const std::string& last) {
    std::ifstream file(std::string{RETRYD_SOURCE_DIR} + '/' + path);
    REQUIRE(file);
    std::string lines;
    for (std::string line; std::getline(file, line) && (lines.empty() || line != last);) {
        if (!lines.empty() || line.starts_with(first)) lines += line + '\n';
    }
    return lines;
}

/// The first group of every match.
Names names_in(const std::string& text, const char* pattern) {
    const std::regex regex{pattern};
    Names names;
    for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
        names.insert((*match)[1]);
    return names;
}

/// The first column of the table.
Names names_in_reference() {
    std::istringstream table{lines_of("docs/reference.md", "| metric |", "")};
    std::string first_cells;
    for (std::string line; std::getline(table, line);)
        first_cells += line.substr(0, line.find('|', 1));
    return names_in(first_cells, "`([a-z_]+)[`{]");
}

}  // namespace

TEST_CASE("metrics: docs/reference.md names every one, and no other") {
    CHECK(names_in_reference() == names_in(after_some_messages(), "# TYPE ([a-z_]+) "));
}

TEST_CASE("metrics: findings by code, and what the broker holds") {
    const std::string text = after_some_messages();
    CHECK(has_line(text, R"(retryd_findings{code="harmful-policy",severity="problem"} 2)"));
    CHECK(has_line(text, R"(retryd_findings{code="at-most-once",severity="warning"} 1)"));
    CHECK(has_line(text, "retryd_last_check_timestamp_seconds 1.5"));
    CHECK(has_line(text, R"(retryd_queue_held_messages{queue="email.retry.5s",role="rung",delay="5s"} 60)"));
    CHECK(text.find("retryd_queue_held_messages{queue=\"retryd.errors\"") == std::string::npos);
    CHECK(metrics_text(nothing()).find("retryd_findings") == std::string::npos);
}

TEST_CASE("metrics: the tests of alerts and dashboard know every one of retryd's own, and no other") {
    const std::string contract = lines_of("tests/operations/contract.py", "METRICS = {", "}");
    CHECK(names_in(contract, "\n    \"(retryd_[a-z_]+)\":") ==
          names_in(after_some_messages(), "\n(retryd_[a-z_]+)[ {]"));
}

TEST_CASE("metrics: every name of the contract, with its labels") {
    const std::string text = after_some_messages();
    for (const char* line : {R"(retryd_messages_total{queue="email",outcome="retried",reason="rejected"} 1)",
                             R"(retryd_messages_total{queue="email",outcome="retried",reason="expired"} 2)",
                             R"(retryd_messages_total{queue="email",outcome="parked",reason="too-old"} 1)",
                             R"(retryd_messages_total{queue="fax",outcome="retried",reason="undelivered"} 1)",
                             R"(retryd_messages_total{queue="a\"b\\\\c",outcome="dropped",reason="maxlen"} 1)",
                             R"(retryd_retries_total{queue="email",delay="5s"} 2)",
                             R"(retryd_retries_total{queue="email",delay="1m"} 1)",
                             R"(retryd_detoured_total{queue="email"} 3)",
                             "retryd_in_flight 7",
                             "retryd_oldest_unsettled_seconds 61.5",
                             R"(retryd_confirm_seconds_bucket{le="0.005"} 7)",
                             R"(retryd_confirm_seconds_bucket{le="+Inf"} 8)",
                             "retryd_confirm_seconds_count 8",
                             "retryd_confirm_seconds_sum 0.049",
                             "retryd_connected 1",
                             "retryd_blocked 0",
                             "retryd_error_queue_silent 0",
                             "retryd_reconnects_total 4",
                             R"(retryd_requeued_total{cause="nacked"} 0)",
                             R"(retryd_requeued_total{cause="unanswered"} 0)",
                             R"(retryd_requeued_total{cause="detour_refused"} 0)",
                             R"(retryd_queue_messages{queue="retryd.errors",role="errors"} 3)",
                             R"(retryd_queue_messages{queue="email.retry.5s",role="rung",delay="5s"} 2)",
                             R"(retryd_queue_messages{queue="retryd.detour.30s",role="detour",delay="30s"} 9)",
                             R"(retryd_queue_messages{queue="email.parked",role="parked"} 1)",
                             R"(retryd_held_messages{queue="email"} 12400)",
                             R"(retryd_outage{queue="email"} 1)",
                             R"(retryd_outage{queue="sms"} 0)",
                             R"(retryd_parked_aged_total{queue="email.parked",outcome="archived"} 12)",
                             R"(retryd_build_info{version="1.2.3"} 1)",
                             R"(retryd_config_reloads_total{result="success"} 5)",
                             R"(retryd_config_reloads_total{result="failure"} 6)"}) {
        CAPTURE(line, text);
        CHECK(has_line(text, line));
    }
    CHECK(text.find("retryd_retries_total{queue=\"fax\"") == std::string::npos);
    CHECK(text.find("retryd_detoured_total{queue=\"fax\"") == std::string::npos);
    CHECK(text.find("retryd_held_messages{queue=\"sms\"") == std::string::npos);  // not counted
    CHECK(text.find("outcome=\"detoured\"") == std::string::npos);                // it comes again
}

TEST_CASE("metrics: a name from a broker steers no terminal, and two names never become one") {
    MessageStats stats;
    for (const char* name : {"evil\x1b[31m\u202e\u009b", "evil\\x1b[31m\\u202e\\u009b", "\xff", "über 😀"})
        stats.settled({Outcome::dropped, name, "", "maxlen", {}, {}, {}});
    Measured measured = nothing();
    measured.counts = stats.counts();
    measured.depths = {{"evil\x07", Depth::QueueRole::parked, {}, 1}};
    const std::string text = metrics_text(measured);
    const auto dropped = [](const std::string& name) {
        return "retryd_messages_total{queue=\"" + name + "\",outcome=\"dropped\",reason=\"maxlen\"} 1";
    };
    CHECK(has_line(text, dropped(R"(evil\\x1b[31m\\u202e\\u009b)")));
    CHECK(has_line(text, dropped(R"(evil\\\\x1b[31m\\\\u202e\\\\u009b)")));
    CHECK(has_line(text, dropped(R"(\\xff)")));
    CHECK(has_line(text, dropped("über 😀")));
    CHECK(has_line(text, R"(retryd_queue_messages{queue="evil\\x07",role="parked"} 1)"));
}

TEST_CASE("metrics: what has not been counted is absent, not 0") {
    const std::string text = metrics_text(nothing());
    CHECK(text.find("retryd_queue_messages") == std::string::npos);
    CHECK(text.find("retryd_messages_total") == std::string::npos);
    CHECK(has_line(text, "retryd_connected 0"));
}

TEST_CASE("metrics: what the process uses is told by the system") {
    const Process process = this_process();
    CHECK(process.cpu_seconds > 0.0);
    CHECK(process.resident_bytes > 1'000'000);
    CHECK(process.open_files >= 3);
}

}  // namespace retryd::telemetry::metrics_test
