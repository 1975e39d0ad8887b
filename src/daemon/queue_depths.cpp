#include "daemon/queue_depths.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "amqp/error.h"
#include "core/names.h"
#include "core/topology.h"
#include "http/management.h"
#include "system/clock.h"

namespace retryd::daemon {

namespace {

using Role = telemetry::Depth::Role;

class Taking {
  public:
    Taking(const core::Policy& policy, const core::BrokerFeatures& features) : policy_(policy), features_(features) {}

    void configured() {
        for (const core::DesiredItem& wanted : core::desired_topology(policy_, features_)) {
            if (const auto* queue = std::get_if<core::QueueSpec>(&wanted.item)) keep_wanted(wanted, *queue);
        }
        for (const core::Entry& entry : policy_.entries) {
            if (!core::is_glob(entry.match)) work_queues_.insert(entry.match);
        }
    }

    void met(const telemetry::QueueCounts& met) {
        if (met.work_queue == telemetry::other_queues || met.work_queue == telemetry::no_queue) return;
        if (core::match(policy_, met.work_queue) == nullptr) return;
        work_queues_.insert(met.work_queue);
        for (const telemetry::Count& count : met.counts) {
            if (count.target.empty()) continue;
            if (count.role == relay::Role::parking) keep(count.target, {Role::parked, {}, "", false});
            if (count.role != relay::Role::rung) continue;
            const bool shared = core::looks_like_shared_rung(count.target);
            keep(count.target, {Role::rung, count.delay, shared ? ladder_of(met.work_queue) : met.work_queue, shared});
        }
    }

    void listed(const ListedQueues& listed) {
        std::set<std::string_view> names;
        for (const auto& [name, arguments] : listed)
            names.insert(name);
        for (const auto& [name, arguments] : listed) {
            if (const auto rung = core::parse_rung(name, arguments)) {
                const bool shared = rung->return_path == core::ReturnPath::headers;
                keep(name, {Role::rung, rung->delay, rung->serves, shared});
                if (!shared) add_work_queue(rung->serves, names);
            } else {
                add_parking_of(name, names);
            }
        }
    }

    Inventory inventory() && { return {std::move(queues_), {work_queues_.begin(), work_queues_.end()}}; }

  private:
    void keep(const std::string& name, KeptQueue queue) {
        if (queues_.size() < most_kept_queues) queues_.try_emplace(name, std::move(queue));
    }

    void keep_wanted(const core::DesiredItem& wanted, const core::QueueSpec& queue) {
        switch (wanted.role) {
            case core::DesiredItem::Role::error_queue:
                return keep(queue.name, {Role::errors, {}, "", false});
            case core::DesiredItem::Role::rung:
                return keep(queue.name, {Role::rung, delay_of(queue), rung_serves(wanted), wanted.work_queue.empty()});
            default:
                return keep(queue.name, {Role::parked, {}, "", false});
        }
    }

    static std::string rung_serves(const core::DesiredItem& wanted) {
        return wanted.work_queue.empty() ? wanted.ladder : wanted.work_queue;
    }

    static core::Milliseconds delay_of(const core::QueueSpec& queue) {
        for (const auto& [name, value] : queue.arguments) {
            if (name == "x-message-ttl") return core::Milliseconds{std::get<std::int64_t>(value)};
        }
        return {};
    }

    std::string ladder_of(const std::string& work_queue) const { return core::match(policy_, work_queue)->ladder.name; }

    void add_work_queue(const std::string& name, const std::set<std::string_view>& there) {
        if (core::match(policy_, name) == nullptr) return;
        work_queues_.insert(name);
        add_parking_of(name, there);
    }

    /// Where that work queue parks, if it has parked already.
    void add_parking_of(const std::string& work_queue, const std::set<std::string_view>& there) {
        const core::Entry* entry = core::match(policy_, work_queue);
        if (entry == nullptr || !entry->parked.exchange.empty()) return;
        const std::string parking = core::parking_queue_of(entry->parked, work_queue, features_);
        if (there.count(parking) == 0) return;
        if (core::expand_queue(entry->parked.queue, "") != entry->parked.queue) work_queues_.insert(work_queue);
        keep(parking, {Role::parked, {}, "", false});
    }

    const core::Policy& policy_;
    const core::BrokerFeatures& features_;
    std::map<std::string, KeptQueue> queues_;
    std::set<std::string> work_queues_;
};

}  // namespace

Inventory take_inventory(const core::Policy& policy, const core::BrokerFeatures& features, const Seen& seen) {
    Taking taking(policy, features);
    taking.configured();
    for (const telemetry::QueueCounts& met : seen.met)
        taking.met(met);
    taking.listed(seen.listed);
    return std::move(taking).inventory();
}

namespace {

constexpr std::chrono::seconds true_for{60};

}  // namespace

QueueDepthPoller::QueueDepthPoller(std::shared_ptr<const telemetry::MessageStats> stats)
    : state_(std::make_shared<QueueDepthState>()) {
    state_->stats = std::move(stats);
    thread_ = std::thread([counter = QueueDepthWorker(state_)]() mutable { counter.run(); });
}

QueueDepthPoller::~QueueDepthPoller() {
    constexpr std::chrono::seconds patience{1};
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    if (state_->socket >= 0) shutdown(state_->socket, SHUT_RDWR);
    const bool ended = state_->changed.wait_for(lock, patience, [&] { return state_->ended; });
    lock.unlock();
    ended ? thread_.join() : thread_.detach();
}

void QueueDepthPoller::watch(const std::optional<Subject>& subject) {
    const std::lock_guard lock(state_->mutex);
    if (state_->subject == subject) return;
    state_->subject = subject;
    state_->changed.notify_all();
}

QueueDepthPoller::Seen QueueDepthPoller::seen() const {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(state_->mutex);
    Seen seen{state_->inventory, {}, state_->last, state_->subject ? state_->fault : ""};
    for (const auto& [queue, counted] : state_->counted) {
        if (now - counted.at <= true_for) seen.messages.emplace(queue, counted.messages);
    }
    return seen;
}

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

void QueueDepthWorker::run() {
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

std::optional<QueueDepthPoller::Subject> QueueDepthWorker::await_subject() {
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

void QueueDepthWorker::count(const Subject& subject) {
    config::Broker broker = subject.settings->broker;
    broker.endpoints = {subject.endpoint};
    amqp::SyncAdminConnection connection(broker, "retryd watch", longest_answer);
    const QueueDepthState::Cuttable cuttable(*state_, connection.fd());
    const core::BrokerFeatures features = core::features_of(connection.version());
    while (state_->goes_on(subject)) {
        const core::SteadyTime next = system::steady_now() + between_rounds;
        take_inventory(subject, features);
        count_all(subject, connection);
        while (system::steady_now() < next && state_->goes_on(subject))
            connection.wait(std::min(between_looks, next - system::steady_now()));
    }
}

void QueueDepthWorker::take_inventory(const Subject& subject, const core::BrokerFeatures& features) {
    list_queues(subject);
    Inventory inventory =
        daemon::take_inventory(subject.settings->policy, features, {state_->stats->counts().queues, listed_});
    const std::lock_guard lock(state_->mutex);
    state_->inventory = std::move(inventory);
}

/// Only to find queues that were made before the last start: what it cannot tell is met sooner or later.
void QueueDepthWorker::list_queues(const Subject& subject) {
    const auto& management = subject.settings->management;
    if (!management || system::steady_now() < list_again_) return;
    list_again_ = system::steady_now() + between_lists;
    try {
        const http::ManagementClient client(*management, subject.settings->broker.tls, subject.endpoint.vhost);
        listed_.clear();
        for (http::ListedQueue& queue : client.queues())
            listed_.emplace_back(std::move(queue.name), std::move(queue.arguments));
    } catch (const http::Error&) {
        // doctor and plan tell what is wrong with it
    }
}

void QueueDepthWorker::count_all(const Subject& subject, amqp::SyncAdminConnection& broker) {
    const std::map<std::string, KeptQueue> queues = [&] {
        const std::lock_guard lock(state_->mutex);
        return state_->inventory.queues;
    }();
    for (const auto& [queue, kept] : queues) {
        if (!state_->goes_on(subject)) return;
        const auto pause = paused_.find(queue);
        if (pause != paused_.end() && system::steady_now() < pause->second.until) continue;
        count_one(queue, broker);
        broker.wait(between_queues);
    }
    backoff_ = {};
    const std::lock_guard lock(state_->mutex);
    state_->fault.clear();
}

void QueueDepthWorker::count_one(const std::string& queue, amqp::SyncAdminConnection& broker) {
    leave_alone(queue);  // should it not answer
    const amqp::Declarer::Outcome outcome = broker.carry_out(amqp::Declarer::CheckQueue{queue});
    const std::lock_guard lock(state_->mutex);
    if (outcome.result != amqp::Declarer::Result::done) {
        state_->counted.erase(queue);
        return;
    }
    paused_.erase(queue);
    state_->counted[queue] = {outcome.counts.messages, system::steady_now()};
    state_->last = system::wall_now();
}

void QueueDepthWorker::leave_alone(const std::string& queue) {
    Pause& pause = paused_[queue];
    pause.length = next_wait(pause.length, longest_pause);
    pause.until = system::steady_now() + pause.length;
}

void QueueDepthWorker::failed(const Subject& subject, const std::string& why) {
    backoff_ = next_wait(backoff_, longest_backoff);
    std::unique_lock lock(state_->mutex);
    state_->fault = why;
    state_->changed.wait_for(lock, backoff_, [&] { return state_->stop || state_->subject != subject; });
}

}  // namespace retryd::daemon
