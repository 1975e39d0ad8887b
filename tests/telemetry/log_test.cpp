// A line of the log, in both formats.
#include "telemetry/log.h"

#include "support/catch.h"

namespace retryd::telemetry::log_test {

using config::LogFormat;
using config::LogLevel;

TEST_CASE("a text line is the message") {
    CHECK(format_line(LogFormat::text, LogLevel::info, "connected", "connected to rabbit:5672", {}) ==
          "connected to rabbit:5672");
}

TEST_CASE("names from a broker cannot forge a second line or move a terminal's cursor") {
    CHECK(format_line(LogFormat::text, LogLevel::info, "e", "queue 'a\nERROR b\x1b[2J\x7f'", {}) ==
          "queue 'a\\x0aERROR b\\x1b[2J\\x7f'");
}

TEST_CASE("a JSON line is an object with level, event, message and the fields in their order") {
    CHECK(format_line(LogFormat::json, LogLevel::warning, "blocked", "say \"when\"", {{"cause", "low on\nmemory"}}) ==
          R"({"level":"warning","event":"blocked","message":"say \"when\"","cause":"low on\nmemory"})");
}

TEST_CASE("a number in a JSON line is a number") {
    CHECK(format_line(LogFormat::json, LogLevel::info, "stopping", "stopping", {{"in_flight", 3}}) ==
          R"({"level":"info","event":"stopping","message":"stopping","in_flight":3})");
}

TEST_CASE("a name that is not UTF-8 does not spoil a JSON line") {
    CHECK(format_line(LogFormat::json, LogLevel::error, "e", "\xff", {}) ==
          "{\"level\":\"error\",\"event\":\"e\",\"message\":\"\xef\xbf\xbd\"}");
}

TEST_CASE("a level hides what lies below it") {
    const Log log({LogLevel::warning, LogFormat::text}, Log::Sink::plain);
    CHECK_FALSE(log.enabled(LogLevel::debug));
    CHECK_FALSE(log.enabled(LogLevel::info));
    CHECK(log.enabled(LogLevel::warning));
    CHECK(log.enabled(LogLevel::error));
}

}  // namespace retryd::telemetry::log_test
