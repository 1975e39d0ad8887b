// What a message goes through, from its delivery to its ack. What keeps it from going on: faults.cpp. What has to be
// there on the broker: needs.cpp.
#include "relay/relay.h"

#include <algorithm>

#include "core/names.h"

namespace retryd::relay {
namespace {

using core::Milliseconds;

/// So long an ack waits for an older delivery to be settled too.
constexpr Milliseconds late_acks_after{100};
/// Messages above this priority need a rung of their own where they would hold back the others.
constexpr std::uint8_t highest_normal_priority = 4;

std::uint64_t address_of(const Target& target, const core::Story& story) {
    return target.routing_key ? target.address : hash_of_address(target.exchange, core::producer_routing_key(story));
}

/// Lives as long as the route, without a copy.
std::shared_ptr<const std::string> name_of(const std::shared_ptr<Route>& route) {
    return route ? std::shared_ptr<const std::string>{route, &route->work_queue} : nullptr;
}

}  // namespace

Relay::Relay(std::shared_ptr<const core::Policy> policy, Surroundings surroundings, Broker& broker, Reporter& reporter,
             Suspects& suspects)
    : policy_(policy),
      surroundings_(std::move(surroundings)),
      broker_(broker),
      reporter_(reporter),
      suspects_(suspects),
      routes_(std::move(policy), surroundings_.features) {}

// ── The way of a message ────────────────────────────────────────────────────────────────────────────────────────

void Relay::on_delivery(const core::Delivery& delivery, const core::Now& now) {
    settlements_.delivered(delivery.tag);
    if (stopping_) return;
    if (paused_ || adopting_ || carry(delivery, now) == Step::wait) hold(delivery);
}

Relay::Step Relay::carry(const core::Delivery& delivery, const core::Now& now) {
    const core::Table headers = delivery.message.properties.header_table();
    if (const auto queue = core::read_undelivered(headers)) return bring_home(delivery, *queue, now);

    core::Story story{core::read_death(headers, policy_->error_queue), {}, surroundings_.connection_user};
    std::shared_ptr<Route> route;
    if (story.death) {
        story.carried = core::read_carried(headers, story.death->queue);
        route = routes_.of(story.death->queue);
    }
    const core::Decision decision =
        core::decide(story.death, story.carried, route ? route->entry : nullptr, {now.wall, surroundings_.dice()});
    if (std::holds_alternative<core::Drop>(decision)) return drop(delivery, story, *route);
    if (route && !work_queue_known(*route, now)) return Step::wait;
    if (route && route->existence == Existence::missing) {
        const auto attempt = core::attempt_of(*story.death, story.carried);
        return park(delivery, story, route, {core::ParkReason::queue_gone, attempt}, now);
    }
    if (const auto* again = std::get_if<core::Retry>(&decision)) return retry(delivery, story, route, *again, now);
    return park(delivery, story, route, std::get<core::Park>(decision), now);
}

Relay::Step Relay::retry(const core::Delivery& delivery, const core::Story& story, const std::shared_ptr<Route>& route,
                         const core::Retry& retry, const core::Now& now) {
    const bool high = delivery.message.properties.priority.value_or(0) > highest_normal_priority;
    const std::shared_ptr<Target> rung = routes_.rung(*route, retry.delay, high);
    const bool refused = route->existence == Existence::refused || usable(*rung, now) == Target::State::refused;
    if (refused) return park(delivery, story, route, {core::ParkReason::unpublishable, retry.attempt}, now);
    if (rung->state != Target::State::ready) return Step::wait;
    const core::Message composed = core::compose_retry(delivery.message, story, retry, scratch_);
    return publish(
        delivery, composed, story,
        {delivery.tag, rung, name_of(route), Outcome::retried, reported_reason(story.death->reason), now.steady});
}

Relay::Step Relay::park(const core::Delivery& delivery, const core::Story& story, const std::shared_ptr<Route>& route,
                        const core::Park& park, const core::Now& now) {
    std::shared_ptr<Target> target = route && route->proven() ? routes_.parked(*route) : routes_.catch_all();
    if (!takes(*target, delivery, story, now)) target = routes_.catch_all();
    if (usable(*target, now) != Target::State::ready) return Step::wait;
    const core::Message composed = core::compose_parked(delivery.message, story, park, now.wall, scratch_);
    const std::string_view reason = reported_reason(park.reason, story.death ? story.death->reason : "");
    return publish(delivery, composed, story,
                   {delivery.tag, target, name_of(route), Outcome::parked, reason, now.steady});
}

/// Whether it can be parked there. An exchange of somebody else's may lead nowhere, or back to us.
bool Relay::takes(Target& target, const core::Delivery& delivery, const core::Story& story, const core::Now& now) {
    if (target.role == Role::parking_exchange) {
        const core::Table headers = delivery.message.properties.header_table();
        if (core::find(headers, core::header::parked_reason) != nullptr) {
            refuse(target, "exchange '" + target.name + "' leads what is parked back to the error queue", now);
        }
        if (unroutable_.holds(address_of(target, story), now.steady)) return false;
    }
    return usable(target, now) != Target::State::refused;
}

Relay::Step Relay::drop(const core::Delivery& delivery, const core::Story& story, const Route& route) {
    settlements_.ack(delivery.tag);
    reporter_.settled({Outcome::dropped, route.work_queue, "", reported_reason(story.death->reason), {}, {}, {}});
    if (route.existence == Existence::unasked) routes_.forget(route);  // forged names must not fill the memory
    return Step::done;
}

/// Its delay is over, but the return exchange did not know its work queue: bound again, it goes home at once.
Relay::Step Relay::bring_home(const core::Delivery& delivery, std::string_view work_queue, const core::Now& now) {
    const core::Story story{
        {}, core::read_carried(delivery.message.properties.header_table(), work_queue), surroundings_.connection_user};
    const auto park_as = [&](core::ParkReason reason) {
        return park(delivery, story, nullptr, {reason, story.carried.attempt}, now);
    };
    if (core::match(*policy_, work_queue) == nullptr) return park_as(core::ParkReason::no_entry);
    if (!surroundings_.declare) return park_as(core::ParkReason::unpublishable);
    const auto [known, is_new] = undelivered_.try_emplace(std::string{work_queue}, Existence::asking);
    if (is_new) bind_home(work_queue);
    switch (known->second) {
        case Existence::exists:
            break;
        case Existence::missing:
            return park_as(core::ParkReason::queue_gone);
        case Existence::refused:
            return park_as(core::ParkReason::unpublishable);
        default:
            return Step::wait;
    }
    const std::shared_ptr<Target>& home = routes_.return_exchange();
    if (usable(*home, now) == Target::State::refused) return park_as(core::ParkReason::unpublishable);
    if (home->state != Target::State::ready) return Step::wait;
    const core::Message composed = core::compose_home(delivery.message, story, scratch_);
    return publish(delivery, composed, story,
                   {delivery.tag, home, std::make_shared<const std::string>(work_queue), Outcome::sent_home,
                    "undelivered", now.steady});
}

Relay::Step Relay::publish(const core::Delivery& delivery, const core::Message& composed, const core::Story& story,
                           Pending pending) {
    const std::string_view work_queue = pending.work_queue ? std::string_view{*pending.work_queue} : "";
    if (suspects_.alone()) {
        if (!in_flight_.empty()) return Step::wait;
        if (!may_be_tried(delivery, work_queue, pending.sent_at)) return Step::done;
    }
    const Target& to = *pending.target;
    pending.redelivered = delivery.redelivered;
    pending.published_as = address_of(to, story);
    const std::string_view key = to.routing_key ? *to.routing_key : core::producer_routing_key(story);
    sending_ = true;
    const PublishResult result = broker_.publish({to.exchange, key, composed});
    sending_ = false;
    switch (result) {
        case PublishResult::sent:
            in_flight_.add(std::move(pending));
            return Step::done;
        case PublishResult::would_block:
            paused_ = true;
            return Step::wait;
        case PublishResult::header_too_large:
            break;
    }
    dead_letter(delivery.tag, work_queue, "its headers do not fit an AMQP frame", pending.sent_at);
    return Step::done;
}

void Relay::on_confirm(PublishSeq seq, bool multiple, bool acked, const core::Now& now) {
    confirmed_.clear();
    in_flight_.confirm(seq, multiple, confirmed_);
    const bool alone = suspects_.alone();
    for (const Pending& pending : confirmed_)
        settle(pending, acked, now);
    if (alone) carry_held(now);  // the next one's turn
}

void Relay::settle(const Pending& pending, bool acked, const core::Now& now) {
    suspects_.acquit(pending.redelivered);
    publishing_failures_ = 0;
    any_confirmed_ = true;
    if (!acked) return requeue_later(pending, RequeueCause::nacked, now);
    if (pending.returned) return requeue_later(pending, RequeueCause::returned, now);
    Target& target = *pending.target;
    target.failures = 0;
    if (target.role == Role::parking_exchange) {
        if (unroutable_.heal(pending.published_as)) reporter_.healed(target.role, target.name);
        report_healed(target);
    }
    reporter_.settled({pending.outcome, pending.work_queue ? std::string_view{*pending.work_queue} : "", target.name,
                       pending.reason, target.delay, now.steady - pending.sent_at, target.role});
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

}  // namespace retryd::relay
