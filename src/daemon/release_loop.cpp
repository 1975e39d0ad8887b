#include "daemon/release_loop.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "amqp/error.h"
#include "amqp/held_session.h"
#include "amqp/proof_keys.h"
#include "core/names.h"
#include "core/topology.h"
#include "http/client.h"
#include "http/management.h"
#include "relay/release.h"
#include "system/clock.h"

namespace retryd::daemon {

namespace {

using core::Milliseconds;
using core::Outage;

/// What a consumer has while messages are probed one by one, and while they are released.
constexpr std::uint16_t prefetch_of_probes = 1;
constexpr std::uint16_t prefetch_of_release = 64;
constexpr Milliseconds releasing_turn{5};
constexpr Milliseconds holding_turn{100};
constexpr Milliseconds idle_turn{200};
/// Heartbeats are served by the turns; how many are held is asked for so often.
constexpr Milliseconds counted_every{1'000};
constexpr Milliseconds counted_seldom{10'000};
/// What lies there for so long, and nobody releases it, was left behind.
constexpr Milliseconds left_behind_after{30'000};
constexpr Milliseconds first_release_backoff{1'000};
constexpr Milliseconds longest_release_backoff{30'000};
/// When it is to end, what was sent has so long to be confirmed.
constexpr Milliseconds last_turns{2'000};
constexpr Milliseconds between_searches{1'000};
constexpr Milliseconds between_looks_by_management{60'000};
/// A lane that the broker has ended is opened again after this.
constexpr Milliseconds lane_again_after{5'000};
/// What is not ours is looked at seldom: it is consumed for that, and its consumer waits.
constexpr Milliseconds foreign_again_after{600'000};

}  // namespace

struct ReleaseLoop::State {
    std::shared_ptr<HeldQueues> held;

    std::mutex mutex;  // of all that follows
    std::condition_variable changed;
    bool stop_requested = false;
    bool thread_ended = false;
    std::optional<Target> target;

    bool is_current(const Target& followed) {
        const std::lock_guard lock(mutex);
        return !stop_requested && target == followed;
    }
};

class ReleaseLoop::Worker {
  public:
    explicit Worker(std::shared_ptr<State> state) : state_(std::move(state)) {}

    void run() {
        while (const auto target = await_target()) {
            try {
                serve(*target);
                backoff_ = {};
            } catch (const amqp::Error&) {
                // The session says what is wrong with the broker; what is held stays.
                wait_after_fault(*target);
            }
        }
        const std::lock_guard lock(state_->mutex);
        state_->thread_ended = true;
        state_->changed.notify_all();
    }

  private:
    /// The way home of one work queue's held messages.
    struct Way {
        amqp::HeldSession::Lane* lane = nullptr;
        std::unique_ptr<relay::Release> release;
        std::uint16_t prefetch = 0;       // that it consumes with
        core::SteadyTime counted_at{};    // was asked for
        core::SteadyTime counted_zero{};  // none was ready when asked at that time
        core::SteadyTime not_before{};    // after the broker has ended the lane
        core::SteadyTime busy_at{};       // something was here, or under way
        std::optional<core::SteadyTime> unattended_since;
        bool bound = false;
        bool binding = false;
        bool may_return = false;  // through the return exchange
    };

    std::optional<Target> await_target() {
        std::unique_lock lock(state_->mutex);
        state_->changed.wait(lock, [&] { return state_->stop_requested || state_->target; });
        if (state_->stop_requested) return std::nullopt;
        return state_->target;
    }

    void wait_after_fault(const Target& target) {
        ways_.clear();
        backoff_ = std::clamp(2 * backoff_, first_release_backoff, longest_release_backoff);
        std::unique_lock lock(state_->mutex);
        state_->changed.wait_for(lock, backoff_, [&] { return state_->stop_requested || state_->target != target; });
    }

    /// Connected only while there may be something to send home.
    void serve(const Target& target) {
        while (state_->is_current(target)) {
            look_by_management(target, system::now());
            if (!state_->held->names().empty()) {
                release(target);
            } else {
                std::unique_lock lock(state_->mutex);
                state_->changed.wait_for(lock, between_searches,
                                         [&] { return state_->stop_requested || state_->target != target; });
            }
        }
    }

    void release(const Target& target) {
        ways_.clear();
        const core::ProofKeys proof_keys = amqp::proof_keys(*target.settings);
        proof_keys_ = &proof_keys;
        amqp::HeldSession session(target.endpoint, target.settings->broker);
        session_ = &session;
        while (state_->is_current(target)) {
            const core::Now now = system::now();
            session.turn(now);
            look_by_management(target, now);
            const std::vector<std::string> names = state_->held->names();
            Milliseconds turn = idle_turn;
            for (const std::string& work_queue : names)
                turn = std::min(turn, attend(target, work_queue, now));
            if (names.empty()) break;
            session.wait(turn);
        }
        leave();
    }

    /// Nothing more is sent; what is under way is waited for.
    void leave() {
        const core::SteadyTime until = system::steady_now() + last_turns;
        while (system::steady_now() < until) {
            const core::Now now = system::now();
            session_->turn(now);
            bool settled = true;
            for (auto& [work_queue, way] : ways_) {
                if (!way.release) continue;
                way.release->on_tick(now);
                settled = settled && way.release->settled() && way.lane->acks_are_through(now.steady);
            }
            if (settled) break;
            session_->wait(releasing_turn);
        }
        ways_.clear();
    }

    // ── Which there are ──

    void look_by_management(const Target& target, const core::Now& now) {
        const auto& management = target.settings->management;
        if (!management || now.steady < next_look_) return;
        next_look_ = now.steady + between_looks_by_management;
        try {
            const http::ManagementClient client(*management, target.settings->broker.tls, target.endpoint.vhost);
            for (const http::ListedQueue& queue : client.queues()) {
                if (core::is_held_queue(queue.name, queue.arguments) && queue.messages.value_or(1) > 0)
                    state_->held->found(queue.name, now);
            }
        } catch (const http::Error&) {
            // `retryd doctor` says what is wrong with the management API.
        }
    }

    // ── One of them ──

    /// How long until its next turn.
    Milliseconds attend(const Target& target, const std::string& work_queue, const core::Now& now) {
        Way& way = ways_[work_queue];
        Milliseconds turn = idle_turn;
        state_->held->visit(work_queue, [&](HeldQueues::Queue& queue) {
            count(queue, way, now);
            queue.outage.on_tick(now);
            note_unattended(queue, way, now);
            follow_outage(target, queue, way, now);
            send(queue, way, now);
            if (way.lane == nullptr) return;
            turn = queue.outage.state() == Outage::State::releasing ? releasing_turn : holding_turn;
        });
        return turn;
    }

    void count(const HeldQueues::Queue& queue, Way& way, const core::Now& now) {
        const bool often = way.lane != nullptr || queue.messages.value_or(1) > 0;
        if (now.steady - way.counted_at < (often ? counted_every : counted_seldom)) return;
        way.counted_at = now.steady;
        session_->carry_out(
            amqp::Declarer::CheckQueue{queue.held_queue},
            [this, work_queue = queue.work_queue, asked = now.steady](const amqp::Declarer::Outcome& outcome) {
                if (outcome.unanswered) return;
                const std::uint64_t messages =
                    outcome.result == amqp::Declarer::Result::done ? outcome.counts.messages : 0;
                state_->held->visit(work_queue, [&](HeldQueues::Queue& counted) { counted.messages = messages; });
                if (messages == 0) ways_[work_queue].counted_zero = asked;
            });
    }

    /// Held messages although no outage is known: of an earlier run, or left by another daemon that has ended.
    void note_unattended(HeldQueues::Queue& queue, Way& way, const core::Now& now) {
        const bool unattended =
            queue.outage.state() == Outage::State::none && queue.messages.value_or(0) > 0 && way.lane == nullptr;
        if (!unattended) {
            way.unattended_since.reset();
            if (queue.messages) queue.looked = true;
            return;
        }
        if (!way.unattended_since) way.unattended_since = now.steady;
        const bool at_start = !queue.looked;
        if (!at_start && now.steady - *way.unattended_since < left_behind_after) return;
        queue.looked = true;
        queue.outage.found_held(at_start, now);
    }

    static std::uint16_t wanted_prefetch(const HeldQueues::Queue& queue) {
        if (queue.outage.held_by_hand()) return 0;
        switch (queue.outage.state()) {
            case Outage::State::holding:
                return prefetch_of_probes;
            case Outage::State::releasing:
                return prefetch_of_release;
            case Outage::State::none:
                break;
        }
        return 0;
    }

    /// Consumes with what the outage's state asks for. A lane is left only when nothing on it would come twice.
    void follow_outage(const Target& target, HeldQueues::Queue& queue, Way& way, const core::Now& now) {
        if (way.lane != nullptr) note_fault(queue, way, now);
        const std::uint16_t wanted = wanted_prefetch(queue);
        if (way.lane != nullptr && wanted != way.prefetch) {
            way.release->on_tick(now);
            if (!way.release->settled() || !way.lane->acks_are_through(now.steady)) return;
            close(way);
        }
        const bool any = queue.messages.value_or(0) > 0;
        if (way.lane != nullptr || wanted == 0 || !any || now.steady < way.not_before) return;
        if (queue.shared && !bound(queue, way)) return;
        open(target, queue, way, wanted);
        way.busy_at = now.steady;
    }

    void note_fault(HeldQueues::Queue& queue, Way& way, const core::Now& now) {
        const bool ended = !way.lane->ended().empty();
        if (way.release->foreign()) {
            queue.fault = {
                "the message at its head has no proof that retryd has put it there, and the configuration "
                "holds nothing in that queue",
                "If the queue is somebody else's, see to it that it has another name; if it is not, have "
                "`hold` or `outage` in an entry for that work queue, and what is there is sent home"};
        } else if (ended || way.release->stuck(now.steady)) {
            queue.fault = {ended ? way.lane->ended() : "the broker does not answer",
                           "The user needs read on that queue, and write on amq.default: `retryd doctor --permissions` "
                           "prints all"};
        } else {
            return;
        }
        way.not_before = now.steady + (way.release->foreign() ? foreign_again_after : lane_again_after);
        close(way);
    }

    void close(Way& way) {
        session_->close(*std::exchange(way.lane, nullptr));
        way.release.reset();
        way.prefetch = 0;
    }

    void open(const Target& target, const HeldQueues::Queue& queue, Way& way, std::uint16_t prefetch) {
        way.lane = session_->open();
        if (way.lane == nullptr) return;  // as many are open as may be: later
        relay::Release::Ways ways{queue.held_queue,
                                  target.settings->policy.catch_all,
                                  queue.shared && way.may_return,
                                  target.endpoint.username,
                                  *proof_keys_,
                                  !queue.configured};
        way.release = std::make_unique<relay::Release>(std::move(ways), *way.lane);
        way.prefetch = prefetch;
        session_->consume(*way.lane, queue.held_queue, prefetch, *way.release);
    }

    /// What the return exchange does not know it would send back to the error queue. A work queue that cannot be bound
    /// is sent to directly.
    bool bound(const HeldQueues::Queue& queue, Way& way) {
        if (way.bound) return true;
        if (std::exchange(way.binding, true)) return false;
        session_->carry_out(core::return_binding(queue.work_queue),
                            [this, work_queue = queue.work_queue](const amqp::Declarer::Outcome& outcome) {
                                Way& asked = ways_[work_queue];
                                asked.bound = true;
                                asked.may_return = outcome.result == amqp::Declarer::Result::done;
                            });
        return false;
    }

    void send(HeldQueues::Queue& queue, Way& way, const core::Now& now) {
        if (way.lane == nullptr) {
            // Nothing lies there, nothing is under way: there is nothing to release.
            const bool none = queue.messages && *queue.messages == 0 && way.counted_zero > way.busy_at;
            if (none && !queue.outage.held_by_hand()) queue.outage.emptied(now);
            return;
        }
        const std::size_t sent = way.release->send(queue.outage.may_send(now.steady), now);
        for (std::size_t i = 0; i < sent; ++i)
            queue.outage.sent(now);
        if (sent > 0) queue.fault = {};
        way.release->on_tick(now);
        const bool idle = way.release->empty();
        if (!idle) way.busy_at = now.steady;
        if (idle && way.counted_zero > way.busy_at + counted_every / 2) queue.outage.emptied(now);
    }

    std::shared_ptr<State> state_;
    amqp::HeldSession* session_ = nullptr;
    const core::ProofKeys* proof_keys_ = nullptr;
    std::map<std::string, Way> ways_;  // by work queue
    core::SteadyTime next_look_{};
    Milliseconds backoff_{};
};

ReleaseLoop::ReleaseLoop(std::shared_ptr<HeldQueues> held) : state_(std::make_shared<State>()) {
    state_->held = std::move(held);
    thread_ = std::thread([worker = std::make_shared<Worker>(state_)] { worker->run(); });
}

ReleaseLoop::~ReleaseLoop() {
    constexpr std::chrono::milliseconds patience = last_turns + std::chrono::milliseconds{500};
    std::unique_lock lock(state_->mutex);
    state_->stop_requested = true;
    state_->changed.notify_all();
    const bool ended = state_->changed.wait_for(lock, patience, [&] { return state_->thread_ended; });
    lock.unlock();
    ended ? thread_.join() : thread_.detach();
}

void ReleaseLoop::follow(const std::optional<Target>& target) {
    const std::lock_guard lock(state_->mutex);
    if (state_->target == target) return;
    state_->target = target;
    state_->changed.notify_all();
}

}  // namespace retryd::daemon
