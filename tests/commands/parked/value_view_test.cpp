#include "commands/parked/value_view.h"

#include <nlohmann/json.hpp>

#include "support/catch.h"

// Bodies and header values of strangers for people and for programs.

namespace retryd::commands::value_view_test {
namespace {

using core::Kind;
using core::Value;

}  // namespace

TEST_CASE("values as text: every kind, nested, and safe for a terminal") {
    const core::Field fields[] = {{"count", Value::of_long(-1)}, {"esc\x1b", Value::of_longstr("a\"\x1b")}};
    const Value elements[] = {{Kind::boolean, true}, {Kind::float64, 1.5},   {Kind::decimal, core::Decimal{2, 5}},
                              {Kind::nothing, {}},   Value::of_timestamp(0), {Kind::table, core::Table{fields, 2}}};
    CHECK(text_of_value({Kind::array, core::Array{elements, 6}}) ==
          "[true, 1.5, 0.05, (void), 1970-01-01T00:00:00Z, {count: -1, esc\\x1b: \"a\"\\x1b\"}]");
}

TEST_CASE("values as JSON keep their types; what is no UTF-8 is base64") {
    CHECK(json_of_value(Value::of_longstr("x")).dump() == R"({"type":"longstr","value":"x"})");
    CHECK(json_of_value(Value::of_longstr("\xff")).dump() == R"({"type":"longstr","base64":"/w=="})");
    CHECK(json_of_value({Kind::bytes, std::string_view("x")}).dump() == R"({"type":"bytes","base64":"eA=="})");
    CHECK(json_of_value(Value::of_long(7)).dump() == R"({"type":"long","value":7})");
    CHECK(json_of_value({Kind::boolean, false}).dump() == R"({"type":"boolean","value":false})");
    CHECK(json_of_value({Kind::nothing, {}}).dump() == R"({"type":"void","value":null})");
    const core::Field twice[] = {{"a", Value::of_long(1)}, {"a", {Kind::nothing, {}}}};
    CHECK(json_of_table({twice, 2}).dump() ==
          R"([{"name":"a","type":"long","value":1},{"name":"a","type":"void","value":null}])");
}

// ── A body as a person may look at it ──────────────────────────────────────────────────────────────────────────────

TEST_CASE("JSON is set out, and no token of it changes") {
    CHECK(indent_json(R"({"b":1.50,"a":[],"c":[12345678901234567890.12345, {"d" : "x\"}{"}]})") == R"({
  "b": 1.50,
  "a": [],
  "c": [
    12345678901234567890.12345,
    {
      "d": "x\"}{"
    }
  ]
})");
    CHECK(indent_json("[ ]") == "[]");
    CHECK_FALSE(indent_json("{\"a\":1"));
    CHECK_FALSE(indent_json("{a:1}"));
}

TEST_CASE("JSON that nests deeper than anyone can read is shown as text") {
    const std::string deep = std::string(65, '[') + std::string(65, ']');
    CHECK_FALSE(indent_json(deep));
    CHECK(indent_json(std::string(64, '[') + std::string(64, ']')));
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
    CHECK(view_of_body("[\"\xc2\x9b\"]", {}).text.find("\\u009b") != std::string::npos);
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
    const auto set_out = indent_json(json);
    REQUIRE(set_out);
    CHECK(set_out->size() < 70'000);
}

}  // namespace retryd::commands::value_view_test
