#include "daemon/queue_depths.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <variant>

#include "amqp/declarer.h"
#include "amqp/error.h"
#include "amqp/sync_admin.h"
#include "core/names.h"
#include "http/client.h"
#include "system/clock.h"

namespace retryd::daemon {

namespace {

using core::Milliseconds;
using QueueRole = telemetry::Depth::QueueRole;

constexpr Milliseconds between_rounds{5'000};
constexpr Milliseconds between_queues{10};
constexpr Milliseconds between_checks{400};  // how often to check for another target; heartbeats are served in between
constexpr Milliseconds longest_answer{5'000};
constexpr Milliseconds first_pause{5'000};
constexpr Milliseconds longest_pause{600'000};
constexpr Milliseconds longest_backoff{60'000};
constexpr Milliseconds between_lists{60'000};
constexpr Milliseconds valid_for{60'000};
constexpr Milliseconds work_queues_valid_for{120'000};  // the management API is asked for the list once a minute

bool looks_like_ours(const std::string& queue) {
    return core::looks_like_rung(queue) || core::looks_like_shared_rung(queue);
}

Milliseconds next_wait(Milliseconds last, Milliseconds longest) {
    return last == Milliseconds::zero() ? first_pause : std::min(2 * last, longest);
}

class InventoryBuilder {
  public:
    InventoryBuilder(const core::Policy& policy, const core::BrokerFeatures& features)
        : policy_(policy), features_(features) {}

    void add_configured() {
        for (const core::DesiredItem& desired : core::desired_topology(policy_, features_)) {
            if (const auto* queue = std::get_if<core::QueueSpec>(&desired.item)) keep_desired(desired, *queue);
        }
        for (const core::Entry& entry : policy_.entries) {
            if (!core::is_glob(entry.match)) work_queues_.insert(entry.match);
        }
    }

    void add_counted(const telemetry::QueueCounts& queue) {
        if (queue.work_queue == telemetry::other_queues || queue.work_queue == telemetry::no_queue) return;
        const core::Entry* entry = core::match(policy_, queue.work_queue);
        if (entry == nullptr) return;
        work_queues_.insert(queue.work_queue);
        for (const telemetry::Count& count : queue.counts) {
            if (count.target.empty()) continue;
            if (count.role == relay::TargetRole::held)
                keep(count.target, {QueueRole::held, {}, queue.work_queue, false});
            if (count.role == relay::TargetRole::parking) keep(count.target, {QueueRole::parked, {}, "", false});
            if (count.role != relay::TargetRole::rung) continue;
            const bool shared = core::looks_like_shared_rung(count.target);
            keep(count.target, {QueueRole::rung, count.delay, shared ? entry->ladder.name : queue.work_queue, shared});
        }
    }

    void add_listed(const ListedQueues& listed) {
        std::set<std::string_view> names;
        for (const auto& [name, arguments] : listed)
            names.insert(name);
        for (const auto& [name, arguments] : listed) {
            if (const auto rung = core::parse_rung(name, arguments)) {
                const bool shared = rung->return_path == core::ReturnPath::headers;
                keep(name, {QueueRole::rung, rung->delay, rung->serves, shared});
                if (!shared) add_work_queue(rung->serves, names);
            } else if (const auto work_queue = core::work_queue_held_in(policy_, name, arguments)) {
                keep(name, {QueueRole::held, {}, *work_queue, false});
            } else {
                add_parking_of(name, names);
            }
        }
    }

    Inventory inventory() && { return {std::move(queues_), {work_queues_.begin(), work_queues_.end()}}; }

  private:
    void keep(const std::string& name, CountedQueue queue) {
        if (queues_.size() < most_counted_queues) queues_.try_emplace(name, std::move(queue));
    }

    void keep_desired(const core::DesiredItem& desired, const core::QueueSpec& queue) {
        switch (desired.role) {
            case core::DesiredItem::ItemRole::error_queue:
                return keep(queue.name, {QueueRole::errors, {}, "", false});
            case core::DesiredItem::ItemRole::detour:
                return keep(queue.name, {QueueRole::detour, delay_of(queue), "", false});
            case core::DesiredItem::ItemRole::held:
                return keep(queue.name, {QueueRole::held, {}, desired.work_queue, false});
            case core::DesiredItem::ItemRole::rung:
                return keep(queue.name,
                            {QueueRole::rung, delay_of(queue), served_by(desired), desired.work_queue.empty()});
            default:
                return keep(queue.name, {QueueRole::parked, {}, "", false});
        }
    }

    static std::string served_by(const core::DesiredItem& desired) {
        return desired.work_queue.empty() ? desired.ladder : desired.work_queue;
    }

    static core::Milliseconds delay_of(const core::QueueSpec& queue) {
        for (const auto& [name, value] : queue.arguments) {
            if (name == "x-message-ttl") return core::Milliseconds{std::get<std::int64_t>(value)};
        }
        return {};
    }

    void add_work_queue(const std::string& name, const std::set<std::string_view>& listed) {
        if (core::match(policy_, name) == nullptr) return;
        work_queues_.insert(name);
        add_parking_of(name, listed);
    }

    /// Adds the parking queue of that work queue if it exists.
    void add_parking_of(const std::string& work_queue, const std::set<std::string_view>& listed) {
        const core::Entry* entry = core::match(policy_, work_queue);
        if (entry == nullptr || !entry->parked.exchange.empty()) return;
        const std::string parking = core::parking_queue_of(entry->parked, work_queue, features_);
        if (listed.count(parking) == 0) return;
        if (core::parking_depends_on_queue(entry->parked)) work_queues_.insert(work_queue);
        keep(parking, {QueueRole::parked, {}, "", false});
    }

    const core::Policy& policy_;
    const core::BrokerFeatures& features_;
    std::map<std::string, CountedQueue> queues_;
    std::set<std::string> work_queues_;
};

}  // namespace

std::map<std::string, std::uint64_t> held_in(const std::vector<http::ListedQueue>& queues) {
    std::map<std::string, std::uint64_t> held;
    for (const http::ListedQueue& queue : queues) {
        if (!queue.held || !looks_like_ours(queue.name)) continue;
        held[queue.name] = queue.holds_back() ? static_cast<std::uint64_t>(*queue.held) : 0;
    }
    return held;
}

Inventory take_inventory(const core::Policy& policy, const core::BrokerFeatures& features,
                         const QueueSources& sources) {
    InventoryBuilder builder(policy, features);
    builder.add_configured();
    for (const telemetry::QueueCounts& queue : sources.counted)
        builder.add_counted(queue);
    builder.add_listed(sources.listed);
    return std::move(builder).inventory();
}

struct QueueDepthPoller::State : SideThreadState {
    explicit State(std::shared_ptr<const telemetry::MessageStats> counted_here) : stats(std::move(counted_here)) {}

    struct Counted {
        std::uint64_t messages = 0;
        core::SteadyTime at{};
    };

    const std::shared_ptr<const telemetry::MessageStats> stats;
    int socket = -1;  // the connection's socket, while connected
    Inventory inventory;
    std::map<std::string, Counted> depths;
    std::map<std::string, std::uint64_t> held;
    struct CountedWork {
        WorkQueueDepth depth;
        core::SteadyTime at{};
        std::optional<std::uint64_t> acked;  // the total at the last list
    };
    std::map<std::string, CountedWork> work_queues;
    std::vector<std::string> failing;  // work queues to ask for
    std::optional<core::WallTime> counted;
    std::string fault;

    /// While it exists, the destructor of the poller can cut this connection.
    class Socket {
      public:
        Socket(State& state, int fd) : state_(state) { set(fd); }
        ~Socket() { set(-1); }
        Socket(const Socket&) = delete;
        Socket& operator=(const Socket&) = delete;

      private:
        void set(int fd) {
            const std::lock_guard lock(state_.mutex);
            state_.socket = fd;
        }
        State& state_;
    };
};

/// Runs in the thread.
class QueueDepthPoller::Worker {
  public:
    explicit Worker(std::shared_ptr<State> state) : state_(std::move(state)) {}

    /// Returns when the poller ends.
    void run();

  private:
    /// When a queue that could not be counted is asked for again.
    struct Pause {
        Milliseconds length{};
        core::SteadyTime until{};
    };

    std::optional<BrokerTarget> await_target();
    void count(const BrokerTarget& target);
    void count_all(const BrokerTarget& target, amqp::SyncAdminConnection& broker);
    void count_one(const std::string& queue, amqp::SyncAdminConnection& broker);
    std::vector<std::string> work_queues_to_ask(const BrokerTarget& target) const;
    void ask_for_work_queue(const std::string& queue, amqp::SyncAdminConnection& broker);
    /// Notes the result with the state's mutex held.
    template <class Counted, class Gone>
    void ask(const std::string& queue, amqp::SyncAdminConnection& broker, const Counted& counted, const Gone& gone);
    void keep_listed(const std::vector<http::ListedQueue>& queues);
    bool is_paused(const std::string& queue) const;
    void renew_inventory(const BrokerTarget& target, const core::BrokerFeatures& features);
    void list_queues(const BrokerTarget& target);
    void pause(const std::string& queue);
    void wait_after_fault(const BrokerTarget& target, const std::string& fault);

    std::shared_ptr<State> state_;
    std::optional<BrokerTarget> counting_;
    std::map<std::string, Pause> paused_;
    ListedQueues listed_;
    core::SteadyTime list_again_{};
    Milliseconds backoff_{};
};

QueueDepthPoller::QueueDepthPoller(std::shared_ptr<const telemetry::MessageStats> stats)
    : state_(std::make_shared<State>(std::move(stats))),
      thread_(state_, [worker = Worker(state_)]() mutable { worker.run(); }) {}

QueueDepthPoller::~QueueDepthPoller() {
    const std::lock_guard lock(state_->mutex);
    state_->stop_requested = true;
    if (state_->socket >= 0) shutdown(state_->socket, SHUT_RDWR);
}

void QueueDepthPoller::poll(const std::optional<BrokerTarget>& target) {
    state_->follow(target);
}

void QueueDepthPoller::ask_for(std::vector<std::string> failing) {
    const std::lock_guard lock(state_->mutex);
    state_->failing = std::move(failing);
}

QueueDepthPoller::Snapshot QueueDepthPoller::snapshot() const {
    const core::SteadyTime now = system::steady_now();
    const std::lock_guard lock(state_->mutex);
    Snapshot snapshot{state_->inventory, {}, state_->held, {}, state_->counted, state_->target ? state_->fault : ""};
    for (const auto& [queue, depth] : state_->depths) {
        if (now - depth.at <= valid_for) snapshot.messages.emplace(queue, depth.messages);
    }
    for (const auto& [queue, counted] : state_->work_queues) {
        if (now - counted.at <= work_queues_valid_for) snapshot.work_queues.emplace(queue, counted.depth);
    }
    return snapshot;
}

void QueueDepthPoller::Worker::run() {
    while (const auto target = await_target()) {
        try {
            count(*target);
        } catch (const amqp::Error& error) {
            wait_after_fault(*target, error.what());
        }
    }
}

std::optional<BrokerTarget> QueueDepthPoller::Worker::await_target() {
    std::unique_lock lock(state_->mutex);
    if (!state_->target) counting_.reset();  // after an interruption counting starts over
    state_->changed.wait(lock, [&] { return state_->stop_requested || state_->target; });
    if (state_->stop_requested) return std::nullopt;
    if (counting_ != state_->target) {
        counting_ = state_->target;
        state_->inventory = {};
        state_->depths.clear();
        state_->held.clear();
        state_->work_queues.clear();
        state_->fault.clear();
        paused_.clear();
        listed_.clear();
        list_again_ = {};
        backoff_ = {};
    }
    return counting_;
}

void QueueDepthPoller::Worker::count(const BrokerTarget& target) {
    config::Broker broker = target.settings->broker;
    broker.endpoints = {target.endpoint};
    amqp::SyncAdminConnection connection(broker, "retryd watch", longest_answer);
    const State::Socket socket(*state_, connection.fd());
    const core::BrokerFeatures features = core::features_of(connection.version());
    while (state_->is_current(target)) {
        const core::SteadyTime next = system::steady_now() + between_rounds;
        renew_inventory(target, features);
        count_all(target, connection);
        while (system::steady_now() < next && state_->is_current(target))
            connection.wait(std::min(between_checks, next - system::steady_now()));
    }
}

void QueueDepthPoller::Worker::renew_inventory(const BrokerTarget& target, const core::BrokerFeatures& features) {
    list_queues(target);
    Inventory inventory = take_inventory(target.settings->policy, features, {state_->stats->counts().queues, listed_});
    const std::lock_guard lock(state_->mutex);
    state_->inventory = std::move(inventory);
}

/// Asks the management API for all queues. That finds queues that were declared before the last start; without it they
/// are found once a message is sent to them. Also notes how many messages the broker is still dead-lettering in each.
void QueueDepthPoller::Worker::list_queues(const BrokerTarget& target) {
    const auto& management = target.settings->management;
    if (!management || system::steady_now() < list_again_) return;
    list_again_ = system::steady_now() + between_lists;
    std::vector<http::ListedQueue> queues;
    try {
        const http::ManagementClient client(*management, target.settings->broker.tls, target.endpoint.vhost);
        queues = client.queues();
        listed_.clear();
        for (const http::ListedQueue& queue : queues)
            listed_.emplace_back(queue.name, queue.arguments);
    } catch (const http::Error&) {
        // The daemon's own checks report what is wrong with the management API.
    }
    const std::lock_guard lock(state_->mutex);
    state_->held = held_in(queues);
    keep_listed(queues);
}

/// Keeps those that an entry matches. Call with the mutex held.
void QueueDepthPoller::Worker::keep_listed(const std::vector<http::ListedQueue>& queues) {
    std::map<std::string, State::CountedWork> kept;
    for (const http::ListedQueue& queue : queues) {
        if (!queue.ready || kept.size() == most_counted_queues) continue;
        if (core::match(counting_->settings->policy, queue.name) == nullptr) continue;
        State::CountedWork& counted = kept[queue.name];
        counted.at = system::steady_now();
        counted.depth.messages = static_cast<std::uint64_t>(*queue.ready);
        counted.depth.consumers = static_cast<std::uint64_t>(queue.consumers.value_or(0));
        if (!queue.acked) continue;
        counted.acked = static_cast<std::uint64_t>(*queue.acked);
        const auto before = state_->work_queues.find(queue.name);
        if (before != state_->work_queues.end() && before->second.acked && *counted.acked >= *before->second.acked)
            counted.depth.acked_lately = *counted.acked - *before->second.acked;
    }
    if (!queues.empty()) state_->work_queues = std::move(kept);
}

void QueueDepthPoller::Worker::count_all(const BrokerTarget& target, amqp::SyncAdminConnection& broker) {
    const std::map<std::string, CountedQueue> queues = [&] {
        const std::lock_guard lock(state_->mutex);
        return state_->inventory.queues;
    }();
    for (const auto& [queue, kept] : queues) {
        if (!state_->is_current(target)) return;
        if (is_paused(queue)) continue;
        count_one(queue, broker);
        broker.wait(between_queues);
    }
    for (const std::string& queue : work_queues_to_ask(target)) {
        if (!state_->is_current(target)) return;
        if (is_paused(queue)) continue;
        ask_for_work_queue(queue, broker);
        broker.wait(between_queues);
    }
    backoff_ = {};
    const std::lock_guard lock(state_->mutex);
    state_->fault.clear();
}

bool QueueDepthPoller::Worker::is_paused(const std::string& queue) const {
    const auto paused = paused_.find(queue);
    return paused != paused_.end() && system::steady_now() < paused->second.until;
}

std::vector<std::string> QueueDepthPoller::Worker::work_queues_to_ask(const BrokerTarget& target) const {
    std::vector<std::string> queues;
    const auto add = [&](const std::string& queue) {
        if (queues.size() < most_asked_work_queues && std::find(queues.begin(), queues.end(), queue) == queues.end())
            queues.push_back(queue);
    };
    const core::Policy& policy = target.settings->policy;
    const std::lock_guard lock(state_->mutex);
    for (const std::string& queue : state_->failing) {
        if (core::match(policy, queue) != nullptr) add(queue);
    }
    if (target.settings->management) return queues;
    for (const core::Entry& entry : policy.entries) {
        if (!core::is_glob(entry.match)) add(entry.match);
    }
    return queues;
}

template <class Counted, class Gone>
void QueueDepthPoller::Worker::ask(const std::string& queue, amqp::SyncAdminConnection& broker, const Counted& counted,
                                   const Gone& gone) {
    pause(queue);  // postponed, in case it does not answer
    const amqp::Declarer::Outcome outcome = broker.carry_out(amqp::Declarer::CheckQueue{queue});
    const std::lock_guard lock(state_->mutex);
    state_->socket = broker.fd();  // it may have reconnected
    if (outcome.result != amqp::Declarer::Result::done) return gone();
    paused_.erase(queue);
    counted(outcome.counts);
}

void QueueDepthPoller::Worker::ask_for_work_queue(const std::string& queue, amqp::SyncAdminConnection& broker) {
    const auto counted = [&](const amqp::QueueCounts& counts) {
        State::CountedWork& work = state_->work_queues[queue];
        work.depth.messages = counts.messages;
        work.depth.consumers = counts.consumers;
        work.at = system::steady_now();
    };
    ask(queue, broker, counted, [&] { state_->work_queues.erase(queue); });
}

void QueueDepthPoller::Worker::count_one(const std::string& queue, amqp::SyncAdminConnection& broker) {
    const auto counted = [&](const amqp::QueueCounts& counts) {
        state_->depths[queue] = {counts.messages, system::steady_now()};
        state_->counted = system::wall_now();
    };
    ask(queue, broker, counted, [&] { state_->depths.erase(queue); });
}

void QueueDepthPoller::Worker::pause(const std::string& queue) {
    Pause& paused = paused_[queue];
    paused.length = next_wait(paused.length, longest_pause);
    paused.until = system::steady_now() + paused.length;
}

void QueueDepthPoller::Worker::wait_after_fault(const BrokerTarget& target, const std::string& fault) {
    backoff_ = next_wait(backoff_, longest_backoff);
    {
        const std::lock_guard lock(state_->mutex);
        state_->fault = fault;
    }
    state_->pause(backoff_, target);
}

}  // namespace retryd::daemon
