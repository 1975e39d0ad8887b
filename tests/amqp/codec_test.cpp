#include "amqp/codec.h"

#include <cmath>
#include <deque>
#include <limits>
#include <string>

#include "amqp/over_the_wire.h"
#include "support/catch.h"

namespace retryd::amqp::codec_test {
namespace {

using core::Field;
using core::Kind;
using core::Properties;
using core::Table;
using core::Value;

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

const core::Field one_header{"x", core::Value::of_longstr("y")};

Properties full() {
    Properties all;
    all.content_type = "text/plain";
    all.content_encoding = "gzip";
    all.headers = core::Table{&one_header, 1};
    all.delivery_mode = std::uint8_t{2};
    all.priority = std::uint8_t{255};
    all.correlation_id = "correlation";
    all.reply_to = "reply";
    all.expiration = "60000";
    all.message_id = "message";
    all.timestamp = 1'700'000'000;
    all.type = "type";
    all.user_id = "guest";
    all.app_id = "app";
    all.cluster_id = "cluster";
    return all;
}

void check_same(const Properties& left, const Properties& right) {
    CHECK(left.content_type == right.content_type);
    CHECK(left.content_encoding == right.content_encoding);
    REQUIRE(left.headers.has_value() == right.headers.has_value());
    CHECK(core::equal(left.header_table(), right.header_table()));
    CHECK(left.delivery_mode == right.delivery_mode);
    CHECK(left.priority == right.priority);
    CHECK(left.correlation_id == right.correlation_id);
    CHECK(left.reply_to == right.reply_to);
    CHECK(left.expiration == right.expiration);
    CHECK(left.message_id == right.message_id);
    CHECK(left.timestamp == right.timestamp);
    CHECK(left.type == right.type);
    CHECK(left.user_id == right.user_id);
    CHECK(left.app_id == right.app_id);
    CHECK(left.cluster_id == right.cluster_id);
}

void check_survives(const Properties& properties) {
    test::OverTheWire over_the_wire;
    const auto arrived = over_the_wire(properties);
    REQUIRE(arrived);
    check_same(*arrived, properties);
}

}  // namespace

// ── Tables ─────────────────────────────────────────────────────────────────────────────────────────────────────────

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

// ── Properties ─────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("properties: all of them survive together") {
    check_survives(full());
}

TEST_CASE("properties: what is absent stays absent") {
    check_survives(Properties{});
}

TEST_CASE("properties: what is there but empty or zero stays there") {
    Properties empty;
    empty.content_type = "";
    empty.headers = core::Table{};
    empty.delivery_mode = std::uint8_t{0};
    empty.priority = std::uint8_t{0};
    empty.timestamp = 0;
    empty.cluster_id = "";
    check_survives(empty);
}

TEST_CASE("properties: left out after a message that had them, they do not come back from reused memory") {
    test::OverTheWire over_the_wire;
    REQUIRE(over_the_wire(full()));
    const auto second = over_the_wire(Properties{});
    REQUIRE(second);
    check_same(*second, {});
}

TEST_CASE("properties: what fits to the byte fits, and with one byte less it does not") {
    const std::string text(1000, 't');
    const core::Field field{"name", core::Value::of_longstr(text)};
    Properties properties = full();
    properties.headers = core::Table{&field, 1};
    amqp::Arena arena;
    amqp_basic_properties_t written = amqp::write_properties(properties, arena);
    std::vector<char> room(4096);
    const int size = amqp_encode_properties(AMQP_BASIC_CLASS, &written, {room.size(), room.data()});
    REQUIRE(size > 1000);
    const auto exactly = static_cast<std::size_t>(size);
    CHECK(amqp::fits(written, std::span(room).first(exactly)));
    CHECK_FALSE(amqp::fits(written, std::span(room).first(exactly - 1)));
}

}  // namespace retryd::amqp::codec_test
