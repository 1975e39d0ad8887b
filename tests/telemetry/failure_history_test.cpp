// In which work queues messages fail, and how it was before.
#include "support/catch.h"
#include "telemetry/history.h"

namespace retryd::telemetry::failure_history_test {
namespace {

using core::Milliseconds;
using relay::Outcome;
using Numbers = std::vector<std::uint64_t>;

struct Scene {
    MessageStats stats;
    FailureHistory history;
    core::SteadyTime now{Milliseconds{1'000'000}};

    Scene() { history.sample(stats.counts().queues, now); }

    void retry(const std::string& queue, int seconds, int messages = 1) {
        for (int n = 0; n < messages; ++n)
            stats.settled({Outcome::retried, queue, queue + ".retry", "rejected", Milliseconds{1'000 * seconds}, {}});
    }
    void other(Outcome outcome, const std::string& queue, int messages = 1) {
        for (int n = 0; n < messages; ++n)
            stats.settled({outcome, queue, "elsewhere", "rejected", {}, {}, relay::TargetRole::parking});
    }
    void pass(int seconds) {
        for (int n = 0; n < seconds / 5; ++n) {
            now += FailureHistory::step;
            history.sample(stats.counts().queues, now);
        }
    }
    FailureHistory::Queue only() const {
        const auto queues = history.failing();
        REQUIRE(queues.size() == 1);
        return queues[0];
    }
};

}  // namespace

TEST_CASE("failures: of the last minute, and of each minute before, the most first") {
    Scene s;
    s.retry("email", 5, 7);
    s.pass(60);
    s.retry("email", 5, 2);
    s.retry("sms", 5, 3);
    s.pass(5);
    const auto queues = s.history.failing();
    REQUIRE(queues.size() == 2);
    CHECK(queues[0].work_queue == "sms");
    CHECK(queues[1].work_queue == "email");
    CHECK(queues[1].last_minute == 2);
    s.pass(55);
    CHECK(s.history.failing().at(1).minutes == Numbers{7, 2});
    s.pass(5);
    CHECK(s.history.failing().empty());
}

TEST_CASE("failures: what is parked, dropped or held is one; what takes a detour or is bound again is none") {
    Scene s;
    s.other(Outcome::parked, "a", 1);
    s.other(Outcome::dropped, "a", 2);
    s.other(Outcome::held, "a", 4);
    s.other(Outcome::detoured, "a", 8);
    s.other(Outcome::returned_to_queue, "a", 16);
    s.other(Outcome::detoured, "b");
    s.pass(5);
    CHECK(s.only().last_minute == 7);
    CHECK(s.only().parked_lately == 1);
}

TEST_CASE("failures: what was counted before the history began counts for nothing") {
    MessageStats stats;
    stats.settled({Outcome::parked, "a", "p", "rejected", {}, {}, relay::TargetRole::parking});
    FailureHistory history;
    history.sample(stats.counts().queues, core::SteadyTime{Milliseconds{5}});
    CHECK(history.failing().empty());
    CHECK(history.days().empty());
}

TEST_CASE("failures: what was put on a rung is home when its delay is over, and until then it is known when") {
    Scene s;
    s.retry("email", 30, 4);
    s.pass(5);  // counted in the step that ends now
    REQUIRE(s.only().rungs.size() == 1);
    CHECK(s.only().rungs[0].put_lately == 4);
    CHECK(s.only().rungs[0].home_lately == 0U);
    CHECK(s.only().rungs[0].next == Milliseconds{30'000});
    CHECK_FALSE(s.only().rungs[0].all_known);
    s.pass(20);
    CHECK(s.only().rungs[0].next == Milliseconds{10'000});
    s.pass(10);
    CHECK(s.only().rungs[0].home_lately == 4U);
    CHECK_FALSE(s.only().rungs[0].next);
    CHECK(s.only().rungs[0].all_known);
}

TEST_CASE("failures: a delay that is longer than the history does not tell what is home") {
    Scene s;
    s.retry("email", 3'600);
    s.pass(5);
    CHECK_FALSE(s.only().rungs[0].home_lately);
    CHECK(s.only().rungs[0].next == Milliseconds{3'600'000});
    CHECK_FALSE(s.only().rungs[0].all_known);
}

TEST_CASE("failures: a day is kept in steps of five minutes, and then forgotten") {
    Scene s;
    s.retry("email", 5, 9);
    s.pass(5);
    CHECK(s.history.days().at(0).failures == Numbers{9});
    s.pass(600);
    s.retry("email", 5, 1);
    s.pass(5);
    CHECK(s.history.days().at(0).failures == Numbers{9, 0, 1});
    s.pass(23 * 3'600);
    CHECK(s.history.days().at(0).failures.size() == 279);
    s.pass(2 * 3'600);
    CHECK(s.history.days().empty());
}

TEST_CASE("failures: however many names there are, so many are kept: those that fail most") {
    Scene s;
    for (int n = 0; n < 400; ++n)
        s.retry("made-up." + std::to_string(n), 5);
    s.retry("email", 5, 5);
    s.pass(5);
    const auto queues = s.history.failing();
    CHECK(queues.size() == FailureHistory::most_queues);
    CHECK(queues[0].work_queue == "email");
    CHECK(s.history.days().size() == FailureHistory::most_days);
    CHECK(s.history.days()[0].work_queue == "email");
}

TEST_CASE("failures: what came after a long pause is counted once, where it ended") {
    Scene s;
    s.retry("email", 5, 3);
    s.now += Milliseconds{3'600'000};
    s.history.sample(s.stats.counts().queues, s.now);
    CHECK(s.only().last_minute == 3);
    CHECK(s.only().minutes.size() == 15);
}

}  // namespace retryd::telemetry::failure_history_test
