#include "core/safe_text.h"

#include "support/catch.h"

// Texts of strangers, made fit to be shown.

namespace retryd::core::safe_text_test {

TEST_CASE("safe text: what people can read stays as it is") {
    for (const std::string_view text : {"", "email", "über-straße", "注文.メール", "заказ", "طلب", "a b~!\"#$%&()",
                                        "😀 👍🏽 ❤️ 👩‍💻 🏳️‍🌈"}) {
        CAPTURE(text);
        CHECK(is_safe(text));
        CHECK(safe_name(text) == text);
        CHECK(safe_line(text) == text);
        CHECK(safe_lines(text) == text);
        CHECK(safe_json(text) == text);
    }
}

TEST_CASE("safe text: what a terminal obeys is shown as its number") {
    CHECK(safe_name("\x1b[31mred\x07\r\n\t\x7f") == "\\x1b[31mred\\x07\\x0d\\x0a\\x09\\x7f");
    CHECK(safe_name(std::string_view("a\0b", 3)) == "a\\x00b");
    CHECK(safe_name("\u009b31m") == "\\u009b31m");  // a control sequence in one character
    CHECK(safe_name("\xc2\x85") == "\\u0085");      // the next line
}

TEST_CASE("safe text: what turns the direction of writing, ends a line or cannot be seen is shown as its number") {
    CHECK(safe_name("\u202egpj") == "\\u202egpj");
    CHECK(safe_name("\u2066\u2067\u2068\u2069\u200e\u200f\u061c") ==
          "\\u2066\\u2067\\u2068\\u2069\\u200e\\u200f\\u061c");
    CHECK(safe_name("a\u2028b\u2029c") == "a\\u2028b\\u2029c");
    CHECK(safe_name("pay\u200bpal \ufeff \u00ad \u2060 \u3164") == "pay\\u200bpal \\ufeff \\u00ad \\u2060 \\u3164");
    CHECK(safe_name("\U000e0041") == "\\U000e0041");  // a tag: a letter that nobody sees
}

TEST_CASE("safe text: what is unseen in emoji is escaped elsewhere") {
    CHECK(safe_name("or\u200dder") == "or\\u200dder");
    CHECK(safe_name("👩\u200d") == "👩\\u200d");
    CHECK(safe_name("\u200d👩") == "\\u200d👩");
    CHECK(safe_name("👩\u200dx") == "👩\\u200dx");
    CHECK(safe_name("a\ufe0f") == "a\\ufe0f");
    CHECK(safe_name("👩\u200d\xff") == "👩\\u200d\\xff");
}

TEST_CASE("safe text: bytes that are no UTF-8 are shown one by one, and never end the text") {
    CHECK(safe_name("\xff\xc3(\xe2\x82") == "\\xff\\xc3(\\xe2\\x82");
    CHECK(safe_name("\xc0\x80") == "\\xc0\\x80");                      // longer than need be
    CHECK(safe_name("\xed\xa0\x80") == "\\xed\\xa0\\x80");             // half of a pair
    CHECK(safe_name("\xf4\x90\x80\x80x") == "\\xf4\\x90\\x80\\x80x");  // beyond Unicode
    CHECK(safe_line("caf\xe9") == "caf\\xe9");
}

TEST_CASE("safe text: names that differ are shown differently") {
    CHECK(safe_name("a\x1b") == "a\\x1b");
    CHECK(safe_name("a\\x1b") == "a\\\\x1b");
    CHECK(safe_name("\u009b") != safe_name("\x9b"));
    CHECK(safe_name("\\u009b") != safe_name("\u009b"));
}

TEST_CASE("safe text: in quotes a name cannot end them") {
    CHECK(quoted("email") == "'email'");
    CHECK(quoted("a' or 'b") == "'a\\' or \\'b'");
    CHECK(quoted("a\\' \x1b") == "'a\\\\\\' \\x1b'");
}

TEST_CASE("safe text: a composed line keeps its backslashes, so that it can pass twice") {
    const std::string line = "queue " + quoted("a\\b\x1b") + " '^a\\.b$'\n\u202e";
    CHECK(safe_line(line) == "queue 'a\\\\b\\x1b' '^a\\.b$'\\x0a\\u202e");
    CHECK(safe_line(safe_line(line)) == safe_line(line));
}

TEST_CASE("safe text: over several lines line ends and tabs stay, all else as on one") {
    CHECK(safe_lines("a\tb\nc\\d\x1b\r\u2028") == "a\tb\nc\\d\\x1b\\x0d\\u2028");
}

TEST_CASE("safe text: JSON says it in its own way, and nothing else of it changes") {
    CHECK(safe_json("{\"a\\u001b\": \"\x7f\u009b\u202e\U000e0041\",\n \"b\": \"\\\\ü\"}") ==
          "{\"a\\u001b\": \"\\u007f\\u009b\\u202e\\udb40\\udc41\",\n \"b\": \"\\\\ü\"}");
}

TEST_CASE("safe text: is it UTF-8?") {
    CHECK(is_utf8(""));
    CHECK(is_utf8(std::string_view("a\0\0b", 4)));
    CHECK(is_utf8("ü\x1b"));
    CHECK_FALSE(is_utf8("\xff"));
    CHECK_FALSE(is_utf8(std::string_view("\0\xc3", 2)));
}

}  // namespace retryd::core::safe_text_test
