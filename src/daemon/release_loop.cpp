#include "daemon/release_loop.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "amqp/error.h"
#include "amqp/held_session.h"
#include "amqp/proof_keys.h"
#include "core/topology.h"
#include "relay/release.h"
#include "system/clock.h"

namespace retryd::daemon {

namespace {

using core::Milliseconds;
using core::Outage;
using Whose = HeldQueues::Whose;

/// What a consumer has while messages are probed one by one, and while they are released.
constexpr std::uint16_t prefetch_of_probes = 1;
constexpr std::uint16_t prefetch_of_release = 64;
constexpr Milliseconds releasing_turn{5};
constexpr Milliseconds holding_turn{100};
constexpr Milliseconds idle_turn{200};
/// Heartbeats are served by the turns; how many are held is asked for so often.
constexpr Milliseconds counted_every{1'000};
constexpr Milliseconds counted_seldom{10'000};
/// What lies there for so long without being released was left behind.
constexpr Milliseconds left_behind_after{30'000};
constexpr Milliseconds first_release_backoff{1'000};
constexpr Milliseconds longest_release_backoff{30'000};
/// When it is to end, what was sent has so long to be confirmed.
constexpr Milliseconds last_turns{2'000};
constexpr Milliseconds between_searches{1'000};
/// A lane that the broker has ended is opened again after this.
constexpr Milliseconds lane_again_after{5'000};

}  // namespace

class ReleaseLoop::Worker {
  public:
    Worker(std::shared_ptr<SideThreadState> state, std::shared_ptr<HeldQueues> held)
        : state_(std::move(state)), held_(std::move(held)) {}

    void run() {
        while (const auto target = state_->await_target()) {
            try {
                serve(*target);
                backoff_ = {};
            } catch (const amqp::Error&) {
                // The session says what is wrong with the broker; what is held stays.
                wait_after_fault(*target);
            }
        }
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
        bool leaving = false;      // nothing more is sent on it
        bool identifying = false;  // the broker is asked whose queue it is
        bool bound = false;
        bool binding = false;
        bool may_return = false;  // through the return exchange
    };

    void wait_after_fault(const BrokerTarget& target) {
        ways_.clear();
        backoff_ = std::clamp(2 * backoff_, first_release_backoff, longest_release_backoff);
        state_->pause(backoff_, target);
    }

    /// Connected only while there may be something to send home.
    void serve(const BrokerTarget& target) {
        while (state_->is_current(target)) {
            if (!held_->names().empty()) {
                release(target);
            } else {
                state_->pause(between_searches, target);
            }
        }
    }

    void release(const BrokerTarget& target) {
        ways_.clear();
        const core::ProofKeys proof_keys = amqp::proof_keys(*target.settings);
        proof_keys_ = &proof_keys;
        amqp::HeldSession session(target.endpoint, target.settings->broker, ending_steps_);
        session_ = &session;
        features_ = core::features_of(session.version());
        while (state_->is_current(target)) {
            const core::Now now = system::now();
            session.turn(now);
            const std::vector<std::string> names = held_->names();
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

    // ── One of them ──

    /// How long until its next turn.
    Milliseconds attend(const BrokerTarget& target, const std::string& work_queue, const core::Now& now) {
        Way& way = ways_[work_queue];
        Milliseconds turn = idle_turn;
        held_->visit(work_queue, [&](HeldQueues::Queue& queue) {
            count(queue, way, now);
            identify(target, queue, way);
            queue.outage.on_tick(now);
            note_unattended(queue, way, now);
            follow_outage(target, queue, way, now);
            send(queue, way, now);
            if (way.lane == nullptr) return;
            turn = queue.outage.state() == Outage::State::releasing ? releasing_turn : holding_turn;
        });
        return turn;
    }

    /// Often as long as it holds, too: none may be ready because all of them were here, and come back.
    void count(const HeldQueues::Queue& queue, Way& way, const core::Now& now) {
        const bool often =
            way.lane != nullptr || queue.messages.value_or(1) > 0 || queue.outage.state() != Outage::State::none;
        if (now.steady - way.counted_at < (often ? counted_every : counted_seldom)) return;
        way.counted_at = now.steady;
        session_->carry_out(
            amqp::Declarer::CheckQueue{queue.held_queue},
            [this, work_queue = queue.work_queue, asked = now.steady](const amqp::Declarer::Outcome& outcome) {
                if (outcome.unanswered) return;
                const bool there = outcome.result == amqp::Declarer::Result::done;
                const std::uint64_t messages = there ? outcome.counts.messages : 0;
                held_->visit(work_queue, [&](HeldQueues::Queue& counted) {
                    counted.messages = messages;
                    counted.on_the_way = on_the_way(ways_[work_queue]);
                    if (ways_[work_queue].lane == nullptr) counted.stays = std::min(counted.stays, messages);
                    if (!there) counted.whose = Whose::unknown;  // the next one of that name may be another's
                });
                if (messages == 0) ways_[work_queue].counted_zero = asked;
            });
    }

    static std::uint64_t on_the_way(const Way& way) { return way.release ? way.release->not_home() : 0; }

    // ── Whose it is ──

    /// Once something lies there: by then it is there, and to declare it makes none.
    void identify(const BrokerTarget& target, HeldQueues::Queue& queue, Way& way) {
        if (!queue.may_go_home() && queue.whose != Whose::not_ours) queue.whose = Whose::unknown;
        if (queue.whose != Whose::unknown || way.identifying || queue.messages.value_or(0) == 0) return;
        const bool named = queue.held_in() || queue.arguments_seen;
        if (!queue.may_go_home()) {
            disown(queue,
                   {"no entry of `queues:` matches its work queue",
                    "With an entry that matches it is sent home; `retryd parked replay --from` takes it as well"});
        } else if (target.settings->declare) {
            way.identifying = true;
            declare_as_ours(queue, true);
        } else if (named) {
            queue.whose = Whose::ours_where_proven;
        } else {
            disown(queue,
                   {"AMQP does not tell whether retryd has declared that queue, and with `declare: false` retryd "
                    "does not find out",
                    "Configure `management`, or give the entry for that work queue `hold` or `outage`"});
        }
    }

    /// The broker refuses that where the queue has other arguments. One that an entry holds in may lack what its
    /// version did not know when it was declared.
    void declare_as_ours(const HeldQueues::Queue& queue, bool strictly) {
        core::QueueSpec spec = core::held_queue_spec(queue.work_queue, features_);
        spec.name = queue.held_queue;
        if (strictly) {
            spec.optional_arguments.clear();
            spec.older.clear();
        }
        session_->carry_out(
            spec, [this, strictly, work_queue = queue.work_queue](const amqp::Declarer::Outcome& outcome) {
                held_->visit(work_queue,
                             [&](HeldQueues::Queue& declared) { on_declared_as_ours(declared, strictly, outcome); });
            });
    }

    void on_declared_as_ours(HeldQueues::Queue& queue, bool strictly, const amqp::Declarer::Outcome& outcome) {
        constexpr int not_permitted = 403;
        Way& way = ways_[queue.work_queue];
        const bool done = outcome.result == amqp::Declarer::Result::done;
        if (!done && !outcome.unanswered && strictly && queue.held_in() && outcome.code != not_permitted)
            return declare_as_ours(queue, false);
        way.identifying = false;
        if (outcome.unanswered) return;
        const bool not_told = outcome.code == not_permitted && queue.held_in();
        if (done || not_told) {
            queue.whose = done && strictly && queue.was_configured ? Whose::ours : Whose::ours_where_proven;
        } else {
            const HeldQueues::Fault fault{outcome.text,
                                          "If that queue is somebody else's, he has to declare it by another name"};
            disown(queue, queue.held_in() || outcome.code == not_permitted ? fault : HeldQueues::Fault{});
        }
    }

    static void disown(HeldQueues::Queue& queue, HeldQueues::Fault fault) {
        queue.whose = Whose::not_ours;
        queue.fault = std::move(fault);
        queue.looked = true;
    }

    static bool may_be_anothers(const HeldQueues::Queue& queue) {
        return queue.whose == Whose::ours_where_proven && !queue.configured;
    }

    /// Ready, or here.
    static bool any_lies_there(const HeldQueues::Queue& queue, const Way& way) {
        const std::uint64_t stay = way.lane == nullptr ? queue.stays : 0;
        return queue.messages.value_or(0) > stay || (way.release && !way.release->empty());
    }

    /// Held messages although no outage is known: of an earlier run, or left by another daemon that has ended.
    void note_unattended(HeldQueues::Queue& queue, Way& way, const core::Now& now) {
        const bool unattended = queue.outage.state() == Outage::State::none && any_lies_there(queue, way) &&
                                (way.lane == nullptr || may_be_anothers(queue));
        if (!unattended) {
            way.unattended_since.reset();
            if (queue.messages) queue.looked = true;
            return;
        }
        if (queue.whose == Whose::unknown || queue.whose == Whose::not_ours) return;
        if (may_be_anothers(queue) && !(way.release && way.release->any_proven())) return;
        if (!way.unattended_since) way.unattended_since = now.steady;
        const bool at_start = !queue.looked;
        if (!at_start && now.steady - *way.unattended_since < left_behind_after) return;
        queue.looked = true;
        queue.outage.found_held(at_start, now);
    }

    /// Nothing where nothing may be touched. A queue that may be foreign is looked at once, at its head, one queue
    /// after the other.
    static std::uint16_t wanted_prefetch(const HeldQueues::Queue& queue, const Way& way) {
        if (queue.whose == Whose::unknown || queue.whose == Whose::not_ours) return 0;
        if (queue.outage.held_by_hand()) return 0;
        if (may_be_anothers(queue)) return any_lies_there(queue, way) ? prefetch_of_probes : 0;
        switch (queue.outage.state()) {
            case Outage::State::holding:
                return prefetch_of_probes;
            case Outage::State::releasing:
                return queue.whose == Whose::ours ? prefetch_of_release : prefetch_of_probes;
            case Outage::State::none:
                break;
        }
        return 0;
    }

    /// What stays takes a consumer's places: so many more, and some for those that are found yet, as each time it is
    /// changed is a look at them.
    static std::uint16_t with_room(std::uint16_t prefetch, const HeldQueues::Queue& queue) {
        constexpr std::uint64_t most_room = 10'000;
        if (prefetch == 0 || queue.whose != Whose::ours) return prefetch;
        return static_cast<std::uint16_t>(prefetch + 2 * std::min(queue.stays, most_room));
    }

    /// Consumes with what the outage's state asks for. A lane is left only when nothing on it would come twice.
    void follow_outage(const BrokerTarget& target, HeldQueues::Queue& queue, Way& way, const core::Now& now) {
        if (way.lane != nullptr) note_fault(queue, way, now);
        const std::uint16_t wanted = with_room(wanted_prefetch(queue, way), queue);
        way.leaving = way.lane != nullptr && wanted != way.prefetch;
        if (way.leaving) {
            way.release->on_tick(now);
            if (!way.release->settled() || !way.lane->acks_are_through(now.steady)) return;
            close(way, now);
        }
        const bool any = queue.messages.value_or(0) > 0;
        if (way.lane != nullptr || wanted == 0 || !any || now.steady < way.not_before) return;
        if (queue.shared && !bound(queue, way)) return;
        open(target, queue, way, wanted);
        way.busy_at = now.steady;
    }

    void note_fault(HeldQueues::Queue& queue, Way& way, const core::Now& now) {
        note_what_stays(queue, way);
        const bool ended = !way.lane->ended().empty();
        if (way.release->foreign()) {
            disown(queue, {"the message at its head has no proof that retryd has put it there",
                           "Nothing of that queue is touched from now on. If it is somebody else's, he has to declare "
                           "it by another name; if it is not, take that message away and start retryd again"});
        } else if (ended || way.release->stuck(now.steady)) {
            queue.fault = ended ? HeldQueues::Fault{way.lane->ended(),
                                                    "The user needs read on that queue, and write on amq.default: "
                                                    "`retryd doctor --permissions` prints all"}
                                : HeldQueues::Fault{"the broker does not answer",
                                                    "See whether that queue and the work queue have a leader: "
                                                    "`rabbitmq-queues quorum_status`"};
        } else {
            return;
        }
        way.not_before = now.steady + lane_again_after;
        close(way, now);
    }

    static void note_what_stays(HeldQueues::Queue& queue, const Way& way) {
        if (way.release->stays() <= queue.stays) return;
        queue.stays = way.release->stays();
        queue.fault = {std::to_string(queue.stays) + (queue.stays == 1 ? " message" : " messages") +
                           " there with headers that nest too deep to be read, or that do not fit a frame",
                       "Somebody else has put it there, and all others go home as if it were not there. Take it away "
                       "with a consumer of your own"};
    }

    /// What was here becomes ready again: a count that was asked for before may not know of it, and tells nothing.
    void close(Way& way, const core::Now& now) {
        session_->close(*std::exchange(way.lane, nullptr));
        way.release.reset();
        way.prefetch = 0;
        way.counted_at = now.steady;
        way.busy_at = now.steady;
    }

    void open(const BrokerTarget& target, const HeldQueues::Queue& queue, Way& way, std::uint16_t prefetch) {
        way.lane = session_->open();
        if (way.lane == nullptr) return;  // as many are open as may be: later
        relay::Release::Ways ways{queue.held_queue,
                                  target.settings->policy.catch_all,
                                  queue.shared && way.may_return,
                                  target.endpoint.username,
                                  *proof_keys_,
                                  queue.whose != Whose::ours};
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
        if (queue.whose == Whose::not_ours && queue.outage.state() == Outage::State::releasing) {
            queue.outage.abandon(now);
            return;
        }
        if (way.lane == nullptr) {
            // Nothing lies there, nothing is under way: there is nothing to release.
            const bool none = queue.messages && *queue.messages == 0 && way.counted_zero > way.busy_at;
            if (none && !queue.outage.held_by_hand()) queue.outage.emptied(now);
            return;
        }
        const std::size_t sent = way.release->send(way.leaving ? 0 : queue.outage.may_send(now.steady), now);
        for (std::size_t i = 0; i < sent; ++i)
            queue.outage.sent(now);
        if (sent > 0) queue.fault = {};
        if (way.release->counts().parked > 0) queue.gone = true;
        way.release->on_tick(now);
        const bool idle = way.release->empty();
        if (!idle) way.busy_at = now.steady;
        if (idle && way.counted_zero > way.busy_at + counted_every / 2) queue.outage.emptied(now);
    }

    std::shared_ptr<SideThreadState> state_;
    std::shared_ptr<HeldQueues> held_;
    amqp::HeldSession* session_ = nullptr;
    amqp::EndingSteps ending_steps_;
    core::BrokerFeatures features_;
    const core::ProofKeys* proof_keys_ = nullptr;
    std::map<std::string, Way> ways_;  // by work queue
    Milliseconds backoff_{};
};

ReleaseLoop::ReleaseLoop(std::shared_ptr<HeldQueues> held)
    : thread_(
          state_, [worker = std::make_shared<Worker>(state_, std::move(held))] { worker->run(); },
          last_turns + std::chrono::milliseconds{500}) {}

}  // namespace retryd::daemon
