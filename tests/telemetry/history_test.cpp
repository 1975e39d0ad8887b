// How many messages there were in each of the last intervals.
#include "telemetry/history.h"

#include "support/catch.h"

namespace retryd::telemetry::history_test {
namespace {

using core::Milliseconds;
using relay::Outcome;

struct Scene {
    MessageStats stats;
    History history;
    core::SteadyTime now{Milliseconds{1'000'000}};

    void messages(int count, int confirm_ms = 2) {
        for (int n = 0; n < count; ++n)
            stats.settled({Outcome::retried, "email", "r", "rejected", {}, Milliseconds{confirm_ms}, {}});
    }
    void pass(Milliseconds time) {
        for (const auto until = now + time; now < until; history.sample(stats, now))
            now += Milliseconds{1'000};
    }
    Rates rates() const { return history.lately(stats).rates; }
};

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("history: one number for each interval that is over, the oldest first") {
    Scene s;
    s.history.sample(s.stats, s.now);
    CHECK(s.rates().interval == Milliseconds{5'000});
    CHECK(s.rates().retried.empty());
    s.messages(3);
    s.pass(Milliseconds{4'000});
    CHECK(s.rates().retried.empty());
    s.pass(Milliseconds{1'000});
    CHECK(s.rates().retried == Numbers{3});
    s.messages(2);
    s.stats.settled({Outcome::dropped, "email", "", "expired", {}, {}, {}});
    s.pass(Milliseconds{10'000});
    CHECK(s.rates().retried == Numbers{3, 2, 0});
    CHECK(s.rates().dropped == Numbers{0, 1, 0});
    CHECK(s.rates().parked == Numbers{0, 0, 0});
}

TEST_CASE("history: ten minutes are kept, and confirm times are those of that time") {
    Scene s;
    s.history.sample(s.stats, s.now);
    s.messages(1'000, 50'000);
    s.pass(Milliseconds{5'000});
    s.messages(10, 2);
    CHECK(quantile(s.history.lately(s.stats).confirms, 0.5) > 10'000.0);
    s.pass(Milliseconds{600'000});
    CHECK(s.rates().retried.size() == 120);
    CHECK(s.rates().retried.front() == 10);
    CHECK(quantile(s.history.lately(s.stats).confirms, 0.99) <= 2.0);
}

TEST_CASE("history: a day is kept in minutes, and what fails is named") {
    Scene s;
    s.history.sample(s.stats, s.now);
    CHECK(s.history.day().rates.retried.empty());
    s.messages(6);
    s.pass(Milliseconds{60'000});
    CHECK(s.history.day().rates.interval == Milliseconds{60'000});
    CHECK(s.history.day().rates.retried == Numbers{6});
    CHECK(s.history.failing() == std::vector<std::string>{"email"});
    s.pass(Milliseconds{24 * 3'600'000});
    CHECK(s.history.day().rates.retried.size() == 1'440);
    CHECK(s.history.day().rates.retried.front() == 0);
    CHECK(s.history.failing().empty());
    CHECK(s.history.day().failures_interval == Milliseconds{300'000});
}

}  // namespace retryd::telemetry::history_test
