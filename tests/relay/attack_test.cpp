// Whatever a broker's queues do, a healthy one gets its messages within a second, and the loop does not spend its time
// on the others.
#include <cstdlib>

#include "relay/timed_broker.h"
#include "support/catch.h"

namespace retryd::relay::timed::attack_test {
namespace {

const std::string healthy = "q0";

std::string bad(int number) {
    return "q" + std::to_string(number);
}

struct Seen {
    Milliseconds way{};     // the longest from the error queue to the rung of the healthy one
    Milliseconds oldest{};  // of its messages, in the error queue or delivered
};

/// The healthy one gets a message every 100 ms, the bad ones what `attack` sends.
template <class Attack>
Seen live(World& world, int seconds, const Attack& attack) {
    Seen seen;
    world.forget_times();
    for (int i = 0; i < seconds * 50; ++i) {
        if (i % 5 == 0) world.send(healthy);
        attack(i);
        world.step();
        seen.oldest = std::max(seen.oldest, world.oldest(healthy));
    }
    seen.way = world.longest_way(healthy);
    return seen;
}

/// The healthy one is known, and so is the way of the detours.
void warm_up(World& world) {
    world.send(healthy);
    world.run(Milliseconds{1'000});
}

constexpr Milliseconds second{1'000};
const auto nothing = [](int) {};

}  // namespace

TEST_CASE("a slow target with many messages leaves the prefetch to the others") {
    World world(1, World::policy(), {500, 128});
    warm_up(world);
    world.temper(bad(1)).each = Milliseconds{90};
    world.send(bad(1), 1'000);
    const Seen seen = live(world, 100, nothing);
    CHECK(seen.way <= second);
    CHECK(seen.oldest <= second + second / 2);
    CHECK(world.arrived(World::rung_of(bad(1))) > 300);
}

TEST_CASE("a rung that has lost what it was sent while it was silent gets all the others when it answers again") {
    World world(1, World::policy(), {200, 128});
    world.temper(bad(1)).silent = true;
    world.temper(bad(1)).loses = true;
    world.send(bad(1), 100);
    live(world, 10, nothing);
    world.heal(bad(1));
    const Seen seen = live(world, 80, nothing);
    CHECK(seen.way <= second);
    CHECK(world.arrived(World::rung_of(bad(1))) == 96);
    CHECK(world.second_copies() == 0);
}

TEST_CASE("a rung that falls silent with all of the prefetch under way to it holds up no newcomer") {
    World world(1, World::policy(), {500, 128});
    world.send(bad(1), 300);
    world.run(second);
    world.temper(bad(1)).silent = true;
    world.send(bad(1), 510);
    world.run(Milliseconds{100});
    const Seen seen = live(world, 10, nothing);
    CHECK(seen.way <= second);
    CHECK(world.arrived(World::rung_of(healthy)) >= 95);
    world.heal(bad(1));
    world.run(40 * second);
    CHECK(world.arrived(World::rung_of(bad(1))) == 810);
    CHECK(world.second_copies() == 0);
}

TEST_CASE("a few silent targets do not take a small prefetch") {
    const std::size_t prefetch = GENERATE(std::size_t{1}, std::size_t{5}, std::size_t{20});
    CAPTURE(prefetch);
    World world(1, World::policy(), {prefetch, 128});
    warm_up(world);
    for (int i = 1; i <= 110; ++i)
        world.temper(bad(i)).silent = true;
    for (int i = 1; i <= 110; ++i)
        world.send(bad(i), 4);
    live(world, 10, nothing);
    const std::size_t before = world.arrived(World::rung_of(healthy));
    live(world, 50, nothing);
    CHECK(world.arrived(World::rung_of(healthy)) >= before + 450);
}

TEST_CASE("hundreds of silent targets take neither all channels nor the prefetch") {
    World world(1, World::policy(), {200, 128});
    warm_up(world);
    for (int i = 1; i <= 500; ++i)
        world.temper(bad(i)).silent = true;
    const Seen seen = live(world, 60, [&](int i) { world.send(bad(1 + i % 500)); });
    CHECK(seen.oldest <= second);
    CHECK(world.open_channels() <= 128 - 8);
}

TEST_CASE("declares that hang, one target after the other, hold up the others once and not each time") {
    World world(1, World::policy(), {500, 128});
    warm_up(world);
    for (int i = 1; i <= 20; ++i) {
        world.temper(bad(i)).hangs_declare = true;
        world.send(bad(i), 100);
    }
    const Seen seen = live(world, 20, nothing);
    CHECK(seen.oldest <= second + second);  // 2000 messages have to be detoured before the first
    CHECK(world.counts.stranded == 0);
}

TEST_CASE("targets that answer seldom, and nack half of all, and close their channel") {
    World world(1, World::policy(), {200, 128});
    warm_up(world);
    for (int i = 1; i <= 15; ++i) {
        Temper& temper = world.temper(bad(i));
        if (i % 3 == 0) temper.answers = 10;
        if (i % 3 == 1) temper.nacks = 50;
        temper.closes = i % 3 == 2;
    }
    const Seen seen = live(world, 60, [&](int i) { world.send(bad(1 + i % 15)); });
    CHECK(seen.oldest <= second);
    CHECK(world.opened < 800);
}

TEST_CASE(
    "a catch-all that takes none holds up nobody, whatever comes that can go there alone; all of it comes there") {
    const int messages = GENERATE(300, 1'200);
    const bool silent = GENERATE(false, true);
    CAPTURE(messages, silent);
    World world(1, World::policy(), {500, 128});
    warm_up(world);
    Temper& catch_all = world.temper("retryd.parked");
    (silent ? catch_all.silent : catch_all.full) = true;
    world.send_without_death(messages);
    const Seen seen = live(world, 60, nothing);
    CHECK(seen.way <= second);
    CHECK(seen.oldest <= second);
    CHECK(world.counts.stranded == 0);
    CHECK(world.waiting_on_detours() > 0);
    world.heal("retryd.parked");
    world.run(700 * second, Milliseconds{100});
    CHECK(world.arrived("retryd.parked") == static_cast<std::size_t>(messages));
    CHECK(world.second_copies() == 0);
}

TEST_CASE("one policy after the other while targets are silent") {
    World world(1, World::policy(), {200, 128});
    warm_up(world);
    for (int i = 1; i <= 10; ++i)
        world.temper(bad(i)).silent = true;
    live(world, 3, [&](int i) { world.send(bad(1 + i % 10)); });
    const Seen seen = live(world, 30, [&](int i) {
        world.send(bad(1 + i % 10));
        if (i % 25 == 0) world.relay().prepare_to_adopt();
        if (world.relay().in_flight() == world.relay().in_flight_in_silence())
            world.relay().adopt(std::make_shared<const core::Policy>(World::policy()), world.now);
    });
    CHECK(seen.oldest <= second + second / 2);
    CHECK(world.second_copies() == 0);
}

TEST_CASE("whatever some targets do, what is for the others is published to its rung within a second") {
    const char* wanted = std::getenv("RETRYD_RANDOM_RUNS");
    const std::uint64_t runs = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 200;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        Generator generator(seed);
        World world(seed, World::policy(), {20 + generator.below(100), 64});
        const int bads = 1 + static_cast<int>(generator.below(5));
        world.send(healthy);
        world.send("q9");
        world.run(Milliseconds{200});
        for (int step = 0; step < 200; ++step) {
            if (generator.chance(30)) world.send(generator.chance(50) ? healthy : "q9");
            for (int i = 1; i <= bads; ++i) {
                if (generator.chance(20)) world.send(bad(i), 1 + static_cast<int>(generator.below(3)));
                if (!generator.chance(3)) continue;
                Temper& temper = world.temper(bad(i));
                switch (generator.below(6)) {
                    case 0:
                        temper.silent = true;
                        break;
                    case 1:
                        temper.full = true;
                        break;
                    case 2:
                        temper.hangs_declare = true;
                        break;
                    case 3:
                        temper.hangs_check = true;
                        break;
                    default:
                        world.heal(bad(i));
                }
            }
            world.step(Milliseconds{10 + 10 * static_cast<int>(generator.below(9))});
            INFO("run " << seed << ", step " << step);
            if (world.oldest(healthy) > second || world.oldest("q9") > second) FAIL("a healthy one waits too long");
        }
        INFO("run " << seed);
        CHECK(world.longest_way(healthy) <= second);
        CHECK(world.longest_way("q9") <= second);
        CHECK(world.second_copies() == 0);
    }
}

}  // namespace retryd::relay::timed::attack_test
