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

}  // namespace retryd::amqp
