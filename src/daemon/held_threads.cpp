#include "daemon/held_threads.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "amqp/error.h"
#include "amqp/held_session.h"
#include "amqp/proof_keys.h"
#include "core/topology.h"
#include "daemon/held_count.h"
#include "http/client.h"
#include "http/management.h"
#include "relay/release.h"
#include "system/clock.h"

namespace retryd::daemon {

// ── Counters and search ─────────────────────────────────────────────────────────────────────────────────────────────

namespace {

/// RabbitMQ updates its counters every 5 s; asking often means that an outage is noticed soon after that.
constexpr core::Milliseconds between_questions{1'000};

void ask_for_counters(SideThreadState& state, HeldQueues& held, const BrokerTarget& target) {
    const http::ManagementClient client(*target.settings->management, target.settings->broker.tls,
                                        target.endpoint.vhost);
    for (const std::string& work_queue : held.wanting_counters(system::steady_now())) {
        std::optional<core::QueueCounters> counters;
        try {
            counters = client.counters(work_queue);
        } catch (const http::Error&) {
            // `retryd doctor` reports what is wrong with the management API; meanwhile the counters say nothing.
        }
        const core::Now now = system::now();
        held.visit(work_queue, [&](HeldQueues::Queue& queue) {
            counters ? queue.outage.counted(*counters, now) : queue.outage.not_counted(now);
        });
        if (!state.is_current(target)) return;
    }
}

}  // namespace

CounterPoller::CounterPoller(std::shared_ptr<HeldQueues> held)
    : thread_(state_, [state = state_, held] {
          while (const auto target = state->await_target()) {
              if (target->settings->management) ask_for_counters(*state, *held, *target);
              state->pause(between_questions, *target);
          }
      }) {}

namespace {

constexpr core::Milliseconds between_held_searches{60'000};
/// The management API reports what was in a queue up to 5 s ago (collect_statistics_interval): messages that were held
/// right before the start are found by the second search.
constexpr core::Milliseconds second_search_after{6'000};

void search(HeldQueues& held, const BrokerTarget& target) {
    try {
        const http::ManagementClient client(*target.settings->management, target.settings->broker.tls,
                                            target.endpoint.vhost);
        for (const http::ListedQueue& queue : client.queues()) {
            if (queue.messages.value_or(1) == 0) continue;
            const auto work_queue = core::work_queue_held_in(target.settings->policy, queue.name, queue.arguments);
            if (work_queue) {
                held.found(*work_queue, queue.name, true, system::now());
            } else if (queue.messages && core::looks_like_held_queue(queue.name, queue.arguments)) {
                held.found_without_entry(queue.name, static_cast<std::uint64_t>(*queue.messages));
            }
        }
    } catch (const http::Error&) {
        // `retryd doctor` reports what is wrong with the management API.
    }
}

}  // namespace

HeldSearch::HeldSearch(std::shared_ptr<HeldQueues> held)
    : thread_(state_, [state = state_, held] {
          std::optional<BrokerTarget> searched;
          while (const auto target = state->await_target()) {
              if (target->settings->management) search(*held, *target);
              const bool again = std::exchange(searched, target) == target;
              state->pause(again ? between_held_searches : second_search_after, *target);
          }
      }) {}

// ── The way home ──────────────────────────────────────────────────────────────────────────────────────────────────

namespace {

using core::Milliseconds;
using core::Outage;
using Whose = HeldQueues::Whose;

/// The prefetch of a consumer while single messages are sent as probes, and during the release.
constexpr std::uint16_t prefetch_of_probes = 1;
constexpr std::uint16_t prefetch_of_release = 64;
constexpr Milliseconds releasing_turn{5};
constexpr Milliseconds holding_turn{100};
constexpr Milliseconds idle_turn{200};
/// A queue that we consume from is empty if none was ready that long after the last one was on its way: what is given
/// back is ready only a moment later.
constexpr Milliseconds none_left_after{500};
/// Messages that are there for so long without a release were left behind.
constexpr Milliseconds left_behind_after{30'000};
constexpr Milliseconds first_release_backoff{1'000};
constexpr Milliseconds longest_release_backoff{30'000};
/// At the end, how long to wait for outstanding confirms.
constexpr Milliseconds last_turns{2'000};
constexpr Milliseconds between_searches{1'000};
/// After the broker has closed a lane, how long until it is opened again.
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
                // The session reports what is wrong with the broker; held messages stay where they are.
                wait_after_fault(*target);
            }
        }
    }

  private:
    /// What sends the held messages of one work queue home.
    struct Sender {
        amqp::HeldSession::Lane* lane = nullptr;
        std::unique_ptr<relay::Release> release;
        std::uint16_t prefetch = 0;     // the consumer's
        core::SteadyTime not_before{};  // when the lane may be opened again
        HeldCount count;
        std::optional<core::SteadyTime> unattended_since;
        bool leaving = false;      // the lane is being closed: nothing more is sent on it
        bool identifying = false;  // a declaration that tells whose queue it is has been sent
        bool bound = false;
        bool binding = false;
        bool may_return = false;  // messages may go through the return exchange
    };

    void wait_after_fault(const BrokerTarget& target) {
        senders_.clear();
        backoff_ = std::clamp(2 * backoff_, first_release_backoff, longest_release_backoff);
        state_->pause(backoff_, target);
    }

    /// Stays connected only while there may be something to send home.
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
        senders_.clear();
        const core::ProofKeys proof_keys = amqp::proof_keys(*target.settings);
        proof_keys_ = &proof_keys;
        amqp::HeldSession session(target.endpoint, target.settings->broker, connection_closing_steps_);
        session_ = &session;
        features_ = core::features_of(session.version());
        for (const std::string& work_queue : held_->names())
            held_->visit(work_queue, ready_again);  // the last session's
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

    /// Sends nothing more and waits for what is in flight.
    void leave() {
        const core::SteadyTime until = system::steady_now() + last_turns;
        while (system::steady_now() < until) {
            const core::Now now = system::now();
            session_->turn(now);
            bool settled = true;
            for (auto& [work_queue, sender] : senders_) {
                if (!sender.release) continue;
                sender.release->on_tick(now);
                settled = settled && sender.release->settled() && sender.lane->acks_are_through(now.steady);
            }
            if (settled) break;
            session_->wait(releasing_turn);
        }
        senders_.clear();
    }

    // ── One of them ──

    /// Returns how long until its next turn.
    Milliseconds attend(const BrokerTarget& target, const std::string& work_queue, const core::Now& now) {
        Sender& sender = senders_[work_queue];
        Milliseconds turn = idle_turn;
        held_->visit(work_queue, [&](HeldQueues::Queue& queue) {
            count(queue, sender, now);
            identify(target, queue, sender);
            queue.outage.on_tick(now);
            note_unattended(queue, sender, now);
            follow_outage(target, queue, sender, now);
            send(queue, sender, now);
            if (sender.lane == nullptr) return;
            turn = queue.outage.state() == Outage::State::releasing ? releasing_turn : holding_turn;
        });
        return turn;
    }

    void count(const HeldQueues::Queue& queue, Sender& sender, const core::Now& now) {
        const bool often =
            sender.lane != nullptr || queue.messages.value_or(1) > 0 || queue.outage.state() != Outage::State::none;
        if (!sender.count.due(often, now.steady)) return;
        sender.count.asked(now.steady);
        session_->carry_out(amqp::Declarer::CheckQueue{queue.held_queue},
                            [this, work_queue = queue.work_queue](const amqp::Declarer::Outcome& outcome) {
                                const bool known =
                                    !outcome.unanswered && held_->visit(work_queue, [&](HeldQueues::Queue& counted) {
                                        on_counted(counted, outcome);
                                    });
                                if (!known) senders_[work_queue].count.unanswered();
                            });
    }

    void on_counted(HeldQueues::Queue& queue, const amqp::Declarer::Outcome& outcome) {
        Sender& sender = senders_[queue.work_queue];
        const bool there = outcome.result == amqp::Declarer::Result::done;
        const auto counts = there ? std::optional{outcome.counts} : std::nullopt;
        const auto messages =
            sender.count.answered(counts, queue.messages, sender.lane != nullptr, system::steady_now());
        if (!messages) return;
        queue.messages = messages;
        queue.on_the_way = on_the_way(sender);
        if (sender.lane == nullptr) queue.stays = std::min(queue.stays, *messages);
        if (!there) queue.whose = Whose::unknown;  // a later queue of that name may be somebody else's
    }

    static void ready_again(HeldQueues::Queue& queue) {
        if (queue.messages) *queue.messages += queue.on_the_way;
        queue.on_the_way = 0;
    }

    static std::uint64_t on_the_way(const Sender& sender) { return sender.release ? sender.release->not_home() : 0; }

    // ── Whose it is ──

    /// Only once something is in the queue: then it exists, and declaring it does not create it.
    void identify(const BrokerTarget& target, HeldQueues::Queue& queue, Sender& sender) {
        if (!queue.may_go_home() && queue.whose != Whose::not_ours) queue.whose = Whose::unknown;
        if (queue.whose != Whose::unknown || sender.identifying || queue.messages.value_or(0) == 0) return;
        const bool named = queue.declares_held_queue() || queue.arguments_seen;
        if (!queue.may_go_home()) {
            disown(queue,
                   {"no entry of `queues:` matches its work queue",
                    "With an entry that matches it is sent home; `retryd parked replay --from` takes it as well"});
        } else if (target.settings->declare) {
            sender.identifying = true;
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

    /// The broker refuses the declaration if the queue has other arguments. A queue that an entry holds messages in may
    /// lack arguments that an earlier version did not declare.
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
        Sender& sender = senders_[queue.work_queue];
        const bool done = outcome.result == amqp::Declarer::Result::done;
        if (!done && !outcome.unanswered && strictly && queue.declares_held_queue() && outcome.code != not_permitted)
            return declare_as_ours(queue, false);
        sender.identifying = false;
        if (outcome.unanswered) return;
        const bool not_told = outcome.code == not_permitted && queue.declares_held_queue();
        if (done || not_told) {
            queue.whose = done && strictly && queue.was_configured ? Whose::ours : Whose::ours_where_proven;
        } else {
            const HeldQueues::Fault fault{outcome.text,
                                          "If that queue is somebody else's, he has to declare it by another name"};
            disown(queue, queue.declares_held_queue() || outcome.code == not_permitted ? fault : HeldQueues::Fault{});
        }
    }

    static void disown(HeldQueues::Queue& queue, HeldQueues::Fault fault) {
        queue.whose = Whose::not_ours;
        queue.fault = std::move(fault);
        queue.start_content_known = true;
    }

    static bool may_be_anothers(const HeldQueues::Queue& queue) {
        return queue.whose == Whose::ours_where_proven && !queue.configured;
    }

    /// Whether there are messages in it, ready or unacked here.
    static bool any_lies_there(const HeldQueues::Queue& queue, const Sender& sender) {
        const std::uint64_t stay = sender.lane == nullptr ? queue.stays : 0;
        return queue.messages.value_or(0) > stay || (sender.release && !sender.release->empty());
    }

    /// Notes held messages without a known outage: left by an earlier run, or by another daemon that has ended.
    void note_unattended(HeldQueues::Queue& queue, Sender& sender, const core::Now& now) {
        const bool unattended = queue.outage.state() == Outage::State::none && any_lies_there(queue, sender) &&
                                (sender.lane == nullptr || may_be_anothers(queue));
        if (!unattended) {
            sender.unattended_since.reset();
            if (queue.messages) queue.start_content_known = true;
            return;
        }
        // Perhaps there are none any more. The time goes on: where the broker says that on and off, a lane tells.
        if (sender.count.may_be_empty()) return;
        if (queue.whose == Whose::unknown || queue.whose == Whose::not_ours) return;
        if (may_be_anothers(queue) && !(sender.release && sender.release->any_proven())) return;
        if (!sender.unattended_since) sender.unattended_since = now.steady;
        const bool at_start = !queue.start_content_known;
        if (!at_start && now.steady - *sender.unattended_since < left_behind_after) return;
        queue.start_content_known = true;
        queue.outage.found_held(at_start, now);
    }

    /// 0 if nothing may be touched. A queue that may be somebody else's is looked at once, at its head, one queue after
    /// the other.
    static std::uint16_t wanted_prefetch(const HeldQueues::Queue& queue, const Sender& sender) {
        if (queue.whose == Whose::unknown || queue.whose == Whose::not_ours) return 0;
        if (queue.outage.held_by_hand()) return 0;
        if (may_be_anothers(queue)) return any_lies_there(queue, sender) ? prefetch_of_probes : 0;
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

    /// Messages that stay unacked use up the prefetch, so it is enlarged by their number, and by some more for those
    /// that are still to be found: each change of the prefetch means looking at them again.
    static std::uint16_t with_room(std::uint16_t prefetch, const HeldQueues::Queue& queue) {
        constexpr std::uint64_t most_room = 10'000;
        if (prefetch == 0 || queue.whose != Whose::ours) return prefetch;
        return static_cast<std::uint16_t>(prefetch + 2 * std::min(queue.stays, most_room));
    }

    /// Consumes with the prefetch that the state of the outage requires. A lane is closed only when nothing on it could
    /// be sent twice.
    void follow_outage(const BrokerTarget& target, HeldQueues::Queue& queue, Sender& sender, const core::Now& now) {
        if (sender.lane != nullptr) note_fault(queue, sender, now);
        const std::uint16_t wanted = with_room(wanted_prefetch(queue, sender), queue);
        sender.leaving = sender.lane != nullptr && wanted != sender.prefetch;
        if (sender.leaving) {
            sender.release->on_tick(now);
            if (!sender.release->settled() || !sender.lane->acks_are_through(now.steady)) return;
            close(queue, sender, now);
        }
        const bool any = queue.messages.value_or(0) > 0;
        if (sender.lane != nullptr || wanted == 0 || !any || now.steady < sender.not_before) return;
        if (queue.shared && !bound(queue, sender)) return;
        open(target, queue, sender, wanted, now);
    }

    void note_fault(HeldQueues::Queue& queue, Sender& sender, const core::Now& now) {
        note_what_stays(queue, sender);
        const bool ended = !sender.lane->ended().empty();
        if (sender.release->foreign()) {
            disown(queue, {"the message at its head has no proof that retryd has put it there",
                           "Nothing of that queue is touched from now on. If it is somebody else's, he has to declare "
                           "it by another name; if it is not, take that message away and start retryd again"});
        } else if (ended || sender.release->stuck(now.steady)) {
            queue.fault = ended ? HeldQueues::Fault{sender.lane->ended(),
                                                    "The user needs read on that queue, and write on amq.default: "
                                                    "`retryd doctor --permissions` prints all"}
                                : HeldQueues::Fault{"the broker does not answer",
                                                    "See whether that queue and the work queue have a leader: "
                                                    "`rabbitmq-queues quorum_status`"};
        } else {
            return;
        }
        sender.not_before = now.steady + lane_again_after;
        close(queue, sender, now);
    }

    static void note_what_stays(HeldQueues::Queue& queue, const Sender& sender) {
        if (sender.release->stays() <= queue.stays) return;
        queue.stays = sender.release->stays();
        queue.fault = {std::to_string(queue.stays) + (queue.stays == 1 ? " message" : " messages") +
                           " there with headers that nest too deep to be read, or that do not fit a frame",
                       "Somebody else has put it there, and all others go home as if it were not there. Take it away "
                       "with a consumer of your own"};
    }

    /// What was unacked here becomes ready again, and is counted as that until the broker says so: else a queue that
    /// cannot be asked just then would count as empty.
    void close(HeldQueues::Queue& queue, Sender& sender, const core::Now& now) {
        queue.on_the_way = sender.release->not_home();
        ready_again(queue);
        session_->close(*std::exchange(sender.lane, nullptr));
        sender.release.reset();
        sender.prefetch = 0;
        sender.count.lane_changed(now.steady);
    }

    void open(const BrokerTarget& target, const HeldQueues::Queue& queue, Sender& sender, std::uint16_t prefetch,
              const core::Now& now) {
        sender.lane = session_->open();
        if (sender.lane == nullptr) return;  // the limit of open lanes is reached: try later
        sender.count.lane_changed(now.steady);
        relay::Release::Targets targets{queue.held_queue,
                                        target.settings->policy.catch_all,
                                        queue.shared && sender.may_return,
                                        target.endpoint.username,
                                        *proof_keys_,
                                        queue.whose != Whose::ours};
        sender.release = std::make_unique<relay::Release>(std::move(targets), *sender.lane);
        sender.prefetch = prefetch;
        session_->consume(*sender.lane, queue.held_queue, prefetch, *sender.release);
    }

    /// A message for an unbound work queue would come back to the error queue through the return exchange. If a work
    /// queue cannot be bound, messages are sent to it directly.
    bool bound(const HeldQueues::Queue& queue, Sender& sender) {
        if (sender.bound) return true;
        if (std::exchange(sender.binding, true)) return false;
        session_->carry_out(core::return_binding(queue.work_queue),
                            [this, work_queue = queue.work_queue](const amqp::Declarer::Outcome& outcome) {
                                Sender& asked = senders_[work_queue];
                                asked.bound = true;
                                asked.may_return = outcome.result == amqp::Declarer::Result::done;
                            });
        return false;
    }

    void send(HeldQueues::Queue& queue, Sender& sender, const core::Now& now) {
        if (queue.whose == Whose::not_ours && queue.outage.state() == Outage::State::releasing) {
            queue.outage.abandon(now);
            return;
        }
        if (sender.lane == nullptr) {
            // The queue is empty and nothing is in flight: there is nothing to release.
            const bool none = queue.messages && *queue.messages == 0 && sender.count.none_since_busy();
            if (none && !queue.outage.held_by_hand()) queue.outage.emptied(now);
            return;
        }
        const std::size_t sent = sender.release->send(sender.leaving ? 0 : queue.outage.may_send(now.steady), now);
        for (std::size_t i = 0; i < sent; ++i)
            queue.outage.sent(now);
        if (sent > 0) queue.fault = {};
        if (sender.release->counts().parked > 0) queue.gone = true;
        sender.release->on_tick(now);
        const bool idle = sender.release->empty();
        if (!idle) sender.count.busy(now.steady);
        if (idle && sender.count.none_since_busy(none_left_after)) queue.outage.emptied(now);
    }

    std::shared_ptr<SideThreadState> state_;
    std::shared_ptr<HeldQueues> held_;
    amqp::HeldSession* session_ = nullptr;
    amqp::ConnectionClosingSteps connection_closing_steps_;
    core::BrokerFeatures features_;
    const core::ProofKeys* proof_keys_ = nullptr;
    std::map<std::string, Sender> senders_;  // by work queue
    Milliseconds backoff_{};
};

ReleaseLoop::ReleaseLoop(std::shared_ptr<HeldQueues> held)
    : thread_(
          state_, [worker = std::make_shared<Worker>(state_, std::move(held))] { worker->run(); },
          last_turns + std::chrono::milliseconds{500}) {}

}  // namespace retryd::daemon
