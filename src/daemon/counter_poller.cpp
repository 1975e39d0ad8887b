#include "daemon/counter_poller.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "http/client.h"
#include "http/management.h"
#include "system/clock.h"

namespace retryd::daemon {

namespace {

/// RabbitMQ counts anew every 5 s.
constexpr core::Milliseconds between_questions{2'000};

}  // namespace

struct CounterPoller::State {
    std::shared_ptr<HeldQueues> held;

    std::mutex mutex;  // of all that follows
    std::condition_variable changed;
    bool stop_requested = false;
    bool thread_ended = false;
    std::optional<ReleaseLoop::Target> target;
};

CounterPoller::CounterPoller(std::shared_ptr<HeldQueues> held) : state_(std::make_shared<State>()) {
    state_->held = std::move(held);
    thread_ = std::thread([state = state_] { run(state); });
}

CounterPoller::~CounterPoller() {
    constexpr std::chrono::milliseconds patience{200};
    std::unique_lock lock(state_->mutex);
    state_->stop_requested = true;
    state_->changed.notify_all();
    const bool ended = state_->changed.wait_for(lock, patience, [&] { return state_->thread_ended; });
    lock.unlock();
    ended ? thread_.join() : thread_.detach();
}

void CounterPoller::follow(const std::optional<ReleaseLoop::Target>& target) {
    const std::lock_guard lock(state_->mutex);
    if (state_->target == target) return;
    state_->target = target;
    state_->changed.notify_all();
}

void CounterPoller::run(const std::shared_ptr<State>& state) {
    std::unique_lock lock(state->mutex);
    while (!state->stop_requested) {
        const std::optional<ReleaseLoop::Target> target = state->target;
        lock.unlock();
        if (target && target->settings->management) ask(*state, *target);
        lock.lock();
        state->changed.wait_for(lock, between_questions, [&] { return state->stop_requested; });
    }
    state->thread_ended = true;
    state->changed.notify_all();
}

void CounterPoller::ask(State& state, const ReleaseLoop::Target& target) {
    const http::ManagementClient client(*target.settings->management, target.settings->broker.tls,
                                        target.endpoint.vhost);
    for (const std::string& work_queue : state.held->wanting_counters(system::steady_now())) {
        std::optional<core::QueueCounters> counters;
        try {
            counters = client.counters(work_queue);
        } catch (const http::Error&) {
            // `retryd doctor` says what is wrong with the management API; meanwhile nothing is judged.
        }
        const core::Now now = system::now();
        state.held->visit(work_queue, [&](HeldQueues::Queue& queue) {
            counters ? queue.outage.counted(*counters, now) : queue.outage.not_counted(now);
        });
        const std::lock_guard lock(state.mutex);
        if (state.stop_requested) return;
    }
}

}  // namespace retryd::daemon
