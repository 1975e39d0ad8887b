// What of the broker's answers on a queue of held messages is believed.
#include "daemon/held_count.h"

#include "support/catch.h"

namespace retryd::daemon::held_count_test {
namespace {

using amqp::QueueCounts;
using core::Milliseconds;

constexpr bool often = true;
constexpr bool consumed = true;
const std::optional<std::uint64_t> not_known;

struct Fixture {
    HeldCount count;
    core::SteadyTime now = core::SteadyTime{} + Milliseconds{100'000};

    void pass(Milliseconds time) { now += time; }
    /// Asks, and answers after that time.
    auto ask(std::optional<QueueCounts> counts, std::optional<std::uint64_t> known, bool with_consumer = false,
             Milliseconds took = Milliseconds{1}) {
        count.asked(now);
        pass(took);
        return count.answered(counts, known, with_consumer, now);
    }
};

}  // namespace

TEST_CASE("held messages are counted every second where there may be some, else every ten, one question at a time") {
    Fixture f;
    REQUIRE(f.count.due(often, f.now));
    f.count.asked(f.now);
    f.pass(Milliseconds{60'000});
    REQUIRE_FALSE(f.count.due(often, f.now));
    f.count.unanswered();
    REQUIRE(f.count.due(often, f.now));

    CHECK(f.ask(QueueCounts{5, 0}, not_known) == 5);
    f.pass(Milliseconds{998});
    CHECK_FALSE(f.count.due(often, f.now));
    f.pass(Milliseconds{1});
    CHECK(f.count.due(often, f.now));
    CHECK_FALSE(f.count.due(!often, f.now));
    f.pass(Milliseconds{9'000});
    CHECK(f.count.due(!often, f.now));
}

TEST_CASE("a count of held messages that was asked for before our consumer came or went does not count") {
    Fixture f;
    CHECK(f.ask({{0, 0}}, 0) == 0);
    CHECK(f.count.none_since_busy());
    f.count.asked(f.now);
    f.pass(Milliseconds{5});
    f.count.lane_changed(f.now);  // all of them become ready again
    f.pass(Milliseconds{5});
    CHECK_FALSE(f.count.answered(QueueCounts{0, 1}, 50, !consumed, f.now));
    CHECK_FALSE(f.count.none_since_busy());

    // The next one is asked only a second later, and counts.
    f.pass(Milliseconds{994});
    CHECK_FALSE(f.count.due(often, f.now));
    f.pass(Milliseconds{1});
    REQUIRE(f.count.due(often, f.now));
    CHECK(f.ask(QueueCounts{50, 0}, 50) == 50);
}

TEST_CASE("a count of held messages that is asked for in the moment in which our consumer comes does not count") {
    Fixture f;
    f.count.lane_changed(f.now);
    f.count.asked(f.now);
    CHECK_FALSE(f.count.answered(QueueCounts{3, 1}, 50, consumed, f.now));
}

TEST_CASE("a count of held messages that nobody waits for any more does not count") {
    Fixture f;
    CHECK_FALSE(f.count.answered(QueueCounts{3, 0}, not_known, !consumed, f.now));
    f.count.asked(f.now);
    f.count.unanswered();
    CHECK_FALSE(f.count.answered(QueueCounts{3, 0}, not_known, !consumed, f.now));
}

TEST_CASE("a queue of held messages that is called empty is so after half a minute, if some were known to be there") {
    Fixture f;
    CHECK_FALSE(f.ask({{0, 0}}, 50));
    CHECK(f.count.may_be_empty());
    f.pass(Milliseconds{29'990});
    CHECK_FALSE(f.ask({{0, 0}}, 50));
    CHECK_FALSE(f.count.none_since_busy());
    f.pass(Milliseconds{20});
    CHECK(f.ask({{0, 0}}, 50) == 0);
    CHECK(f.count.none_since_busy());
    // And those that are put there then have half a minute of their own.
    f.pass(Milliseconds{9'000});
    CHECK_FALSE(f.ask({{0, 0}}, 1));
}

TEST_CASE("a single answer that calls a queue of held messages empty is not believed, however long it took") {
    Fixture f;
    CHECK_FALSE(f.ask({{0, 0}}, 50, !consumed, Milliseconds{60'000}));
    CHECK_FALSE(f.ask({{0, 0}}, 50));
}

TEST_CASE("a count of held messages without our own consumer shows that the queue was not asked before, either") {
    Fixture f;
    CHECK_FALSE(f.ask({{0, 0}}, 50));
    f.pass(Milliseconds{20'000});
    CHECK_FALSE(f.ask({{0, 0}}, 50, consumed));
    f.pass(Milliseconds{20'000});
    CHECK_FALSE(f.ask({{0, 0}}, 50));
}

TEST_CASE("whatever else the broker says of a queue of held messages ends its time of being called empty") {
    Fixture f;
    CHECK_FALSE(f.ask({{0, 0}}, 50));
    f.pass(Milliseconds{20'000});
    CHECK(f.ask(QueueCounts{50, 0}, 50) == 50);
    CHECK_FALSE(f.count.may_be_empty());
    CHECK_FALSE(f.count.none_since_busy());
    f.pass(Milliseconds{20'000});
    CHECK_FALSE(f.ask({{0, 0}}, 50));
    f.count.asked(f.now);
    f.pass(Milliseconds{40'000});
    f.count.unanswered();
    CHECK_FALSE(f.ask({{0, 0}}, 50));
}

TEST_CASE("a queue of held messages that was empty for long is not believed to be once some were put there") {
    Fixture f;
    CHECK(f.ask({{0, 0}}, 0) == 0);
    f.pass(Milliseconds{60'000});
    CHECK(f.ask({{0, 0}}, 0) == 0);
    CHECK_FALSE(f.count.may_be_empty());
    CHECK_FALSE(f.ask({{0, 0}}, 1));
    f.pass(Milliseconds{30'000});
    CHECK(f.ask({{0, 0}}, 1) == 0);
    CHECK_FALSE(f.ask({{0, 0}}, 1));
}

TEST_CASE("a queue of held messages is empty at once where it is gone") {
    Fixture f;
    CHECK(f.ask(std::nullopt, 50) == 0);
    CHECK(f.count.none_since_busy());
}

TEST_CASE("of a queue of held messages of which nothing is known, only a quick answer says that it is empty") {
    Fixture f;
    CHECK_FALSE(f.ask({{0, 0}}, not_known, !consumed, Milliseconds{250}));
    CHECK(f.ask({{0, 0}}, not_known) == 0);
}

TEST_CASE(
    "of a queue of held messages of which nothing is known, slow answers say that it is empty after half a minute") {
    Fixture f;
    CHECK_FALSE(f.ask({{0, 0}}, not_known, !consumed, Milliseconds{250}));
    f.pass(Milliseconds{29'749});
    CHECK_FALSE(f.ask({{0, 0}}, not_known, !consumed, Milliseconds{250}));
    CHECK(f.ask({{0, 0}}, not_known, !consumed, Milliseconds{250}) == 0);
}

TEST_CASE("a count of held messages that leaves out our own consumer does not count, however often it is given") {
    Fixture f;
    for (int i = 0; i < 100; ++i) {
        CHECK_FALSE(f.ask({{0, 0}}, 50, consumed));
        CHECK_FALSE(f.count.may_be_empty());
        f.pass(Milliseconds{1'000});
    }
    CHECK(f.ask(QueueCounts{0, 1}, 50, consumed) == 0);
}

TEST_CASE("a queue of held messages has none only where that was asked for after the last one was on its way") {
    Fixture f;
    CHECK(f.ask(QueueCounts{0, 1}, 50, consumed) == 0);
    CHECK(f.count.none_since_busy());
    f.count.busy(f.now);
    CHECK_FALSE(f.count.none_since_busy());

    f.pass(Milliseconds{500});
    CHECK(f.ask(QueueCounts{0, 1}, 0, consumed) == 0);
    CHECK(f.count.none_since_busy());
    CHECK_FALSE(f.count.none_since_busy(Milliseconds{500}));
    f.pass(Milliseconds{1});
    CHECK(f.ask(QueueCounts{0, 1}, 0, consumed) == 0);
    CHECK(f.count.none_since_busy(Milliseconds{500}));
}

}  // namespace retryd::daemon::held_count_test
