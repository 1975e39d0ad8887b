#include "amqp/send_progress.h"

#include "support/catch.h"

namespace retryd::amqp::send_progress_test {
namespace {

core::SteadyTime at(int seconds) {
    return core::SteadyTime{} + core::Milliseconds{1'000'000 + 1000 * seconds};
}

}  // namespace

TEST_CASE("progress: where nothing is under way, a confirm is missing since its message was sent") {
    SendProgress progress;
    CHECK(progress.waits_since(at(0), at(10), {100, 100}) == at(0));
    CHECK_FALSE(progress.under_way());
    CHECK(progress.waits_since(at(0), at(60), {500, 400}) == at(0));
    CHECK(progress.waits_since(at(5), at(61), {900, 400}) == at(5));
}

TEST_CASE("progress: a message that is under way is not late while it moves, and has its time once it is there") {
    SendProgress progress;
    for (int second = 10; second < 300; ++second) {
        const auto taken = static_cast<std::uint64_t>(second);
        CHECK(progress.waits_since(at(0), at(second), {300, taken}) == at(second));
        CHECK(progress.under_way());
    }
    CHECK(progress.waits_since(at(0), at(301), {300, 300}) == at(301));
    CHECK_FALSE(progress.under_way());
    CHECK(progress.waits_since(at(0), at(400), {300, 300}) == at(301));
}

TEST_CASE("progress: a message that has stopped moving is waited for since then") {
    SendProgress progress;
    progress.waits_since(at(0), at(10), {300, 100});
    CHECK(progress.waits_since(at(0), at(20), {300, 200}) == at(20));
    CHECK(progress.waits_since(at(0), at(50), {300, 200}) == at(20));
    CHECK(progress.waits_since(at(0), at(80), {300, 200}) == at(20));
    CHECK(progress.under_way());
}

TEST_CASE("progress: what others send meanwhile puts nothing off for one that the broker has and does not confirm") {
    SendProgress progress;
    std::uint64_t sent = 1000;
    CHECK(progress.waits_since(at(0), at(10), {sent, sent - 10}) == at(10));
    for (int second = 11; second < 70; ++second) {
        sent += 100;
        CHECK(progress.waits_since(at(0), at(second), {sent, sent - 10}) == at(11));
    }
}

}  // namespace retryd::amqp::send_progress_test
