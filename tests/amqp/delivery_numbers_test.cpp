#include "amqp/delivery_numbers.h"

#include "support/catch.h"

namespace retryd::amqp::delivery_numbers_test {
namespace {

using Origin = DeliveryNumbers::Origin;
using Origins = std::vector<Origin>;

/// Of two connections in turn: 1 is 0's 1, 2 is 1's 1, 3 is 0's 2, 4 is 1's 2 …
DeliveryNumbers numbers_up_to(core::DeliveryTag last) {
    DeliveryNumbers numbers;
    for (core::DeliveryTag tag = 1; 2 * tag <= last; ++tag) {
        CHECK(numbers.add({0, tag}) == 2 * tag - 1);
        CHECK(numbers.add({1, tag}) == 2 * tag);
    }
    return numbers;
}

}  // namespace

TEST_CASE("an ack of many is one for each connection, with the newest of its tags") {
    DeliveryNumbers numbers = numbers_up_to(8);
    CHECK(numbers.settle_up_to(5) == Origins{{0, 3}, {1, 2}});
    CHECK(numbers.settle_up_to(5).empty());
    CHECK(numbers.settle_up_to(8) == Origins{{1, 4}, {0, 4}});
    CHECK(numbers.add({1, 5}) == 9);
    CHECK(numbers.settle_up_to(9) == Origins{{1, 5}});
}

TEST_CASE("what was settled alone is not settled again: the broker would close the channel") {
    DeliveryNumbers numbers = numbers_up_to(6);
    CHECK(numbers.settle(5) == Origin{0, 3});
    CHECK_FALSE(numbers.settle(5));
    CHECK(numbers.settle(1) == Origin{0, 1});
    CHECK_FALSE(numbers.settle(1));
    CHECK(numbers.settle_up_to(6) == Origins{{1, 3}, {0, 2}});
}

TEST_CASE("the tags of a channel that has ended are forgotten, those of the others are not") {
    DeliveryNumbers numbers = numbers_up_to(6);
    numbers.forget(1);
    CHECK_FALSE(numbers.settle(2));
    CHECK(numbers.settle_up_to(4) == Origins{{0, 2}});
    CHECK(numbers.add({1, 1}) == 7);
    CHECK(numbers.settle_up_to(7) == Origins{{0, 3}, {1, 1}});
}

TEST_CASE("a number that nobody has is nobody's") {
    DeliveryNumbers numbers;
    CHECK_FALSE(numbers.settle(0));
    CHECK_FALSE(numbers.settle(1));
    CHECK(numbers.settle_up_to(9).empty());
}

}  // namespace retryd::amqp::delivery_numbers_test
