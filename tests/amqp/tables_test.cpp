#include "amqp/tables.h"

#include <cmath>
#include <deque>
#include <limits>
#include <string>

#include "amqp/over_the_wire.h"
#include "support/catch.h"

namespace retryd::amqp::tables_test {

using core::Field;
using core::Kind;
using core::Table;
using core::Value;

namespace {

void check_survives(const Value& value) {
    const Field field{"name", value};
    const Table table{&field, 1};
    test::OverTheWire over_the_wire;
    const auto arrived = over_the_wire(table);
    INFO("kind " << static_cast<char>(value.kind));
    REQUIRE(arrived);
    CHECK(core::equal(*arrived, table));
}

template <typename Number>
void check_extremes(Kind kind) {
    using Widest = std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>;
    for (const Number number :
         {std::numeric_limits<Number>::min(), Number{0}, Number{1}, std::numeric_limits<Number>::max()}) {
        check_survives({kind, Widest{number}});
    }
}

/// A header table with tables in tables, `levels` of them, itself counted.
class Nest {
  public:
    explicit Nest(int levels) {
        fields_.push_back({"innermost", Value::of_long(1)});
        for (int level = 1; level < levels; ++level)
            fields_.push_back({"in", {Kind::table, Table{&fields_.back(), 1}}});
    }
    Table table() const { return {&fields_.back(), 1}; }

  private:
    std::deque<Field> fields_;
};

}  // namespace

TEST_CASE("tables: whole numbers of every width survive, extremes included") {
    check_extremes<std::int8_t>(Kind::int8);
    check_extremes<std::uint8_t>(Kind::uint8);
    check_extremes<std::int16_t>(Kind::int16);
    check_extremes<std::uint16_t>(Kind::uint16);
    check_extremes<std::int32_t>(Kind::int32);
    check_extremes<std::uint32_t>(Kind::uint32);
    check_extremes<std::int64_t>(Kind::int64);
    check_extremes<std::uint64_t>(Kind::uint64);
    check_extremes<std::uint64_t>(Kind::timestamp);
}

TEST_CASE("tables: every other scalar survives") {
    check_survives({Kind::boolean, true});
    check_survives({Kind::boolean, false});
    check_survives({Kind::float32, -1.5F});
    check_survives({Kind::float32, std::numeric_limits<float>::infinity()});
    check_survives({Kind::float64, 1e-300});
    check_survives({Kind::decimal, core::Decimal{255, 4'000'000'000U}});
    check_survives(Value::of_longstr(""));
    check_survives(Value::of_longstr("text"));
    check_survives({Kind::bytes, std::string_view("\0\1\xff", 3)});
    check_survives({Kind::nothing, std::monostate{}});
}

TEST_CASE("tables: empty tables and arrays survive, alone and nested") {
    check_survives({Kind::table, Table{}});
    check_survives({Kind::array, core::Array{}});
    const Value inner[] = {{Kind::array, core::Array{}}, {Kind::table, Table{}}};
    check_survives({Kind::array, core::Array{inner, 2}});
    test::OverTheWire over_the_wire;
    const auto arrived = over_the_wire(Table{});
    REQUIRE(arrived);
    CHECK(arrived->empty());
}

TEST_CASE("tables: the order of fields and a repeated name survive") {
    const Field fields[] = {{"b", Value::of_long(1)}, {"a", Value::of_long(2)}, {"b", Value::of_longstr("again")}};
    test::OverTheWire over_the_wire;
    const auto arrived = over_the_wire(Table{fields, 3});
    REQUIRE(arrived);
    CHECK(core::equal(*arrived, Table{fields, 3}));
}

TEST_CASE("tables: arrays of tables of arrays survive") {
    const Value leaves[] = {Value::of_long(1), Value::of_longstr("x"), {Kind::boolean, true}};
    const Field middle[] = {{"leaves", {Kind::array, core::Array{leaves, 3}}}, {"n", Value::of_timestamp(7)}};
    const Value outer[] = {{Kind::table, Table{middle, 2}}, {Kind::table, Table{middle, 2}}};
    check_survives({Kind::array, core::Array{outer, 2}});
}

TEST_CASE("tables: a table far larger than the arena keeps warm survives, and a small one after it") {
    const std::string text(300, 't');
    std::vector<Field> fields;
    for (int i = 0; i < 10'000; ++i)
        fields.push_back(
            {std::string_view(text).substr(0, static_cast<std::size_t>(i % 256)), Value::of_longstr(text)});
    test::OverTheWire over_the_wire;
    const auto large = over_the_wire(Table{fields.data(), fields.size()});
    REQUIRE(large);
    CHECK(core::equal(*large, Table{fields.data(), fields.size()}));
    const auto small = over_the_wire(Table{fields.data(), 1});
    REQUIRE(small);
    CHECK(core::equal(*small, Table{fields.data(), 1}));
}

TEST_CASE("tables: a hundred levels are read, one more is not") {
    test::OverTheWire over_the_wire;
    const Nest deepest(amqp::deepest_level);
    const auto arrived = over_the_wire(deepest.table());
    REQUIRE(arrived);
    CHECK(core::equal(*arrived, deepest.table()));
    const Nest too_deep(amqp::deepest_level + 1);
    CHECK_FALSE(over_the_wire(too_deep.table()));
}

TEST_CASE("tables: a level too many is found in arrays too, and in the last of many fields") {
    std::deque<Value> values{Value::of_long(1)};
    for (int level = 1; level < amqp::deepest_level; ++level)
        values.push_back({Kind::array, core::Array{&values.back(), 1}});
    test::OverTheWire over_the_wire;
    Field fields[] = {{"shallow", Value::of_long(1)}, {"deep", values.back()}};
    CHECK(over_the_wire(Table{fields, 2}));
    fields[1].value = {Kind::array, core::Array{&values.back(), 1}};
    CHECK_FALSE(over_the_wire(Table{fields, 2}));
}

}  // namespace retryd::amqp::tables_test
