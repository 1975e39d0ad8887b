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

TEST_CASE("nothing that turns or hides a part of a line gets through, in either format") {
    const std::string hidden = "\u202egpj\u009b31m\u200b\xff";
    const std::string shown = "\\u202egpj\\u009b31m\\u200b\\xff";
    CHECK(format_line(LogFormat::text, LogLevel::info, "e", hidden, {}) == shown);
    // The message as in text; a field as it is, by JSON's own escapes.
    CHECK(format_line(LogFormat::json, LogLevel::error, "e", hidden, {{"name", "\u202egpj\x7f"}}) ==
          R"({"level":"error","event":"e","message":"\\u202egpj\\u009b31m\\u200b\\xff","name":"\u202egpj\u007f"})");
}

TEST_CASE("a field that is not UTF-8 does not spoil a JSON line, and is shown byte by byte") {
    CHECK(format_line(LogFormat::json, LogLevel::error, "e", "m", {{"name", "a\xff"}}) ==
          R"({"level":"error","event":"e","message":"m","name":"a\\xff"})");
}

TEST_CASE("a level hides what lies below it") {
    const Log log({LogLevel::warning, LogFormat::text}, Log::Sink::plain);
    CHECK_FALSE(log.enabled(LogLevel::debug));
    CHECK_FALSE(log.enabled(LogLevel::info));
    CHECK(log.enabled(LogLevel::warning));
    CHECK(log.enabled(LogLevel::error));
}

}  // namespace retryd::telemetry::log_test
