#include "commands/common/text.h"

#include <sstream>

#include "commands/common/report.h"
#include "support/catch.h"

// Texts for people.

namespace retryd::commands::text_test {

TEST_CASE("a name is shown safely, and one that is not known is said to be that") {
    CHECK(or_unknown("a\\b\x1b") == "a\\\\b\\x1b");
    CHECK(or_unknown("") == "(unknown)");
}

TEST_CASE("a text is cut between two characters, and shows it") {
    CHECK(shortened("short", 5) == "short");
    CHECK(shortened("a\xc3\xa4z", 2) == "a…");
}

TEST_CASE("a hex dump has offset, bytes and what of them can be read") {
    CHECK(hex_dump(std::string_view("AB\0\x1b\xff", 5)) ==
          "00000000  41 42 00 1b ff                                   |AB...|\n");
    CHECK(hex_dump("").empty());
    CHECK(hex_dump("0123456789abcdefg").find("\n00000010  67 ") != std::string::npos);
}

TEST_CASE("base64 of every length") {
    CHECK(base64("").empty());
    CHECK(base64("f") == "Zg==");
    CHECK(base64("fo") == "Zm8=");
    CHECK(base64("foo") == "Zm9v");
    CHECK(base64("\xff\xfe\xfd\xfc") == "//79/A==");
}

TEST_CASE("times are UTC, and one that no calendar has is its number") {
    CHECK(utc(0) == "1970-01-01T00:00:00Z");
    CHECK(utc(1'772'366'400) == "2026-03-01T12:00:00Z");
    CHECK(utc(18'446'744'073'709'551'615U) == "18446744073709551615");
}

TEST_CASE("an age has its two largest units") {
    const core::WallTime now{std::chrono::seconds{1'000'000}};
    CHECK(age(1'000'000, now) == "0s");
    CHECK(age(999'941, now) == "59s");
    CHECK(age(1'000'000 - 3'600, now) == "1h");
    CHECK(age(1'000'000 - 90'061, now) == "1d1h");
    CHECK(age(2'000'000, now) == "0s");
    CHECK(age(18'446'744'073'709'551'615U, now) == "0s");
}

TEST_CASE("a table and a complaint let nothing through that moves a cursor or turns the direction of writing") {
    std::ostringstream out;
    print_table({{"a\x1b[2J\nb", "g.c1\u009b31m", "g.bidi\u202e", "^a\\.b$"}}, "", out);
    CHECK(out.str() == "a\\x1b[2J\\x0ab  g.c1\\u009b31m  g.bidi\\u202e  ^a\\.b$\n");
    std::ostringstream nothing;
    std::ostringstream err;
    Report({"", false, false}, nothing, err).fail("queue 'evil\x1b]0;PWNED\x07'", 1);
    CHECK(err.str() == "retryd: queue 'evil\\x1b]0;PWNED\\x07'\n");
}

}  // namespace retryd::commands::text_test
