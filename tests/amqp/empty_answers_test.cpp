#include "amqp/empty_answers.h"

#include "support/catch.h"

namespace retryd::amqp {

TEST_CASE("only an empty queue without consumers, and only after a while, may be one that the broker could not ask") {
    constexpr core::Milliseconds quick{5};
    constexpr core::Milliseconds slow{250};
    CHECK(may_be_unasked({0, 0}, slow));
    CHECK_FALSE(may_be_unasked({0, 0}, quick));
    CHECK_FALSE(may_be_unasked({1, 0}, slow));
    CHECK_FALSE(may_be_unasked({0, 1}, slow));
}

TEST_CASE("with a consumer of ours on it, a queue without consumers was not asked") {
    using Result = Declarer::Result;
    const auto outcome = [](Result result, QueueCounts counts) {
        Declarer::Outcome answer;
        answer.result = result;
        answer.counts = counts;
        return answer;
    };
    CHECK(ready_where_we_consume(outcome(Result::done, {0, 1})) == 0);
    CHECK(ready_where_we_consume(outcome(Result::done, {3, 1})) == 3);
    CHECK(ready_where_we_consume(outcome(Result::done, {0, 0})) == std::nullopt);
    CHECK(ready_where_we_consume(outcome(Result::missing, {})) == std::nullopt);
    CHECK(ready_where_we_consume(outcome(Result::refused, {0, 1})) == std::nullopt);
}

}  // namespace retryd::amqp
