#include "core/text.h"

#include "support/catch.h"

namespace retryd::core::json_text_test {

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

}  // namespace retryd::core::json_text_test
