// A thread that may be left behind.
#include "daemon/side_thread.h"

#include <atomic>

#include "support/catch.h"

namespace retryd::daemon::side_thread_test {
namespace {

BrokerTarget target() {
    return {std::make_shared<const config::Settings>(), {}};
}

}  // namespace

TEST_CASE("side thread: it is told whom to ask, waits no longer than for another, and ends with whoever has it") {
    const auto state = std::make_shared<SideThreadState>();
    const auto asked = std::make_shared<std::atomic<int>>(0);
    const auto ended = std::make_shared<std::atomic<bool>>(false);
    {
        const SideThread thread(state, [state, asked, ended] {
            while (const auto followed = state->await_target()) {
                ++*asked;
                state->pause(core::Milliseconds{60'000}, *followed);
            }
            *ended = true;
        });
        for (int i = 1; i <= 3; ++i) {
            state->follow(target());
            while (*asked < i)
                std::this_thread::yield();
        }
        const auto same = state->target;
        state->follow(same);
        CHECK(state->is_current(*same));
        state->follow(std::nullopt);
        CHECK(!state->is_current(*same));
    }
    CHECK(*ended);
    CHECK(*asked == 3);
}

TEST_CASE("side thread: one that hangs is left behind") {
    const auto state = std::make_shared<SideThreadState>();
    const auto free = std::make_shared<std::atomic<bool>>(false);
    const auto gone = std::make_shared<std::atomic<bool>>(false);
    {
        const SideThread thread(
            state,
            [free, gone] {
                while (!*free)
                    std::this_thread::yield();
                *gone = true;
            },
            std::chrono::milliseconds{1});
    }
    CHECK(!*gone);
    *free = true;
    while (!*gone)
        std::this_thread::yield();
}

}  // namespace retryd::daemon::side_thread_test
