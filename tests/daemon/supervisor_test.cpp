// How long it waits between two attempts to connect, and which faults it logs.
#include "daemon/supervisor.h"

#include "support/catch.h"

namespace retryd::daemon::supervisor_test {

using core::Milliseconds;

TEST_CASE("the wait doubles from first to max and stays there") {
    Backoff backoff({Milliseconds{500}, Milliseconds{3000}});
    const double almost_one = 0.999999;
    std::vector<Milliseconds::rep> waits;
    for (int i = 0; i < 5; ++i)
        waits.push_back(backoff.next(almost_one).count());
    CHECK(waits == std::vector<Milliseconds::rep>{499, 999, 1999, 2999, 2999});
}

TEST_CASE("chance spreads a wait between half of it and the whole") {
    const config::Reconnect settings{Milliseconds{1000}, Milliseconds{30'000}};
    CHECK(Backoff(settings).next(0.0) == Milliseconds{500});
    CHECK(Backoff(settings).next(0.5) == Milliseconds{750});
}

TEST_CASE("after a success the wait is the first again") {
    Backoff backoff({Milliseconds{500}, Milliseconds{30'000}});
    backoff.next(0.0);
    backoff.next(0.0);
    backoff.reset();
    CHECK(backoff.next(0.0) == Milliseconds{250});
}

TEST_CASE("a lasting fault is news once, also while two brokers fail in turn") {
    ReportedFaults faults;
    CHECK(faults.is_news("a", "refused"));
    CHECK(faults.is_news("b", "refused"));
    CHECK_FALSE(faults.is_news("a", "refused"));
    CHECK_FALSE(faults.is_news("b", "refused"));
}

TEST_CASE("another fault is news, and so is the same one after it had healed") {
    ReportedFaults faults;
    faults.is_news("a", "refused");
    CHECK(faults.is_news("a", "no such vhost"));
    CHECK(faults.is_news("a", "refused"));
    faults.healed();
    CHECK(faults.is_news("a", "refused"));
}

}  // namespace retryd::daemon::supervisor_test
