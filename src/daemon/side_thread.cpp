#include "daemon/side_thread.h"

#include <utility>

namespace retryd::daemon {

void SideThreadState::follow(const std::optional<BrokerTarget>& next) {
    const std::lock_guard lock(mutex);
    if (target == next) return;
    target = next;
    changed.notify_all();
}

bool SideThreadState::is_current(const BrokerTarget& followed) {
    const std::lock_guard lock(mutex);
    return !stop_requested && target == followed;
}

std::optional<BrokerTarget> SideThreadState::await_target() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stop_requested || target; });
    if (stop_requested) return std::nullopt;
    return target;
}

void SideThreadState::pause(core::Milliseconds time, const BrokerTarget& followed) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, time, [&] { return stop_requested || target != followed; });
}

SideThread::SideThread(std::shared_ptr<SideThreadState> state, std::function<void()> work,
                       std::chrono::milliseconds patience)
    : state_(std::move(state)), patience_(patience), thread_([shared = state_, work = std::move(work)]() mutable {
          work();
          work = nullptr;
          const std::lock_guard lock(shared->mutex);
          shared->ended_ = true;
          shared->changed.notify_all();
      }) {}

SideThread::~SideThread() {
    std::unique_lock lock(state_->mutex);
    state_->stop_requested = true;
    state_->changed.notify_all();
    const bool ended = state_->changed.wait_for(lock, patience_, [&] { return state_->ended_; });
    lock.unlock();
    ended ? thread_.join() : thread_.detach();
}

}  // namespace retryd::daemon
