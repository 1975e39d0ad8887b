#include "daemon/depth_counter.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "amqp/error.h"
#include "daemon/clock.h"
#include "http/management.h"

namespace retryd::daemon {
namespace {

using core::Milliseconds;

constexpr Milliseconds between_rounds{5'000};
constexpr Milliseconds between_queues{10};
constexpr Milliseconds between_looks{400};  // whether there is still something to count
constexpr Milliseconds longest_answer{5'000};
constexpr Milliseconds first_pause{5'000};
constexpr Milliseconds longest_pause{600'000};
constexpr Milliseconds longest_backoff{60'000};
constexpr Milliseconds between_lists{300'000};

Milliseconds next_wait(Milliseconds last, Milliseconds longest) {
    return last == Milliseconds::zero() ? first_pause : std::min(2 * last, longest);
}

}  // namespace

void DepthCounter::run() {
    while (const auto subject = await_subject()) {
        try {
            count(*subject);
        } catch (const amqp::Error& error) {
            failed(*subject, error.what());
        }
    }
    const std::lock_guard lock(state_->mutex);
    state_->ended = true;
    state_->changed.notify_all();
}

std::optional<DepthWatch::Subject> DepthCounter::await_subject() {
    std::unique_lock lock(state_->mutex);
    if (!state_->subject) counting_.reset();  // it comes back with nothing against it
    state_->changed.wait(lock, [&] { return state_->stop || state_->subject; });
    if (state_->stop) return std::nullopt;
    if (counting_ != state_->subject) {
        counting_ = state_->subject;
        state_->inventory = {};
        state_->counted.clear();
        state_->fault.clear();
        paused_.clear();
        listed_.clear();
        list_again_ = {};
        backoff_ = {};
    }
    return counting_;
}

void DepthCounter::count(const Subject& subject) {
    config::Broker broker = subject.settings->broker;
    broker.endpoints = {subject.endpoint};
    amqp::Administrator connection(broker, "retryd watch", longest_answer);
    const DepthState::Cuttable cuttable(*state_, connection.fd());
    const core::BrokerFeatures features = core::features_of(connection.version());
    while (state_->goes_on(subject)) {
        const core::SteadyTime next = steady_now() + between_rounds;
        take_inventory(subject, features);
        count_all(subject, connection);
        while (steady_now() < next && state_->goes_on(subject))
            connection.wait(std::min(between_looks, next - steady_now()));
    }
}

void DepthCounter::take_inventory(const Subject& subject, const core::BrokerFeatures& features) {
    list_queues(subject);
    Inventory inventory =
        daemon::take_inventory(subject.settings->policy, features, {state_->tally->counts().queues, listed_});
    const std::lock_guard lock(state_->mutex);
    state_->inventory = std::move(inventory);
}

/// Only to find queues that were made before the last start: what it cannot tell is met sooner or later.
void DepthCounter::list_queues(const Subject& subject) {
    const auto& management = subject.settings->management;
    if (!management || steady_now() < list_again_) return;
    list_again_ = steady_now() + between_lists;
    try {
        const http::ManagementClient client(*management, subject.settings->broker.tls, subject.endpoint.vhost);
        listed_.clear();
        for (http::ListedQueue& queue : client.queues())
            listed_.emplace_back(std::move(queue.name), std::move(queue.arguments));
    } catch (const http::Error&) {
        // doctor and plan tell what is wrong with it
    }
}

void DepthCounter::count_all(const Subject& subject, amqp::Administrator& broker) {
    const std::map<std::string, KeptQueue> queues = [&] {
        const std::lock_guard lock(state_->mutex);
        return state_->inventory.queues;
    }();
    for (const auto& [queue, kept] : queues) {
        if (!state_->goes_on(subject)) return;
        const auto pause = paused_.find(queue);
        if (pause != paused_.end() && steady_now() < pause->second.until) continue;
        count_one(queue, broker);
        broker.wait(between_queues);
    }
    backoff_ = {};
    const std::lock_guard lock(state_->mutex);
    state_->fault.clear();
}

void DepthCounter::count_one(const std::string& queue, amqp::Administrator& broker) {
    leave_alone(queue);  // should it not answer
    const amqp::Declarer::Outcome outcome = broker.carry_out(amqp::Declarer::CheckQueue{queue});
    const std::lock_guard lock(state_->mutex);
    if (outcome.result != amqp::Declarer::Result::done) {
        state_->counted.erase(queue);
        return;
    }
    paused_.erase(queue);
    state_->counted[queue] = {outcome.counts.messages, steady_now()};
    state_->last = wall_now();
}

void DepthCounter::leave_alone(const std::string& queue) {
    Pause& pause = paused_[queue];
    pause.length = next_wait(pause.length, longest_pause);
    pause.until = steady_now() + pause.length;
}

void DepthCounter::failed(const Subject& subject, const std::string& why) {
    backoff_ = next_wait(backoff_, longest_backoff);
    std::unique_lock lock(state_->mutex);
    state_->fault = why;
    state_->changed.wait_for(lock, backoff_, [&] { return state_->stop || state_->subject != subject; });
}

}  // namespace retryd::daemon
