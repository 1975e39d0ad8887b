// Which detour messages take.
#include "relay/routes.h"

#include "support/catch.h"

namespace retryd::relay::routes_test {

using core::Milliseconds;
using core::SteadyTime;

namespace {

constexpr std::size_t two_seconds = 0;
constexpr std::size_t thirty_seconds = 1;
constexpr std::size_t five_minutes = 2;

SteadyTime at(int seconds) {
    return SteadyTime{Milliseconds{1'000'000 + seconds * 1'000}};
}

/// So many at once; which detour the next one takes.
std::size_t after(DetourChooser& chooser, int messages, int second) {
    for (int i = 0; i < messages; ++i) {
        chooser.choose({}, at(second));
        chooser.add();
    }
    return chooser.choose({}, at(second));
}

}  // namespace

TEST_CASE("a detour is as long as the trouble has lasted") {
    DetourChooser chooser;
    CHECK(chooser.choose(Milliseconds{0}, at(0)) == two_seconds);
    CHECK(chooser.choose(Milliseconds{29'999}, at(0)) == two_seconds);
    CHECK(chooser.choose(Milliseconds{30'000}, at(0)) == thirty_seconds);
    CHECK(chooser.choose(Milliseconds{300'000}, at(0)) == five_minutes);
    CHECK(chooser.choose(Milliseconds{0}, at(0)) == two_seconds);
}

TEST_CASE("where many wait the detour is longer, so that no more than 500 a second come back") {
    DetourChooser chooser;
    CHECK(after(chooser, 1'000, 0) == two_seconds);
    CHECK(after(chooser, 1, 0) == thirty_seconds);
    CHECK(after(chooser, 14'000, 0) == five_minutes);
}

TEST_CASE("each round counts anew: when most have gone their way, the others soon find out") {
    DetourChooser chooser;
    CHECK(after(chooser, 1'001, 0) == thirty_seconds);
    CHECK(after(chooser, 0, 29) == thirty_seconds);
    CHECK(after(chooser, 0, 31) == two_seconds);
}

}  // namespace retryd::relay::routes_test
