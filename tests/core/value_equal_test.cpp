#include "core/headers.h"
#include "support/catch.h"

namespace retryd::core::value_equal_test {
namespace {
using namespace test;
}  // namespace

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

}  // namespace retryd::core::value_equal_test
