// A body as a person may look at it.
#include "commands/body_view.h"

#include "support/catch.h"

namespace retryd::commands::body_view_test {

TEST_CASE("JSON is set out, and no token of it changes") {
    CHECK(set_out_json(R"({"b":1.50,"a":[],"c":[12345678901234567890.12345, {"d" : "x\"}{"}]})") == R"({
  "b": 1.50,
  "a": [],
  "c": [
    12345678901234567890.12345,
    {
      "d": "x\"}{"
    }
  ]
})");
    CHECK(set_out_json("[ ]") == "[]");
    CHECK_FALSE(set_out_json("{\"a\":1"));
    CHECK_FALSE(set_out_json("{a:1}"));
}

TEST_CASE("JSON that nests deeper than anyone can read is shown as text") {
    const std::string deep = std::string(65, '[') + std::string(65, ']');
    CHECK_FALSE(set_out_json(deep));
    CHECK(set_out_json(std::string(64, '[') + std::string(64, ']')));
    CHECK(view_of_body(deep, {}).title == "text, 130 bytes");
    CHECK(view_of_body(std::string(100'000, '['), {}).title.starts_with("text, 100000 bytes"));
}

TEST_CASE("text is shown as it is, without what a terminal obeys") {
    const BodyView view = view_of_body("hello\n\x1b[2Jworld", {});
    CHECK(view.title == "text, 15 bytes");
    CHECK(view.text == "hello\n\\x1b[2Jworld");
}

TEST_CASE("control characters within JSON strings cannot be there, and those beyond ASCII are made safe") {
    CHECK(view_of_body("{\"a\":\"\x1b\"}", {}).title == "text, 9 bytes");
    CHECK(view_of_body("[\"\xc2\x9b\"]", {}).text.find("\\u{9b}") != std::string::npos);
}

TEST_CASE("what is no UTF-8, and what is encoded, is a hex dump") {
    CHECK(view_of_body(std::string_view("a\0b", 3), {}).title == "hex, 3 bytes");
    CHECK(view_of_body("\x1f\x8b\x08", "gzip").title == "hex, 3 bytes: its content-encoding is gzip");
    CHECK(view_of_body("abc", "gzip\x1b").title == "hex, 3 bytes: its content-encoding is gzip\\x1b");
    CHECK(view_of_body("abc", "utf-8").title == "text, 3 bytes");
}

TEST_CASE("an empty body says so") {
    CHECK(view_of_body("", "gzip").title == "empty");
}

TEST_CASE("a long body is cut, and says where") {
    const BodyView text = view_of_body(std::string(100'000, 'x'), {});
    CHECK(text.text.size() == 65'536);
    CHECK(text.title == "text, 100000 bytes; cut after 65536, --raw has all of it");
    const BodyView hex = view_of_body(std::string(10'000, '\xff'), {});
    CHECK(hex.title == "hex, 10000 bytes; cut after 4096, --raw has all of it");
}

TEST_CASE("JSON with many deep elements does not become far longer than what is shown of it") {
    std::string json(64, '[');
    for (int i = 0; i < 200'000; ++i)
        json += "0,";
    json += "0" + std::string(64, ']');
    const auto set_out = set_out_json(json);
    REQUIRE(set_out);
    CHECK(set_out->size() < 70'000);
}

}  // namespace retryd::commands::body_view_test
