#include "amqp/delivery_numbers.h"

#include "support/catch.h"

namespace retryd::amqp::delivery_numbers_test {
namespace {

using Origin = DeliveryNumbers::Origin;
using Acks = std::vector<DeliveryNumbers::Ack>;

/// Of two channels in turn, the second that of a source: 1 is 0's 1, 2 is 1's 1, 3 is 0's 2, 4 is 1's 2 …
DeliveryNumbers numbers_up_to(core::DeliveryTag last) {
    DeliveryNumbers numbers(1);
    for (core::DeliveryTag tag = 1; 2 * tag <= last; ++tag) {
        CHECK(numbers.add({0, tag}, 10) == 2 * tag - 1);
        CHECK(numbers.add({1, tag}, 100) == 2 * tag);
    }
    return numbers;
}

}  // namespace

TEST_CASE("an ack of many is one for each channel, with the newest of its tags") {
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

TEST_CASE("what each channel has open is counted, with the bytes of it") {
    using Open = DeliveryNumbers::Open;
    DeliveryNumbers numbers = numbers_up_to(6);
    CHECK(numbers.open(0) == Open{3, 30});
    CHECK(numbers.open(1) == Open{3, 300});
    CHECK(numbers.open(7) == Open{});
    CHECK(numbers.bytes_of_sources() == 300);
    CHECK(numbers.is_of_error_queue(1));
    CHECK_FALSE(numbers.is_of_error_queue(2));
    numbers.settle(4);
    numbers.settle(4);
    CHECK(numbers.open(1) == Open{2, 200});
    numbers.settle_up_to(3);
    CHECK_FALSE(numbers.is_of_error_queue(1));
    CHECK(numbers.open(0) == Open{1, 10});
    CHECK(numbers.open(1) == Open{1, 100});
    numbers.forget(1);
    numbers.forget(1);
    CHECK(numbers.open(1) == Open{});
    CHECK(numbers.bytes_of_sources() == 0);
    CHECK(numbers.open(0) == Open{1, 10});
}

TEST_CASE("it may begin in the middle, where what was not settled had its tag for a number") {
    DeliveryNumbers numbers(4);
    numbers.begin(1, {5, 7, 8}, 9);
    CHECK(numbers.open(1) == DeliveryNumbers::Open{3, 0});
    CHECK(numbers.add({2, 1}, 10) == 10);
    CHECK(numbers.add({1, 10}, 10) == 11);
    CHECK(numbers.bytes_of_sources() == 0);
    CHECK(numbers.is_of_error_queue(7));
    CHECK_FALSE(numbers.is_of_error_queue(6));  // was settled before
    CHECK_FALSE(numbers.settle(9));
    CHECK(numbers.settle(7) == Origin{1, 7});
    CHECK(numbers.settle_up_to(10) == Acks{{{1, 8}, true}, {{2, 1}, true}});
    CHECK(numbers.settle_up_to(11) == Acks{{{1, 10}, true}});
    CHECK(numbers.open(1) == DeliveryNumbers::Open{});
}

TEST_CASE("it may begin in the middle with nothing unsettled, or at the very beginning") {
    DeliveryNumbers middle(4);
    middle.begin(1, {}, 9);
    CHECK_FALSE(middle.settle(9));
    CHECK(middle.add({2, 1}, 0) == 10);
    CHECK(middle.settle(10) == Origin{2, 1});
    DeliveryNumbers beginning(4);
    beginning.begin(1, {}, 0);
    CHECK(beginning.add({2, 1}, 0) == 1);
}

TEST_CASE("a number that nobody has is nobody's") {
    DeliveryNumbers numbers(1);
    CHECK_FALSE(numbers.settle(0));
    CHECK_FALSE(numbers.settle(1));
    CHECK(numbers.settle_up_to(9).empty());
}

}  // namespace retryd::amqp::delivery_numbers_test
