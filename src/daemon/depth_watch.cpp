#include "daemon/depth_watch.h"

#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "daemon/depth_counter.h"
#include "daemon/depth_state.h"

namespace retryd::daemon {
namespace {

constexpr std::chrono::seconds true_for{60};

}  // namespace

DepthWatch::DepthWatch(std::shared_ptr<const telemetry::Tally> tally) : state_(std::make_shared<DepthState>()) {
    state_->tally = std::move(tally);
    thread_ = std::thread([counter = DepthCounter(state_)]() mutable { counter.run(); });
}

DepthWatch::~DepthWatch() {
    constexpr std::chrono::seconds patience{1};
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    if (state_->socket >= 0) shutdown(state_->socket, SHUT_RDWR);
    const bool ended = state_->changed.wait_for(lock, patience, [&] { return state_->ended; });
    lock.unlock();
    ended ? thread_.join() : thread_.detach();
}

void DepthWatch::watch(const std::optional<Subject>& subject) {
    const std::lock_guard lock(state_->mutex);
    if (state_->subject == subject) return;
    state_->subject = subject;
    state_->changed.notify_all();
}

DepthWatch::Seen DepthWatch::seen() const {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(state_->mutex);
    Seen seen{state_->inventory, {}, state_->last, state_->subject ? state_->fault : ""};
    for (const auto& [queue, counted] : state_->counted) {
        if (now - counted.at <= true_for) seen.messages.emplace(queue, counted.messages);
    }
    return seen;
}

}  // namespace retryd::daemon
