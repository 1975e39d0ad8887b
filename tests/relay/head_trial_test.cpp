// One message at a time, from the end of a connection over one of them until all that were beside it have passed.
#include "relay/head_trial.h"

#include "support/catch.h"

namespace retryd::relay::head_trial_test {
namespace {

constexpr core::SteadyTime start{core::Milliseconds{1'000}};

core::SteadyTime after(int ms) {
    return start + core::Milliseconds{ms};
}

}  // namespace

TEST_CASE("deliveries come one at a time from the end of a connection until as many have passed as were suspect") {
    HeadTrial trial;
    CHECK(trial.prefetch(500) == 500);
    trial.begin(3, start);
    CHECK(trial.prefetch(500) == 1);
    CHECK(trial.prefetch(0) == 1);
    trial.consuming(after(10));
    trial.passed(after(6'000));
    trial.passed(after(6'000));
    CHECK_FALSE(trial.on_tick(after(6'001)));
    trial.passed(after(6'001));
    CHECK(trial.on_tick(after(6'001)));
    CHECK(trial.prefetch(500) == 500);
    CHECK_FALSE(trial.on_tick(after(6'002)));
}

TEST_CASE("a trial lasts some seconds, for another daemon may hand back what it has met") {
    HeadTrial trial;
    trial.begin(1, start);
    trial.passed(after(1));
    CHECK_FALSE(trial.on_tick(after(4'999)));
    CHECK(trial.on_tick(after(5'000)));
}

TEST_CASE("a trial ends when nothing comes any more and nothing is ready in the queue") {
    HeadTrial trial;
    trial.begin(100, start);
    trial.consuming(after(10'000));
    CHECK_FALSE(trial.asks_for_count(after(19'999), true));
    CHECK_FALSE(trial.asks_for_count(after(20'000), false));  // something waits to be settled
    CHECK(trial.asks_for_count(after(20'000), true));
    CHECK_FALSE(trial.asks_for_count(after(20'001), true));  // asked already
    CHECK_FALSE(trial.on_tick(after(20'001)));
    trial.counted(0, after(20'002));
    CHECK(trial.on_tick(after(20'002)));
}

TEST_CASE("a trial goes on while a broker that hands over nothing has some ready, or does not say") {
    HeadTrial trial;
    trial.begin(100, start);
    CHECK(trial.asks_for_count(after(10'000), true));
    trial.counted(3, after(10'100));
    CHECK_FALSE(trial.on_tick(after(10'100)));
    CHECK_FALSE(trial.asks_for_count(after(20'099), true));
    CHECK(trial.asks_for_count(after(20'100), true));
    trial.counted(std::nullopt, after(50'000));
    CHECK_FALSE(trial.on_tick(after(50'000)));
    CHECK(trial.asks_for_count(after(60'000), true));
    trial.consuming(after(60'001));  // another session: the answer of the former one never comes
    trial.counted(0, after(60'002));
    CHECK_FALSE(trial.on_tick(after(70'000)));
    CHECK(trial.asks_for_count(after(70'001), true));
}

TEST_CASE("a trial is held up when its only channel is silent for a second and nothing waits to be settled") {
    HeadTrial trial;
    const core::Milliseconds second{1'000};
    CHECK_FALSE(trial.head_blocks_channel(10 * second, true));  // messages do not come one at a time
    trial.begin(100, start);
    CHECK_FALSE(trial.head_blocks_channel(second - core::Milliseconds{1}, true));
    CHECK_FALSE(trial.head_blocks_channel(10 * second, false));
    CHECK(trial.head_blocks_channel(second, true));
}

TEST_CASE(
    "a broker that is slow as a whole gets twice the time each time, until something is found or a trial begins") {
    HeadTrial trial;
    const core::Milliseconds second{1'000};
    trial.begin(100, start);
    trial.blocking_head_set_aside(false);
    CHECK_FALSE(trial.head_blocks_channel(2 * second - core::Milliseconds{1}, true));
    CHECK(trial.head_blocks_channel(2 * second, true));
    for (int i = 0; i < 10; ++i)
        trial.blocking_head_set_aside(false);
    CHECK_FALSE(trial.head_blocks_channel(30 * second - core::Milliseconds{1}, true));
    CHECK(trial.head_blocks_channel(30 * second, true));
    trial.blocking_head_set_aside(true);
    CHECK(trial.head_blocks_channel(second, true));
    trial.blocking_head_set_aside(false);
    trial.counted(0, after(1));
    CHECK(trial.asks_for_count(after(10'000), true));
    trial.counted(0, after(10'001));
    REQUIRE(trial.on_tick(after(10'001)));
    CHECK_FALSE(trial.head_blocks_channel(30 * second, true));
    trial.begin(100, after(20'000));
    CHECK(trial.head_blocks_channel(second, true));
}

TEST_CASE("those that were suspect stay so when another connection ends") {
    HeadTrial trial;
    trial.begin(100, start);
    for (int i = 0; i < 60; ++i)
        trial.passed(after(1'000));
    trial.begin(1, after(1'000));
    for (int i = 0; i < 39; ++i)
        trial.passed(after(7'000));
    CHECK_FALSE(trial.on_tick(after(7'000)));
    trial.passed(after(7'000));
    CHECK(trial.on_tick(after(7'000)));
}

TEST_CASE("what has ended two connections before anything was handed over is at the head alone") {
    HeadTrial trial;
    trial.begin(100, start);  // the session's, with any number of deliveries
    trial.begin(1, after(1));
    CHECK_FALSE(trial.head_is_isolated());
    trial.passed(after(2));
    trial.begin(1, after(3));
    trial.begin(1, after(4));
    CHECK_FALSE(trial.head_is_isolated());
    trial.begin(1, after(5));
    CHECK(trial.head_is_isolated());
    CHECK(trial.ended() == 5);
    SECTION("and twice as many are needed once another message was found there") {
        trial.head_tried(3, true);
        CHECK(trial.ended() == 8);
        for (int i = 0; i < 3; ++i)
            trial.begin(1, after(6));
        CHECK_FALSE(trial.head_is_isolated());
        trial.begin(1, after(6));
        CHECK(trial.head_is_isolated());
    }
    SECTION("and as many as before where none was") {
        trial.head_tried(3, false);
        CHECK_FALSE(trial.head_is_isolated());
        trial.begin(1, after(6));
        trial.begin(1, after(6));
        CHECK(trial.head_is_isolated());
    }
}

TEST_CASE(
    "a connection that ends before anything was handed over has ended in vain, until one hands over or is spent") {
    HeadTrial trial;
    trial.begin(100, start);
    CHECK_FALSE(trial.ended_before_any_delivery());
    trial.begin(1, after(1));
    CHECK(trial.ended_before_any_delivery());
    trial.head_tried(4, false);
    CHECK_FALSE(trial.ended_before_any_delivery());
    trial.begin(1, after(2));
    CHECK(trial.ended_before_any_delivery());
    trial.passed(after(3));
    trial.begin(1, after(4));
    CHECK_FALSE(trial.ended_before_any_delivery());
}

TEST_CASE("another message comes beside one whose target takes none, but not while the broker or the machine is slow") {
    HeadTrial trial;
    const core::Milliseconds none{0};
    trial.begin(100, start);
    const auto ask_until = [&](int from, int to, core::Milliseconds silence) {
        bool takes = false;
        for (int ms = from; ms <= to; ms += 500)
            takes = trial.takes_another(after(1'000), silence, after(ms));
        return takes;
    };
    CHECK_FALSE(ask_until(0, 5'500, none));
    SECTION("the broker answers all the time") {
        CHECK_FALSE(trial.takes_another(after(1'000), none, after(5'999)));
        CHECK(trial.takes_another(after(1'000), none, after(6'000)));
        CHECK_FALSE(trial.takes_another(std::nullopt, none, after(6'001)));
        CHECK_FALSE(trial.takes_another(after(6'000), none, after(6'001)));
    }
    SECTION("the broker is silent for a second") {
        CHECK_FALSE(ask_until(6'000, 9'000, core::Milliseconds{1'000}));
        CHECK_FALSE(ask_until(9'500, 13'500, none));
        CHECK(ask_until(14'000, 14'000, none));
    }
    SECTION("nobody has asked for a second: this machine stood still") {
        CHECK_FALSE(ask_until(9'000, 13'500, none));
        CHECK(ask_until(14'000, 14'000, none));
    }
}

TEST_CASE("what was rejected is counted for one trial") {
    HeadTrial trial;
    trial.begin(1, start);
    trial.rejected(3);
    trial.begin(1, after(1));
    trial.rejected(2);
    CHECK(trial.rejected() == 5);
    trial.passed(after(2));
    REQUIRE(trial.on_tick(after(5'001)));
    CHECK(trial.rejected() == 5);
    trial.begin(1, after(6'000));
    CHECK(trial.rejected() == 0);
}

}  // namespace retryd::relay::head_trial_test
