#include "core/text.h"

#include <string>

#include "support/catch.h"

namespace retryd::core::text_test {

TEST_CASE("a queue name has 1 to 255 bytes and no line break") {
    CHECK(usable_queue_name("q"));
    CHECK(usable_queue_name(std::string(255, 'q')));
    CHECK(usable_queue_name("with space\tand tab"));
    CHECK_FALSE(usable_queue_name(""));
    CHECK_FALSE(usable_queue_name(std::string(256, 'q')));
    CHECK_FALSE(usable_queue_name("line\nbreak"));
    CHECK_FALSE(usable_queue_name("\rbreak"));
    CHECK_FALSE(usable_queue_name("break\n"));
}

TEST_CASE("a name that is not UTF-8 is no queue's: the broker ends the connection over it") {
    CHECK(usable_queue_name("käse€😀"));
    CHECK_FALSE(usable_queue_name("\xff"));
    // Overlong, a surrogate, beyond U+10FFFF: the broker ends the connection over them.
    for (const char* forbidden :
         {"q\xc0\x80", "q\xe0\x80\x80", "q\xf0\x80\x80\x80", "q\xed\xa0\x80", "q\xf4\x90\x80\x80"})
        CHECK_FALSE(usable_queue_name(forbidden));
    for (const char* last :
         {"q\xe0\xa0\x80", "q\xed\x9f\xbf", "q\xee\x80\x80", "q\xf0\x90\x80\x80", "q\xf4\x8f\xbf\xbf"})
        CHECK(usable_queue_name(last));
    CHECK_FALSE(usable_queue_name("a\xc3"));
    CHECK_FALSE(usable_queue_name("\xc0\x80"));
}

TEST_CASE("UTF-8 is known where it ends") {
    CHECK(valid_utf8_length("aä€😀") == 10);
    CHECK(valid_utf8_length("a\xc3") == 1);
    CHECK(valid_utf8_length("a\x80") == 1);
    CHECK(valid_utf8_length("\xc0\x80") == 0);
    CHECK(valid_utf8_length("\xf5\x80\x80\x80") == 0);
    CHECK(characters("aä€😀") == 4);
    CHECK(utf8_prefix("aä€", 2) == "a");
    CHECK(utf8_prefix("aä€", 3) == "aä");
}

TEST_CASE("json: a string keeps what it may keep and escapes the rest") {
    CHECK(json_string("") == R"("")");
    CHECK(json_string("team.dlx") == R"("team.dlx")");
    CHECK(json_string("a\"b\\c/d") == R"("a\"b\\c/d")");
    CHECK(json_string("\b\f\n\r\t") == R"("\b\f\n\r\t")");
    CHECK(json_string(std::string{"\x01\x1f\x00", 3}) == R"("\u0001\u001f\u0000")");
    CHECK(json_string("Gr\xc3\xbc\xc3\x9f\x65") == "\"Gr\xc3\xbc\xc3\x9f\x65\"");
}

TEST_CASE("json: an object has its keys in order") {
    CHECK(json_object({}) == "{}");
    CHECK(json_object({{"overflow", "\"drop-head\""}, {"max-length", "1000"}}) ==
          R"({"max-length": 1000, "overflow": "drop-head"})");
}

}  // namespace retryd::core::text_test
