// Header values for people and for programs.
#include "commands/value_view.h"

#include <nlohmann/json.hpp>

#include "support/catch.h"

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

}  // namespace retryd::commands::value_view_test
