#include "core/value.h"

#include <limits>

#include "core/headers.h"
#include "support/catch.h"

namespace retryd::core::value_test {
namespace {

using namespace test;

constexpr std::uint64_t largest_int64 = std::numeric_limits<std::int64_t>::max();

bool holds_text(Kind kind) {
    return kind == Kind::longstr || kind == Kind::bytes;
}

bool holds_integer(Kind kind) {
    constexpr std::string_view integers = "bBsuIilLT";
    return integers.find(static_cast<char>(kind)) != std::string_view::npos;
}

}  // namespace

// ── Reading ────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("find takes the first field of a name") {
    Headers headers;
    const Table table = headers.fields({{"a", number(1)}, {"b", number(2)}, {"b", number(3)}});
    REQUIRE(find(table, "b") != nullptr);
    CHECK(find(table, "b") == &table.first[1].value);
    CHECK(find(table, "a") == &table.first[0].value);
}

TEST_CASE("find gives null for a name that is not there") {
    Headers headers;
    const Table table = headers.fields({{"name", number(1)}});
    CHECK(find(table, "nam") == nullptr);
    CHECK(find(table, "names") == nullptr);
    CHECK(find(table, "Name") == nullptr);
    CHECK(find(table, "") == nullptr);
    CHECK(find(Table{}, "name") == nullptr);
}

TEST_CASE("only a longstr or a byte array is text") {
    Headers headers;
    for (const Value& value : headers.one_of_each()) {
        CAPTURE(describe(value));
        CHECK(text_of(&value).has_value() == holds_text(value.kind));
    }
    const Value longstr = text("some");
    const Value bytes{Kind::bytes, "thing"};
    CHECK(text_of(&longstr).value_or("(none)") == "some");
    CHECK(text_of(&bytes).value_or("(none)") == "thing");
    CHECK_FALSE(text_of(nullptr).has_value());
}

TEST_CASE("every width of integer is an integer, and nothing else is") {
    Headers headers;
    for (const Value& value : headers.one_of_each()) {
        CAPTURE(describe(value));
        CHECK(integer_of(&value).has_value() == holds_integer(value.kind));
    }
    CHECK_FALSE(integer_of(nullptr).has_value());
}

TEST_CASE("an integer keeps its value and its sign") {
    for (const Kind kind : {Kind::int8, Kind::int16, Kind::int32, Kind::int64}) {
        const Value value{kind, std::int64_t{-7}};
        CHECK(integer_of(&value).value_or(0) == -7);
    }
    for (const Kind kind : {Kind::uint8, Kind::uint16, Kind::uint32, Kind::uint64, Kind::timestamp}) {
        const Value value{kind, std::uint64_t{7}};
        CHECK(integer_of(&value).value_or(0) == 7);
    }
    const Value lowest = number(std::numeric_limits<std::int64_t>::min());
    CHECK(integer_of(&lowest) == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("an unsigned integer past the largest signed one is no integer of ours") {
    for (const Kind kind : {Kind::uint64, Kind::timestamp}) {
        const Value largest{kind, largest_int64};
        CHECK(integer_of(&largest) == std::numeric_limits<std::int64_t>::max());
        const Value beyond{kind, largest_int64 + 1};
        CHECK_FALSE(integer_of(&beyond).has_value());
        const Value top{kind, std::numeric_limits<std::uint64_t>::max()};
        CHECK_FALSE(integer_of(&top).has_value());
    }
}

TEST_CASE("arrays and tables are recognised by their kind") {
    Headers headers;
    for (const Value& value : headers.one_of_each()) {
        CAPTURE(describe(value));
        CHECK(array_of(&value).has_value() == (value.kind == Kind::array));
        CHECK(table_of(&value).has_value() == (value.kind == Kind::table));
    }
    CHECK_FALSE(array_of(nullptr).has_value());
    CHECK_FALSE(table_of(nullptr).has_value());
}

TEST_CASE("arrays and tables give their elements in the order of the wire") {
    Headers headers;
    const Value array = headers.array({number(1), number(2)});
    REQUIRE(array_of(&array)->size() == 2);
    CHECK(integer_of(array_of(&array)->begin()) == 1);
    CHECK_FALSE(array_of(&array)->empty());
    const Value empty = headers.array({});
    CHECK(array_of(&empty)->empty());
    CHECK(array_of(&empty)->begin() == array_of(&empty)->end());
    const Value table = headers.table({{"z", number(1)}, {"a", number(2)}});
    CHECK(describe(*table_of(&table)) == "{z=l:1, a=l:2}");
    CHECK_FALSE(table_of(&table)->empty());
    CHECK(Table{}.empty());
}

// ── Comparing ──────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("a value of each kind equals its like and none of the others") {
    Headers headers;
    const auto left = headers.one_of_each();
    const auto right = headers.one_of_each();
    for (std::size_t i = 0; i < left.size(); ++i) {
        for (std::size_t j = 0; j < right.size(); ++j) {
            CAPTURE(describe(left[i]), describe(right[j]));
            CHECK(equal(left[i], right[j]) == (i == j));
        }
    }
}

TEST_CASE("values of one kind with other contents differ") {
    Headers headers;
    CHECK_FALSE(equal(number(1), number(2)));
    CHECK_FALSE(equal(text("a"), text("b")));
    CHECK_FALSE(equal(text("a"), text("ab")));
    CHECK_FALSE(equal(seconds(1), seconds(2)));
    CHECK_FALSE(equal(Value{Kind::boolean, true}, Value{Kind::boolean, false}));
    CHECK_FALSE(equal(Value{Kind::float32, 1.5F}, Value{Kind::float32, 1.25F}));
    CHECK_FALSE(equal(Value{Kind::float64, 1.5}, Value{Kind::float64, 1.25}));
    CHECK_FALSE(equal(Value{Kind::decimal, Decimal{2, 314}}, Value{Kind::decimal, Decimal{3, 314}}));
    CHECK_FALSE(equal(Value{Kind::decimal, Decimal{2, 314}}, Value{Kind::decimal, Decimal{2, 315}}));
}

TEST_CASE("the same number in another width differs") {
    CHECK_FALSE(equal(number(1), Value{Kind::int32, std::int64_t{1}}));
    CHECK_FALSE(equal(seconds(1), Value{Kind::uint64, std::uint64_t{1}}));
    CHECK_FALSE(equal(text("a"), Value{Kind::bytes, "a"}));
}

TEST_CASE("arrays are equal element by element, in order") {
    Headers headers;
    const Value array = headers.array({number(1), number(2)});
    CHECK(equal(array, headers.array({number(1), number(2)})));
    CHECK_FALSE(equal(array, headers.array({number(2), number(1)})));
    CHECK_FALSE(equal(array, headers.array({number(1)})));
    CHECK_FALSE(equal(headers.array({number(1)}), array));
    CHECK_FALSE(equal(array, headers.array({number(1), number(2), number(3)})));
    CHECK(equal(headers.array({}), headers.array({})));
}

TEST_CASE("tables are equal field by field, in order, names included") {
    Headers headers;
    const Table table = headers.fields({{"a", number(1)}, {"b", number(2)}});
    CHECK(equal(table, headers.fields({{"a", number(1)}, {"b", number(2)}})));
    CHECK_FALSE(equal(table, headers.fields({{"b", number(2)}, {"a", number(1)}})));
    CHECK_FALSE(equal(table, headers.fields({{"a", number(1)}, {"c", number(2)}})));
    CHECK_FALSE(equal(table, headers.fields({{"a", number(1)}, {"b", number(3)}})));
    CHECK_FALSE(equal(table, headers.fields({{"a", number(1)}})));
    CHECK_FALSE(equal(headers.fields({{"a", number(1)}}), table));
    CHECK(equal(Table{}, Table{}));
}

TEST_CASE("equality reaches all the way down") {
    Headers headers;
    const auto nested = [&](std::int64_t leaf) {
        return headers.table({{"list", headers.array({headers.table({{"leaf", number(leaf)}})})}});
    };
    CHECK(equal(nested(1), nested(1)));
    CHECK_FALSE(equal(nested(1), nested(2)));
}

}  // namespace retryd::core::value_test
