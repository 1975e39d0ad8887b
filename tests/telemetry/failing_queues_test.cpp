#include "telemetry/failing_queues.h"

#include "support/catch.h"

namespace retryd::telemetry::failing_queues_test {
namespace {

using Changes = std::vector<FailingQueues::Change>;

struct Minutes {
    FailingQueues queues;
    core::SteadyTime now{core::Milliseconds{1}};

    Minutes() { queues.due(now); }
    Changes pass(const std::string& queue, int messages) {
        for (int n = 0; n < messages; ++n)
            queues.died(queue);
        CHECK(queues.due(now + core::Milliseconds{59'999}).empty());
        return queues.due(now += core::Milliseconds{60'000});
    }
};

}  // namespace

TEST_CASE("failing queues: a few messages are nothing to speak of") {
    Minutes m;
    for (int minute = 0; minute < 5; ++minute)
        CHECK(m.pass("email", 19).empty());
}

TEST_CASE("failing queues: ten times the usual is told once, and once when it is over") {
    Minutes m;
    for (int minute = 0; minute < 300; ++minute)
        REQUIRE(m.pass("email", 15).empty());
    CHECK(m.pass("email", 100).empty());
    const Changes begins = m.pass("email", 400);
    REQUIRE(begins.size() == 1);
    CHECK(begins[0].fails);
    CHECK(begins[0].messages == 400);
    CHECK((begins[0].usual > 14 && begins[0].usual < 18));
    CHECK(m.pass("email", 500).empty());
    CHECK(m.pass("email", 120).empty());
    const Changes over = m.pass("email", 15);
    REQUIRE(over.size() == 1);
    CHECK_FALSE(over[0].fails);
}

TEST_CASE("failing queues: forged names do not fill the memory") {
    Minutes m;
    for (int n = 0; n < 5'000; ++n)
        m.queues.died("forged" + std::to_string(n));
    CHECK(m.pass("late", 100).empty());
    for (int minute = 0; minute < 200; ++minute)
        m.pass("x", 0);
    CHECK(m.pass("late", 100).size() == 1);
}

}  // namespace retryd::telemetry::failing_queues_test
