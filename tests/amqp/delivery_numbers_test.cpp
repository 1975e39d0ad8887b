#include "amqp/delivery_numbers.h"

#include "support/catch.h"

namespace retryd::amqp::delivery_numbers_test {
namespace {

using Origin = DeliveryNumbers::Origin;
using Acks = std::vector<DeliveryNumbers::Ack>;

/// Of two connections in turn: 1 is 0's 1, 2 is 1's 1, 3 is 0's 2, 4 is 1's 2 …
DeliveryNumbers numbers_up_to(core::DeliveryTag last) {
    DeliveryNumbers numbers;
    for (core::DeliveryTag tag = 1; 2 * tag <= last; ++tag) {
        CHECK(numbers.add({0, tag}, 10) == 2 * tag - 1);
        CHECK(numbers.add({1, tag}, 100) == 2 * tag);
    }
    return numbers;
}

}  // namespace

TEST_CASE("an ack of many is one for each connection, with the newest of its tags") {
    DeliveryNumbers numbers = numbers_up_to(8);
    CHECK(numbers.settle_up_to(5) == Acks{{{0, 3}, true}, {{1, 2}, true}});
    CHECK(numbers.settle_up_to(5).empty());
    CHECK(numbers.settle_up_to(8) == Acks{{{1, 4}, true}, {{0, 4}, true}});
    CHECK(numbers.add({1, 5}, 1) == 9);
    CHECK(numbers.settle_up_to(9) == Acks{{{1, 5}, true}});
}

TEST_CASE("what was settled alone is not settled again: the broker would close the channel") {
    DeliveryNumbers numbers = numbers_up_to(6);
    CHECK(numbers.settle(5) == Origin{0, 3});
    CHECK_FALSE(numbers.settle(5));
    CHECK(numbers.settle(1) == Origin{0, 1});
    CHECK_FALSE(numbers.settle(1));
    CHECK(numbers.settle_up_to(6) == Acks{{{1, 3}, true}, {{0, 2}, true}});
}

TEST_CASE("the tags of a channel that has ended are forgotten, those of the others are not") {
    DeliveryNumbers numbers = numbers_up_to(6);
    numbers.forget(1);
    CHECK_FALSE(numbers.settle(2));
    CHECK(numbers.settle_up_to(4) == Acks{{{0, 2}, true}});
    CHECK(numbers.add({1, 1}, 1) == 7);
    CHECK(numbers.settle_up_to(7) == Acks{{{0, 3}, true}, {{1, 1}, true}});
}

TEST_CASE("no ack of many takes in what is kept") {
    DeliveryNumbers numbers = numbers_up_to(8);
    CHECK(numbers.keep(4) == Origin{1, 2});
    CHECK_FALSE(numbers.keep(4));
    CHECK(numbers.settle_up_to(6) == Acks{{{0, 3}, true}, {{1, 1}, false}, {{1, 3}, false}});
    CHECK(numbers.open(1).messages == 1);
    numbers.forget(1);
    CHECK(numbers.add({1, 1}, 1) == 9);
    CHECK(numbers.add({1, 2}, 1) == 10);
    CHECK(numbers.settle_up_to(10) == Acks{{{0, 4}, true}, {{1, 2}, true}});
}

TEST_CASE("what each connection has open is counted, with the bytes of it") {
    using Open = DeliveryNumbers::Open;
    DeliveryNumbers numbers = numbers_up_to(6);
    CHECK(numbers.open(0) == Open{3, 30});
    CHECK(numbers.open(1) == Open{3, 300});
    CHECK(numbers.open(7) == Open{});
    CHECK(numbers.bytes_beside_first() == 300);
    CHECK(numbers.is_of_first(1));
    CHECK_FALSE(numbers.is_of_first(2));
    numbers.settle(4);
    numbers.settle(4);
    CHECK(numbers.open(1) == Open{2, 200});
    numbers.settle_up_to(3);
    CHECK_FALSE(numbers.is_of_first(1));
    CHECK(numbers.open(0) == Open{1, 10});
    CHECK(numbers.open(1) == Open{1, 100});
    numbers.forget(1);
    numbers.forget(1);
    CHECK(numbers.open(1) == Open{});
    CHECK(numbers.bytes_beside_first() == 0);
    CHECK(numbers.open(0) == Open{1, 10});
}

TEST_CASE("a number that nobody has is nobody's") {
    DeliveryNumbers numbers;
    CHECK_FALSE(numbers.settle(0));
    CHECK_FALSE(numbers.settle(1));
    CHECK(numbers.settle_up_to(9).empty());
}

}  // namespace retryd::amqp::delivery_numbers_test
