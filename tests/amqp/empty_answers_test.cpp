#include "amqp/empty_answers.h"

#include "support/catch.h"

namespace retryd::amqp::empty_answers_test {
namespace {

constexpr core::Milliseconds quick{5};
constexpr core::Milliseconds slow{250};

}  // namespace

TEST_CASE("an answer that says something is believed at once, however late it comes") {
    EmptyAnswers answers{2};
    CHECK(answers.believed({1, 0}, quick));
    CHECK(answers.believed({1, 0}, slow));
    CHECK(answers.believed({0, 1}, slow));  // the broker invents no consumer
}

TEST_CASE("an empty queue is believed after as many quick answers in a row as are wanted") {
    EmptyAnswers one{1};
    CHECK(one.believed({0, 0}, quick));
    EmptyAnswers two{2};
    CHECK_FALSE(two.any());
    CHECK_FALSE(two.believed({0, 0}, quick));
    CHECK(two.any());
    CHECK(two.believed({0, 0}, quick));
    CHECK(two.believed({0, 0}, quick));
}

TEST_CASE("a slow answer that says empty counts for nothing, and the quick ones before it no more") {
    EmptyAnswers answers{2};
    CHECK_FALSE(answers.believed({0, 0}, slow));
    CHECK_FALSE(answers.believed({0, 0}, quick));
    CHECK_FALSE(answers.believed({0, 0}, slow));
    CHECK_FALSE(answers.any());
    CHECK_FALSE(answers.believed({0, 0}, quick));
    CHECK(answers.believed({3, 0}, quick));
    CHECK_FALSE(answers.believed({0, 0}, quick));
}

}  // namespace retryd::amqp::empty_answers_test
