#include "relay/relay.h"

#include <algorithm>

#include "core/names.h"

namespace retryd::relay {
namespace {

using core::Milliseconds;

constexpr Milliseconds first_backoff{1'000};
constexpr Milliseconds longest_backoff{30'000};
/// A refused queue is asked for again after this: somebody may have mended it.
constexpr Milliseconds refused_for{60'000};
/// So long an ack waits for an older delivery to be settled too.
constexpr Milliseconds late_acks_after{100};
/// Messages above this priority need a rung of their own where they would hold back the others.
constexpr std::uint8_t highest_normal_priority = 4;

Milliseconds backoff(int failures) {
    const int doublings = std::min(failures - 1, 10);
    return std::min(first_backoff * (1 << doublings), longest_backoff);
}

}  // namespace

Relay::Relay(const core::Policy& policy, const core::BrokerFeatures& features, std::string connection_user,
             Broker& broker, Reporter& reporter)
    : policy_(policy),
      connection_user_(std::move(connection_user)),
      broker_(broker),
      reporter_(reporter),
      routes_(policy, features) {}

void Relay::start() {
    for (const core::Entry& entry : policy_.entries) {
        if (!core::is_glob(entry.match)) declare_all(*routes_.of(entry.match));
    }
}

// ── The way of a message ────────────────────────────────────────────────────────────────────────────────────────

void Relay::on_delivery(const core::Delivery& delivery, const core::Now& now) {
    settlements_.delivered(delivery.tag);
    if (stopping_) return;
    if (paused_ || carry(delivery, now) == Step::wait) hold(delivery);
}

Relay::Step Relay::carry(const core::Delivery& delivery, const core::Now& now) {
    const core::Table headers = delivery.message.properties.header_table();
    core::Story story{core::read_death(headers, policy_.error_queue), {}, connection_user_};
    std::shared_ptr<Route> route;
    if (story.death) {
        story.carried = core::read_carried(headers, story.death->queue);
        route = routes_.of(story.death->queue);
        if (route && !work_queue_known(*route)) return Step::wait;
    }
    const core::Decision decision = decide(story, route.get());
    if (const auto* again = std::get_if<core::Retry>(&decision)) return retry(delivery, story, route, *again, now);
    return park(delivery, story, route, std::get<core::Park>(decision), now);
}

bool Relay::work_queue_known(Route& route) {
    if (route.existence == Existence::unasked) {
        route.existence = Existence::asking;
        broker_.check(route.work_queue);
    }
    return route.existence != Existence::asking;
}

core::Decision Relay::decide(const core::Story& story, const Route* route) const {
    if (route != nullptr && route->existence == Existence::missing) {
        return core::Park{core::ParkReason::queue_gone, core::attempt_of(*story.death, story.carried)};
    }
    return core::decide(story.death, story.carried, route != nullptr ? route->entry : nullptr);
}

Relay::Step Relay::retry(const core::Delivery& delivery, const core::Story& story, const std::shared_ptr<Route>& route,
                         const core::Retry& retry, const core::Now& now) {
    const bool high = delivery.message.properties.priority.value_or(0) > highest_normal_priority;
    const std::shared_ptr<Target> rung = routes_.rung(*route, retry.delay, high);
    switch (usable(*rung, now)) {
        case Target::State::ready:
            break;
        case Target::State::refused:
            return park(delivery, story, route, {core::ParkReason::unpublishable, retry.attempt}, now);
        default:
            return Step::wait;
    }
    const core::Message composed = core::compose_retry(delivery.message, story, retry, scratch_);
    return publish(delivery, composed,
                   {delivery.tag, rung, route, false, reported_reason(story.death->reason), now.steady});
}

Relay::Step Relay::park(const core::Delivery& delivery, const core::Story& story, const std::shared_ptr<Route>& route,
                        const core::Park& park, const core::Now& now) {
    const bool own = route && park.reason != core::ParkReason::queue_gone;
    std::shared_ptr<Target> target = own ? routes_.parked(*route) : routes_.catch_all();
    if (usable(*target, now) == Target::State::refused) target = routes_.catch_all();
    if (usable(*target, now) != Target::State::ready) return Step::wait;
    const core::Message composed = core::compose_parked(delivery.message, story, park, now.wall, scratch_);
    const std::string_view reason = reported_reason(park.reason, story.death ? story.death->reason : "");
    return publish(delivery, composed, {delivery.tag, target, route, true, reason, now.steady});
}

Relay::Step Relay::publish(const core::Delivery& delivery, const core::Message& composed, Pending pending) {
    // Through the default exchange, where the routing key is the queue's name.
    const core::Publication publication{"", pending.target->name(), composed};
    switch (broker_.publish(publication)) {
        case PublishResult::sent:
            in_flight_.add(std::move(pending));
            return Step::done;
        case PublishResult::would_block:
            paused_ = true;
            return Step::wait;
        case PublishResult::header_too_large:
            break;
    }
    dead_letter(delivery.tag, pending.route ? pending.route->work_queue : "", "its headers do not fit an AMQP frame");
    return Step::done;
}

void Relay::on_confirm(PublishSeq seq, bool multiple, bool acked, const core::Now& now) {
    confirmed_.clear();
    in_flight_.confirm(seq, multiple, confirmed_);
    for (const Pending& pending : confirmed_)
        settle(pending, acked, now);
}

void Relay::settle(const Pending& pending, bool acked, const core::Now& now) {
    if (!acked) return requeue_later(pending, RequeueCause::nacked, now);
    if (pending.returned) return requeue_later(pending, RequeueCause::returned, now);
    pending.target->failures = 0;
    report_settled(pending, now);
    settlements_.ack(pending.tag);
}

void Relay::flush(const core::Now& now) {
    settlements_.flush(broker_);
    if (settlements_.behind() == 0) {
        late_acks_due_.reset();
    } else if (!late_acks_due_) {
        late_acks_due_ = now.steady + late_acks_after;
    } else if (*late_acks_due_ <= now.steady) {
        flush_all();
    }
}

void Relay::flush_all() {
    settlements_.flush(broker_);
    settlements_.flush_behind(broker_);
    late_acks_due_.reset();
}

// ── Faults ──────────────────────────────────────────────────────────────────────────────────────────────────────

void Relay::on_unreadable_delivery(core::DeliveryTag tag) {
    settlements_.delivered(tag);
    if (stopping_) return;
    dead_letter(tag, "", "its headers nest too deep to be read");
}

void Relay::dead_letter(core::DeliveryTag tag, std::string_view work_queue, std::string_view why) {
    broker_.dead_letter(tag);
    settlements_.settled(tag);
    reporter_.dead_lettered(work_queue, why);
}

void Relay::on_returned(std::string_view queue) {
    const std::shared_ptr<Target> target = routes_.target(queue);
    if (!target) return;
    in_flight_.mark_returned(*target);
    if (target->state == Target::State::ready) target->state = Target::State::unknown;  // declared again when needed
}

/// The delivery stays unacked for a while and is then given back: the broker redelivers it with its content.
void Relay::requeue_later(const Pending& pending, RequeueCause cause, const core::Now& now) {
    const Milliseconds delay = backoff(++pending.target->failures);
    requeues_.push_back({now.steady + delay, pending.tag});
    std::push_heap(requeues_.begin(), requeues_.end(), std::greater<>{});
    reporter_.requeued(pending.target->name(), cause, delay);
}

void Relay::on_tick(const core::Now& now) {
    while (!requeues_.empty() && requeues_.front().due <= now.steady) {
        const core::DeliveryTag tag = requeues_.front().tag;
        std::pop_heap(requeues_.begin(), requeues_.end(), std::greater<>{});
        requeues_.pop_back();
        broker_.requeue(tag);
        settlements_.settled(tag);
    }
    if (const auto due = catch_all_due(); due && *due <= now.steady) carry_held(now);
}

/// Without the catch-all some deliveries can only wait: when it is to be asked for again.
std::optional<core::SteadyTime> Relay::catch_all_due() const {
    const Target& catch_all = *routes_.catch_all();
    if (held_.empty() || catch_all.state != Target::State::refused) return std::nullopt;
    return catch_all.refused_until;
}

std::optional<core::SteadyTime> Relay::next_tick() const {
    std::optional<core::SteadyTime> next = catch_all_due();
    if (late_acks_due_) next = std::min(next.value_or(*late_acks_due_), *late_acks_due_);
    if (!requeues_.empty()) next = std::min(next.value_or(requeues_.front().due), requeues_.front().due);
    return next;
}

void Relay::resume(const core::Now& now) {
    paused_ = false;
    carry_held(now);
}

void Relay::stop() {
    stopping_ = true;
    held_.clear();
    held_bytes_ = 0;
}

// ── Queues of ours ──────────────────────────────────────────────────────────────────────────────────────────────

/// ready, refused, or declaring (asked for now if it was not yet).
Target::State Relay::usable(Target& target, const core::Now& now) {
    const bool ask_again = target.state == Target::State::refused && now.steady >= target.refused_until;
    if (target.state == Target::State::unknown || ask_again) declare(target);
    return target.state;
}

void Relay::declare(Target& target) {
    target.state = Target::State::declaring;
    broker_.declare(target.spec);
}

void Relay::declare_all(Route& route) {
    for (const Milliseconds delay : core::distinct_delays(route.entry->ladder)) {
        const auto rung = routes_.rung(route, delay, false);
        if (rung->state == Target::State::unknown) declare(*rung);
    }
    const auto parked = routes_.parked(route);
    if (parked->state == Target::State::unknown) declare(*parked);
}

void Relay::on_declared(std::string_view queue, DeclareOutcome outcome, std::string_view why, const core::Now& now) {
    const std::shared_ptr<Target> target = routes_.target(queue);
    if (!target) return;
    if (outcome == DeclareOutcome::ready) {
        target->state = Target::State::ready;
        if (target->reported) reporter_.target_healed(queue);
        target->reported = false;
    } else {
        target->state = Target::State::refused;
        target->refused_until = now.steady + refused_for;
        if (!target->reported) reporter_.target_refused(queue, why);
        target->reported = true;
    }
    carry_held(now);
}

void Relay::on_checked(std::string_view queue, CheckOutcome outcome, const core::Now& now) {
    const std::shared_ptr<Route> route = routes_.of(queue);
    if (!route || route->existence != Existence::asking) return;
    if (outcome == CheckOutcome::missing) {
        route->existence = Existence::missing;
        carry_held(now);         // parks those that wait for this answer
        routes_.forget(*route);  // not remembered: forged names must not fill the memory, and the queue may come yet
        return;
    }
    route->existence = Existence::exists;
    declare_all(*route);
    carry_held(now);
}

// ── Waiting deliveries ──────────────────────────────────────────────────────────────────────────────────────────

void Relay::hold(const core::Delivery& delivery) {
    held_.emplace_back(delivery);
    held_bytes_ += delivery.message.body.size();
}

void Relay::carry_held(const core::Now& now) {
    if (paused_ || stopping_) return;
    std::deque<core::OwnedDelivery> waiting;
    waiting.swap(held_);
    for (core::OwnedDelivery& owned : waiting) {
        if (!paused_ && carry(owned.get(), now) == Step::done) {
            held_bytes_ -= owned.get().message.body.size();
        } else {
            held_.push_back(std::move(owned));
        }
    }
}

void Relay::report_settled(const Pending& pending, const core::Now& now) {
    reporter_.settled({pending.route ? std::string_view{pending.route->work_queue} : "", pending.target->name(),
                       pending.parked, pending.reason, pending.target->delay, now.steady - pending.sent_at});
}

}  // namespace retryd::relay
