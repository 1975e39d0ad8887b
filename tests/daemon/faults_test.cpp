#include "daemon/faults.h"

#include "support/catch.h"

namespace retryd::daemon::faults_test {

TEST_CASE("a lasting fault is news once, also while two brokers fail in turn") {
    Faults faults;
    CHECK(faults.is_news("a", "refused"));
    CHECK(faults.is_news("b", "refused"));
    CHECK_FALSE(faults.is_news("a", "refused"));
    CHECK_FALSE(faults.is_news("b", "refused"));
}

TEST_CASE("another fault is news, and so is the same one after it had healed") {
    Faults faults;
    faults.is_news("a", "refused");
    CHECK(faults.is_news("a", "no such vhost"));
    CHECK(faults.is_news("a", "refused"));
    faults.healed();
    CHECK(faults.is_news("a", "refused"));
}

}  // namespace retryd::daemon::faults_test
