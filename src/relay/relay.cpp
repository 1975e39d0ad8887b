// From top to bottom: the way of a message, what has to wait, what the broker refuses, and the answers to what was
// declared or checked.
#include "relay/relay.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/death.h"
#include "core/fingerprint.h"
#include "core/names.h"
#include "core/reply_code.h"
#include "core/topology.h"

namespace retryd::relay {
namespace {

using core::Milliseconds;

/// So long an ack waits for an older delivery that is still open; or less, where that may stay open for long.
constexpr Milliseconds late_acks_after{100};
constexpr Milliseconds late_acks_after_held_up{20};
/// Messages above this priority need a rung of their own where they would hold back the others.
constexpr std::uint8_t highest_normal_priority = 4;
/// The pause of a message that cannot be dead-lettered.
constexpr Milliseconds stuck_for{30'000};
/// At most so long a message stays that can go nowhere.
constexpr Milliseconds longest_pause{30'000};
/// So long messages wait for a target that is being declared, or has enough under way. Then they take the detour, and
/// so do for a while those that come after them.
constexpr Milliseconds longest_wait{300};
constexpr Milliseconds none_waits_for{1'000};
/// So long for a detour that is being declared: there is no better place.
constexpr Milliseconds longest_wait_at_last{2'000};
/// When some have waited so long in vain, others may do the same one after the other: for a while no more than half of
/// the prefetch waits at once.
constexpr Milliseconds waits_scarce_for{10'000};
/// So many deliveries may wait, whatever the prefetch.
constexpr std::size_t few_waiting = 4;
constexpr Milliseconds between_looks{100};
/// A publication that is not answered may still arrive, so its delivery stays unacked; but not longer than the broker
/// bears it: consumer_timeout is 30 minutes.
constexpr Milliseconds given_up_after{20 * 60'000};

std::uint64_t address_of(const Target& target, const core::ComposeContext& context) {
    return target.routing_key ? target.address : hash_of_address(target.exchange, core::producer_routing_key(context));
}

/// Points at the route's name and keeps the route alive: no copy for each message.
std::shared_ptr<const std::string> name_of(const std::shared_ptr<Route>& route) {
    return route ? std::shared_ptr<const std::string>{route, &route->work_queue} : nullptr;
}

std::string_view name_of(const Pending& pending) {
    return pending.work_queue ? std::string_view{*pending.work_queue} : "";
}

TargetName name_of(const Target& target) {
    return {target.role, target.name, target.only_from};
}

/// What cannot go there goes nowhere.
bool is_last_resort(const Target& target) {
    return target.role == Role::detour;
}

struct ExchangeName {
    std::string_view text;  // empty where none is named
    bool cut = false;       // only the beginning is there: the broker cuts a text at 255 bytes
};

/// The exchange in the broker's words: "no exchange 'x' in vhost", "access to exchange 'x' in vhost".
ExchangeName exchange_in(std::string_view why) {
    constexpr std::string_view opening = "exchange '";
    constexpr std::string_view closing = "' in vhost '";
    constexpr std::string_view ellipsis = "...";
    const auto begin = why.find(opening);
    if (begin == std::string_view::npos) return {};
    why.remove_prefix(begin + opening.size());
    if (const auto end = why.find(closing); end != std::string_view::npos) return {why.substr(0, end)};
    if (why.ends_with(ellipsis)) why.remove_suffix(ellipsis.size());
    return {why, true};
}

}  // namespace

Relay::Relay(std::shared_ptr<const core::Policy> policy, SessionInfo session, Broker& broker, Reporter& reporter,
             PoisonDetector& poison)
    : policy_(policy),
      session_(std::move(session)),
      broker_(broker),
      reporter_(reporter),
      poison_(poison),
      routes_(std::move(policy), session_.features),
      declarations_(routes_, broker_, reporter_, session_.declare),
      channels_(session_.publishing_channels) {}

// ── The way of a message ────────────────────────────────────────────────────────────────────────────────────────

void Relay::on_delivery(const core::Delivery& delivery, const core::Now& now) {
    acks_.delivered(delivery.tag);
    most_open_ = std::max(most_open_, acks_.open());
    if (stopping_) return;
    waits_for_ = nullptr;
    if (paused_ || adopting_ || process(delivery, now) == Step::wait) waiting_deliveries_.add(delivery, waits_for_);
}

Relay::Step Relay::process(const core::Delivery& delivery, const core::Now& now) {
    const core::Table headers = delivery.message.properties.header_table();
    core::ComposeContext context{
        core::read_death(headers, policy_->error_queue), {}, session_.connection_user, &session_.proof_keys};
    if (!context.death) {
        if (const auto queue = core::read_undelivered(headers)) return return_undelivered(delivery, *queue, now);
    }
    const bool from_detour = !context.death || context.death->count == 0;
    if (from_detour && core::is_parked_detour(headers, policy_->error_queue))
        return park_again(delivery, ParkedAgain::detoured, now);
    std::shared_ptr<Route> route;
    if (context.death) {
        core::distrust(*context.death, session_.features.counts_client_deaths, delivery.routing_key, now.wall);
        context.history = core::read_retry_history(headers, context.death->queue, session_.proof_keys);
        if (from_detour && !context.history.proven) {
            if (const auto step = distrust_detour(delivery, context, now)) return *step;
        }
    }
    if (context.death) {
        route = routes_.route_for(context.death->queue);
        if (!route && core::is_parking_queue(*policy_, context.death->queue)) {
            const bool rejected = context.death->reason == "rejected";
            return park_again(delivery, rejected ? ParkedAgain::rejected : ParkedAgain::thrown_out, now);
        }
    }
    const core::Decision decision =
        core::decide(context.death, context.history, route ? route->entry : nullptr, now.wall, session_.dice());
    if (std::holds_alternative<core::Drop>(decision)) return drop(delivery, context, *route);
    const std::int64_t attempt = context.death ? core::attempt_of(*context.death, context.history) : 0;
    const bool known_gone = route && from_detour && route->gone_for_detoured;
    if (route && !known_gone && !declarations_.work_queue_checked(*route, now)) {
        if (may_wait({route, &route->awaited}, now)) return Step::wait;
        const Milliseconds age = now.steady - route->checked_at;
        route->detoured_unchecked = true;
        return detour(delivery, context, attempt, {route->detour_rounds, age}, now);
    }
    const auto queue_state = known_gone ? route->gone_for_detoured
                             : route    ? std::optional{route->work_queue_state}
                                        : std::nullopt;
    if (queue_state == WorkQueueState::missing) {
        return park(delivery, context, route, {core::ParkReason::queue_gone, attempt}, now);
    }
    if (queue_state == WorkQueueState::exclusive) {
        return park(delivery, context, route, {core::ParkReason::no_entry, attempt}, now);
    }
    if (const auto* again = std::get_if<core::Retry>(&decision)) return retry(delivery, context, route, *again, now);
    return park(delivery, context, route, std::get<core::Park>(decision), now);
}

/// What comes from a detour names its work queue itself. Without a proof that counts only where the detour is ours:
/// somebody may have declared a queue of that name before, and then it has died nowhere that we know. Nothing where
/// that is settled.
std::optional<Relay::Step> Relay::distrust_detour(const core::Delivery& delivery, core::ComposeContext& context,
                                                  const core::Now& now) {
    const auto name = core::detour_of(delivery.message.properties.header_table(), policy_->error_queue);
    const std::shared_ptr<Target> way = name ? routes_.detour(*name) : nullptr;
    const Target::State state = way ? declarations_.ensure(*way, now) : Target::State::refused;
    if (state == Target::State::ready) return std::nullopt;
    if (state != Target::State::refused) return will_take_soon(way, now) ? Step::wait : hold_back(delivery, *way, now);
    context.death.reset();
    context.history = {};
    return std::nullopt;
}

Relay::Step Relay::retry(const core::Delivery& delivery, const core::ComposeContext& context,
                         const std::shared_ptr<Route>& route, const core::Retry& retry, const core::Now& now) {
    const bool high = delivery.message.properties.priority.value_or(0) > highest_normal_priority;
    const std::shared_ptr<Target> rung = routes_.rung(*route, retry.delay, high);
    const bool refused = declarations_.ensure(*rung, now) == Target::State::refused && !rung->changed;
    if (refused || route->work_queue_state == WorkQueueState::refused)
        return park(delivery, context, route, {core::ParkReason::unpublishable, retry.attempt}, now);
    if (!takes(rung, now)) return wait_or_detour(delivery, context, retry.attempt, rung, now);
    const core::Message composed = core::compose_retry(delivery.message, context, retry, scratch_);
    return publish(
        delivery, composed, context,
        {delivery.tag, rung, name_of(route), Outcome::retried, core::reason_label(context.death->reason), now.steady});
}

Relay::Step Relay::park(const core::Delivery& delivery, const core::ComposeContext& context,
                        const std::shared_ptr<Route>& route, const core::Park& park, const core::Now& now) {
    std::shared_ptr<Target> target = route && route->work_queue_exists() ? routes_.parked(*route) : routes_.catch_all();
    if (!can_park_in(*target, delivery, context, now)) target = routes_.catch_all();
    declarations_.ensure(*target, now);
    if (!takes(target, now)) return wait_or_detour(delivery, context, park.attempt, target, now);
    const core::Message composed = core::compose_parked(delivery.message, context, park, now.wall, scratch_);
    const std::string_view reason = core::reason_label(park.reason, context.death ? context.death->reason : "");
    return publish(delivery, composed, context,
                   {delivery.tag, target, name_of(route), Outcome::parked, reason, now.steady});
}

/// A policy makes parking queues dead-letter, and that leads here. What somebody has rejected there goes to the
/// catch-all, its story kept. What the broker has thrown out, because the queue is full or by a TTL, waits on the
/// longest detour first: the catch-all may be just as full, and each message that it takes would throw out another.
Relay::Step Relay::park_again(const core::Delivery& delivery, ParkedAgain why, const core::Now& now) {
    const std::shared_ptr<Target>& catch_all = routes_.catch_all();
    const core::ComposeContext context{{}, {}, session_.connection_user, &session_.proof_keys};
    const bool thrown_out = why == ParkedAgain::thrown_out;
    if (!thrown_out) {
        declarations_.ensure(*catch_all, now);
        if (takes(catch_all, now)) {
            const bool keep_death = why == ParkedAgain::rejected;
            const core::Message composed =
                core::compose_parked_again(delivery.message, context, keep_death, now.wall, scratch_);
            return publish(delivery, composed, context,
                           {delivery.tag, catch_all, nullptr, Outcome::parked,
                            core::reason_label(core::ParkReason::no_entry, ""), now.steady});
        }
        if (waits_as_suspect(delivery, catch_all, now) || will_take_soon(catch_all, now)) return Step::wait;
    }
    InsteadOf instead = instead_of(*catch_all, now);
    if (thrown_out) instead.trouble_age = core::detour_delays.back();
    const auto compose = [&](Milliseconds) {
        return core::compose_parked_again(delivery.message, context, false, now.wall, scratch_);
    };
    return detour_as(delivery, context, "", instead, compose, now);
}

/// An exchange of somebody else's may lead nowhere, or back to us: what has been parked before does not go there again.
/// That header may be forged, so it speaks for its own message alone. What refuses messages is left alone, but for one
/// now and then that finds out whether it still does.
bool Relay::can_park_in(Target& target, const core::Delivery& delivery, const core::ComposeContext& context,
                        const core::Now& now) {
    if (target.role == Role::parking_exchange) {
        const core::Table headers = delivery.message.properties.header_table();
        if (core::find(headers, core::header::parked_reason) != nullptr) {
            reporter_.parked_before(target.name);
            return false;
        }
        if (unroutable_.contains(address_of(target, context), now.steady)) return false;
    }
    if (target.flow.trouble() == TargetFlow::Trouble::refusing && !target.flow.takes(now.steady)) return false;
    return declarations_.ensure(target, now) != Target::State::refused;
}

Relay::Step Relay::wait_or_detour(const core::Delivery& delivery, const core::ComposeContext& context,
                                  std::int64_t attempt, const std::shared_ptr<Target>& target, const core::Now& now) {
    if (waits_as_suspect(delivery, target, now) || will_take_soon(target, now)) return Step::wait;
    return detour(delivery, context, attempt, instead_of(*target, now), now);
}

Relay::InsteadOf Relay::instead_of(Target& target, const core::Now& now) {
    return {target.detour_rounds, target.trouble_age(now.steady)};
}

/// Outside of the error queue, with its attempt unspent, until its target takes messages again: what waits inside holds
/// up the messages behind it. Whose queue is not known from a death, or from what this retryd has written, could come
/// back as anybody's: its only way leads to the catch-all, and so it is marked.
Relay::Step Relay::detour(const core::Delivery& delivery, const core::ComposeContext& context, std::int64_t attempt,
                          const InsteadOf& instead_of, const core::Now& now) {
    const auto undelivered = core::read_undelivered(delivery.message.properties.header_table());
    const bool known = context.death || undelivered;
    const std::string_view work_queue = context.death ? context.death->queue : undelivered.value_or("");
    const auto compose = [&](Milliseconds delay) {
        if (known) return core::compose_retry(delivery.message, context, {attempt, delay}, scratch_);
        return core::compose_parked_detour(delivery.message, context, now.wall, scratch_);
    };
    return detour_as(delivery, context, work_queue, instead_of, compose, now);
}

template <class Compose>
Relay::Step Relay::detour_as(const core::Delivery& delivery, const core::ComposeContext& context,
                             std::string_view work_queue, const InsteadOf& instead_of, const Compose& compose,
                             const core::Now& now) {
    const std::size_t chosen = instead_of.rounds.choose(instead_of.trouble_age, now.steady);
    const std::shared_ptr<Target>* const found = open_detour(chosen, now);
    if (found == nullptr) {
        const std::shared_ptr<Target>& best = routes_.detours()[chosen];
        return will_take_soon(best, now) ? Step::wait : hold_back(delivery, *best, now);
    }
    const std::shared_ptr<Target>& way = *found;
    instead_of.rounds.add();
    const core::Message composed = compose(way->delay);
    return publish(delivery, composed, context,
                   {delivery.tag, way, std::make_shared<const std::string>(work_queue), Outcome::detoured, "detoured",
                    now.steady});
}

/// That one, or another while that one is in trouble: their leaders may be on different nodes. A longer one only once
/// the trouble has lasted a thirtieth of its delay: a broker that is slow for a moment is slow in all of them. Null
/// where none takes messages now.
const std::shared_ptr<Target>* Relay::open_detour(std::size_t chosen, const core::Now& now) {
    const auto& detours = routes_.detours();
    Milliseconds trouble{};
    for (std::size_t i = 0; i < detours.size(); ++i) {
        const std::shared_ptr<Target>& way = detours[(chosen + i) % detours.size()];
        const bool too_long = i > 0 && way->delay > detours[chosen]->delay && way->delay > 30 * trouble;
        if (too_long) continue;
        declarations_.ensure(*way, now);
        if (takes(way, now)) return &way;
        if (!way->in_trouble()) return nullptr;
        if (i == 0) trouble = way->trouble_age(now.steady);
    }
    return nullptr;
}

Relay::Step Relay::drop(const core::Delivery& delivery, const core::ComposeContext& context, const Route& route) {
    acks_.ack(delivery.tag);
    reporter_.settled({.outcome = Outcome::dropped,
                       .work_queue = route.work_queue,
                       .target = {},
                       .reason = core::reason_label(context.death->reason)});
    // Forged names must not fill the memory.
    if (route.work_queue_state == WorkQueueState::unchecked) routes_.forget(route);
    return Step::done;
}

/// Its delay on a shared rung is over, but the return exchange did not know its work queue: that is bound again, and
/// the message published to the return exchange at once.
Relay::Step Relay::return_undelivered(const core::Delivery& delivery, std::string_view work_queue,
                                      const core::Now& now) {
    const core::ComposeContext context{
        {},
        core::read_retry_history(delivery.message.properties.header_table(), work_queue, session_.proof_keys),
        session_.connection_user,
        &session_.proof_keys};
    const auto park_as = [&](core::ParkReason reason) {
        return park(delivery, context, nullptr, {reason, context.history.attempt}, now);
    };
    // Its owner may have given any queue the name of a shared rung.
    if (!context.history.proven) return park_as(core::ParkReason::no_death);
    if (core::match(*policy_, work_queue) == nullptr) return park_as(core::ParkReason::no_entry);
    if (!session_.declare) return park_as(core::ParkReason::unpublishable);
    const std::shared_ptr<Declarations::Rebinding>& answer = declarations_.rebinding(work_queue);
    const std::shared_ptr<Target>& target = routes_.return_exchange();
    switch (answer->state) {
        case WorkQueueState::exists:
            break;
        case WorkQueueState::missing:
            return park_as(core::ParkReason::queue_gone);
        case WorkQueueState::exclusive:
            return park_as(core::ParkReason::no_entry);
        case WorkQueueState::refused:
            return park_as(core::ParkReason::unpublishable);
        default:
            if (may_wait({answer, &answer->awaited}, now)) return Step::wait;
            return detour(delivery, context, context.history.attempt, instead_of(*target, now), now);
    }
    if (declarations_.ensure(*target, now) == Target::State::refused) return park_as(core::ParkReason::unpublishable);
    if (!takes(target, now)) return wait_or_detour(delivery, context, context.history.attempt, target, now);
    const core::Message composed = core::compose_return(delivery.message, context, scratch_);
    return publish(delivery, composed, context,
                   {delivery.tag, target, std::make_shared<const std::string>(work_queue), Outcome::returned_to_queue,
                    "undelivered", now.steady});
}

Relay::Step Relay::publish(const core::Delivery& delivery, const core::Message& composed,
                           const core::ComposeContext& context, Pending pending) {
    if (poison_.isolating()) {
        if (awaits_answers()) return Step::wait;
        if (dead_letter_poison(delivery, name_of(pending), pending.sent_at)) return Step::done;
    }
    const Target& to = *pending.target;
    pending.redelivered = delivery.redelivered;
    pending.published_as = address_of(to, context);
    const std::string_view key = to.routing_key ? *to.routing_key : core::producer_routing_key(context);
    in_publish_ = true;
    const PublishResult result = broker_.publish(channel_->index, {to.exchange, key, composed});
    in_publish_ = false;
    switch (result) {
        case PublishResult::sent:
            pending.target->flow.sent(pending.sent_at);
            channel_->unconfirmed.add(std::move(pending));
            return Step::done;
        case PublishResult::would_block:
            paused_ = true;
            return Step::wait;
        case PublishResult::header_too_large:
            break;
    }
    dead_letter(delivery.tag, name_of(pending), "its headers do not fit an AMQP frame", pending.sent_at);
    return Step::done;
}

void Relay::on_confirm(ChannelIndex index, PublishSeq seq, bool multiple, bool acked, const core::Now& now) {
    PublishingChannel* const channel = channels_.find(index);
    if (channel == nullptr) return;
    confirmed_.clear();
    channels_.note_answer(*channel, now.steady);
    channel->unconfirmed.confirm(seq, multiple, confirmed_);
    channel->stale = channel->stale || !acked;
    const bool isolating = poison_.isolating();
    for (const Pending& pending : confirmed_)
        settle(pending, acked, now);
    if (channel->stale && channel->unconfirmed.empty()) close(*channel);
    if (isolating) return process_waiting(now);  // the next one's turn
    if (channel->target) process_waiting_for(channel->target->awaited, now);
}

void Relay::settle(const Pending& pending, bool acked, const core::Now& now) {
    poison_.confirmed(pending.redelivered);
    any_confirmed_ = true;
    Target& target = *pending.target;
    if (!acked || pending.returned)
        return refuse(pending, acked ? RequeueCause::returned : RequeueCause::nacked, acked, now);
    target.flow.confirmed(pending.sent_at, now.steady, pending.redelivered);
    if (target.role == Role::parking_exchange) {
        if (unroutable_.remove(pending.published_as)) reporter_.healed(target.role, target.name);
        declarations_.report_healed(target.declared());
    }
    reporter_.settled({pending.outcome, name_of(pending), target.name, pending.reason, target.delay,
                       now.steady - pending.sent_at, target.role});
    acks_.ack(pending.tag);
}

void Relay::flush(const core::Now& now) {
    acks_.flush(broker_);
    if (acks_.unsent() == 0) {
        late_acks_due_.reset();
    } else if (!late_acks_due_) {
        late_acks_due_ = now.steady + (held_up_ > 0 ? late_acks_after_held_up : late_acks_after);
    } else if (*late_acks_due_ <= now.steady) {
        flush_all();
    }
}

void Relay::flush_all() {
    acks_.flush(broker_);
    acks_.flush_unsent(broker_);
    late_acks_due_.reset();
}

// ── What has to wait ────────────────────────────────────────────────────────────────────────────────────────────

void Relay::resume(const core::Now& now) {
    paused_ = false;
    process_waiting(now);
}

/// Whether one more message can go there now; then channel_ is its channel.
bool Relay::takes(const std::shared_ptr<Target>& target, const core::Now& now) {
    if (!target->is_ready() || !target->flow.takes(now.steady)) return false;
    if (!is_last_resort(*target) && !target->flow.proven() && too_much_may_be_held_up(*target)) return false;
    channel_ = channels_.take(target, now.steady, broker_);
    return channel_ != nullptr;
}

/// For a target or an answer that will be there soon. Each message would wait its time, and those behind it with it: so
/// when it took too long, none waits for a while.
bool Relay::may_wait(const std::shared_ptr<Awaited>& awaited, const core::Now& now) {
    if (now.steady < awaited->not_before || too_many_wait(now)) return false;
    if (!awaited->since || now.steady - *awaited->since < longest_wait) {
        wait_for(awaited, now);
        return true;
    }
    awaited->not_before = now.steady + none_waits_for;
    waits_scarce_until_ = now.steady + waits_scarce_for;
    return false;
}

void Relay::wait_for(const std::shared_ptr<Awaited>& awaited, const core::Now& now) {
    if (!awaited->since) {
        awaited->since = now.steady;
        awaited_.push_back(awaited);
    }
    awaited->seen = look_;
    waits_for_ = awaited.get();
}

bool Relay::too_many_wait(const core::Now& now) const {
    return now.steady < waits_scarce_until_ && waiting_deliveries_.size() > std::max(few_waiting, most_open_ / 2);
}

/// What does not come to an end takes the prefetch from all others: so does what targets have been sent that have not
/// answered yet. One that has nothing under way may be found well when others may not get more.
bool Relay::too_much_may_be_held_up(const Target& target) const {
    const std::size_t window = broker_.largest_window();
    const std::size_t most = target.flow.in_flight() == 0 ? window / 4 * 3 : window / 2;
    return channels_.unconfirmed_by_unproven() + requeues_.size() >= std::max<std::size_t>(most, 1);
}

/// Of one that takes none now. Not if all channels are taken that it could have: they may be for long. For a detour
/// that has much under way there is nothing better than to wait.
bool Relay::will_take_soon(const std::shared_ptr<Target>& target, const core::Now& now) {
    if (target->in_trouble()) return false;
    if (is_last_resort(*target)) {
        const auto& since = target->awaited.since;
        const bool soon = target->is_ready() || !since || now.steady - *since < longest_wait_at_last;
        if (soon) wait_for({target, &target->awaited}, now);
        return soon;
    }
    if (target->is_ready() && target->flow.takes(now.steady) && !target->flow.proven()) return false;
    return may_wait({target, &target->awaited}, now);
}

/// One of those is at fault that the channel is closed: it must not close that of a detour, too.
bool Relay::waits_as_suspect(const core::Delivery& delivery, const std::shared_ptr<Target>& target,
                             const core::Now& now) {
    const bool suspect = delivery.redelivered && target->is_ready() &&
                         target->flow.trouble() == TargetFlow::Trouble::none && target->flow.suspects(now.steady);
    if (suspect) wait_for({target, &target->awaited}, now);
    return suspect;
}

/// During isolation nothing else is processed while a message is in flight: it could not be published, and processing
/// it would repeat its declares and checks.
void Relay::process_waiting(const core::Now& now) {
    if (paused_ || adopting_ || stopping_ || (poison_.isolating() && awaits_answers())) return;
    ++look_;
    waiting_deliveries_.process_each([&](const core::Delivery& delivery) { return process_again(delivery, now); });
    if (!paused_) stop_awaiting_what_nobody_waits_for();
}

/// Only those that wait for that.
void Relay::process_waiting_for(Awaited& awaited, const core::Now& now) {
    if (!awaited.since || paused_ || adopting_ || stopping_ || poison_.isolating()) return;
    const bool any_waits = waiting_deliveries_.process_each(
        awaited, [&](const core::Delivery& delivery) { return process_again(delivery, now); });
    if (any_waits || paused_) return;
    awaited.since.reset();
    std::erase_if(awaited_, [&](const auto& other) { return other.get() == &awaited; });
}

WaitingDeliveries::Processed Relay::process_again(const core::Delivery& delivery, const core::Now& now) {
    waits_for_ = nullptr;
    const bool done = !paused_ && process(delivery, now) == Step::done;
    return {done, waits_for_};
}

void Relay::stop_awaiting_what_nobody_waits_for() {
    std::erase_if(awaited_, [&](const std::shared_ptr<Awaited>& awaited) {
        if (awaited->seen == look_) return false;
        awaited->since.reset();
        return true;
    });
}

/// It can go nowhere at the moment: back to the error queue, after a pause.
Relay::Step Relay::hold_back(const core::Delivery& delivery, const Target& target, const core::Now& now) {
    if (renew(delivery, now)) return Step::done;
    const Milliseconds age = target.reported ? now.steady - target.refused_since : Milliseconds::zero();
    const Milliseconds pause = std::max(target.flow.pause(now.steady), std::min(age / 2, longest_pause));
    requeues_.add(now.steady + pause, delivery.tag);
    note_held_back(delivery, now.steady + pause, now.steady);
    reporter_.requeued(name_of(target), RequeueCause::detour_refused, pause);
    return Step::done;
}

/// Each delivery is young: a message that goes back after a pause comes as another one. So what has come again and
/// still can go nowhere lengthens the time in which somebody waits; what has come for the first time does not.
void Relay::note_held_back(const core::Delivery& delivery, core::SteadyTime until, core::SteadyTime now) {
    if (!held_back_since_) {
        held_back_since_ = now;
    } else if (!delivery.redelivered) {
        return;
    }
    held_back_until_ = std::max(held_back_until_, until);
}

/// Each return counts towards the delivery limit of the error queue, which is for messages that nobody can read.
/// However long a target takes none, what waits for it must not get there.
bool Relay::renew(const core::Delivery& delivery, const core::Now& now) {
    const core::Table headers = delivery.message.properties.header_table();
    if (core::deliveries_in_vain(headers) < core::worn_after || !takes(routes_.error_queue(), now)) return false;
    core::ComposeContext context{
        core::read_death(headers, policy_->error_queue), {}, session_.connection_user, &session_.proof_keys};
    if (context.death)
        core::distrust(*context.death, session_.features.counts_client_deaths, delivery.routing_key, now.wall);
    const std::string_view queue =
        context.death ? context.death->queue : core::read_undelivered(headers).value_or(std::string_view{});
    if (!queue.empty()) context.history = core::read_retry_history(headers, queue, session_.proof_keys);
    const auto name = std::make_shared<const std::string>(context.death ? context.death->queue : "");
    // What it claims of itself is not signed.
    if (context.death && context.death->count == 0 && !context.history.proven) context.death.reset();
    const bool parked = core::is_parked_detour(headers, policy_->error_queue);
    const core::Message composed = parked
                                       ? core::compose_parked_again(delivery.message, context, true, now.wall, scratch_)
                                       : core::compose_renewed(delivery.message, context, scratch_);
    return publish(delivery, composed, context,
                   {delivery.tag, routes_.error_queue(), name, Outcome::detoured, "renewed", now.steady}) == Step::done;
}

void Relay::on_tick(const core::Now& now) {
    if (poison_.on_tick(now.steady)) process_waiting(now);
    while (const auto tag = requeues_.take_due(now.steady))
        requeue(*tag);
    declarations_.on_tick(now);
    if (now.steady < next_look_) return;
    next_look_ = now.steady + between_looks;
    channels_.look_for_silence(now.steady, paused_, broker_,
                               [&](const Target& target) { reporter_.silent(name_of(target)); });
    channels_.for_each_busy([&](PublishingChannel& channel) {
        if (channel.silent && now.steady - *channel.unconfirmed.oldest() >= given_up_after) give_up(channel);
    });
    held_up_ = held_up();
    constexpr Milliseconds comes_again_within{2'000};
    if (held_back_since_ && now.steady >= held_back_until_ + comes_again_within) held_back_since_.reset();
    note_time(now);
    if (!waiting_deliveries_.empty()) process_waiting(now);
}

/// What was sent there may arrive all the same: then it comes twice.
void Relay::give_up(PublishingChannel& channel) {
    channels_.end_silence(channel);
    for (const Pending& pending : channel.unconfirmed.abandon()) {
        pending.target->flow.given_up();
        requeue(pending.tag);
        reporter_.requeued(name_of(*pending.target), RequeueCause::unanswered, {});
    }
    close(channel);
}

void Relay::close(PublishingChannel& channel) {
    channel.unconfirmed.abandon();  // when it is open again, its publications are numbered from 1
    channel.stale = false;
    channel.closing = true;
    broker_.close_publishing(channel.index);
}

void Relay::on_publishing_left(ChannelIndex index) {
    PublishingChannel* const channel = channels_.find(index);
    if (channel == nullptr || !channel->closing) return;
    channel->closing = false;
    channel->open = false;
}

void Relay::note_time(const core::Now& now) {
    constexpr Milliseconds apart{1'000};
    while (!moments_.empty() && moments_.front().delivered < acks_.oldest_open())
        moments_.pop_front();
    if (acks_.open() == 0) return moments_.clear();
    if (moments_.empty() || now.steady - moments_.back().time >= apart)
        moments_.push_back({acks_.last_delivered(), now.steady});
}

std::optional<core::SteadyTime> Relay::unsettled_since() const {
    std::optional<core::SteadyTime> since = held_back_since_;
    if (!moments_.empty() && acks_.open() > 0)
        since = std::min(since.value_or(moments_.front().time), moments_.front().time);
    return since;
}

std::optional<core::SteadyTime> Relay::next_tick() const {
    std::optional<core::SteadyTime> next;
    const auto consider = [&](std::optional<core::SteadyTime> due) {
        if (due) next = std::min(next.value_or(*due), *due);
    };
    consider(late_acks_due_);
    consider(requeues_.next());
    if (!waiting_deliveries_.empty() || in_flight() > 0) consider(next_look_);
    consider(declarations_.next_tick());
    return next;
}

void Relay::stop() {
    stopping_ = true;
    waiting_deliveries_.clear();
}

// ── What the broker refuses ─────────────────────────────────────────────────────────────────────────────────────

/// The delivery goes back to the error queue at once. When it comes again, it takes another way: its target is declared
/// again, or takes none for a while, or its address is known to lead nowhere. `mended`: it is not known yet that its
/// target will refuse again.
void Relay::refuse(const Pending& pending, RequeueCause cause, bool mended, const core::Now& now) {
    TargetFlow& flow = pending.target->flow;
    const bool address_alone = cause == RequeueCause::returned && pending.target->role == Role::parking_exchange;
    address_alone ? flow.returned(now.steady) : flow.refused(pending.sent_at, now.steady, mended);
    requeue(pending.tag);
    reporter_.requeued(name_of(*pending.target), cause, {});
}

void Relay::requeue(core::DeliveryTag tag) {
    broker_.requeue(tag);
    acks_.forget(tag);
}

void Relay::on_returned(ChannelIndex index, std::string_view exchange, std::string_view routing_key,
                        const core::Now& now) {
    PublishingChannel* const channel = channels_.find(index);
    if (channel == nullptr) return;
    const std::uint64_t address = hash_of_address(exchange, routing_key);
    for (const std::shared_ptr<Target>& target : channel->unconfirmed.mark_returned(address)) {
        if (target->role != Role::parking_exchange) {
            // Declared again when needed.
            if (target->state == Target::State::ready) target->state = Target::State::unknown;
        } else if (unroutable_.add(address, now.steady)) {
            reporter_.unroutable(target->name, routing_key);
        }
    }
}

void Relay::on_unreadable_delivery(core::DeliveryTag tag, const core::Now& now) {
    acks_.delivered(tag);
    if (stopping_) return;
    dead_letter(tag, "", "its headers nest too deep to be read", now.steady);
}

/// Where nothing may be declared nobody knows whether the error queue dead-letters at all: then the message stays.
void Relay::dead_letter(core::DeliveryTag tag, std::string_view work_queue, std::string_view why,
                        core::SteadyTime now) {
    if (!session_.declare) {
        requeues_.add(now + stuck_for, tag);
        return reporter_.stuck(work_queue, why, stuck_for);
    }
    broker_.dead_letter(tag);
    acks_.forget(tag);
    reporter_.dead_lettered(work_queue, why);
}

void Relay::on_publishing_closed(ChannelIndex index, int code, std::string_view why, const core::Now& now) {
    PublishingChannel* const channel = channels_.find(index);
    if (channel == nullptr) return;
    channels_.end_silence(*channel);
    channel->open = false;
    channel->closing = false;
    channel->stale = false;
    const std::vector<Pending> lost = channel->unconfirmed.abandon();
    const bool about_exchange = code == core::reply_code::access_refused || code == core::reply_code::not_found;
    if (about_exchange) {
        on_exchange_refused(code, why, now);
    } else if (lost.size() == 1) {
        const Pending& culprit = lost.front();
        culprit.target->flow.given_up();
        culprit.target->flow.suspect_found();
        dead_letter(culprit.tag, name_of(culprit), why, now.steady);
        return process_waiting(now);
    } else if (!lost.empty()) {
        channel->target->flow.one_at_a_time(lost.size(), now.steady);
    }
    for (const Pending& pending : lost)
        refuse(pending, RequeueCause::channel_closed, true, now);
    process_waiting(now);
}

/// 404: it is declared or checked again before the next publication. 403: it counts as refused for a minute.
void Relay::on_exchange_refused(int code, std::string_view why, const core::Now& now) {
    const ExchangeName exchange = exchange_in(why);
    for (const std::shared_ptr<Target>& target : routes_.published_through(exchange.text, exchange.cut)) {
        Target& declared = target->declared();
        if (code == core::reply_code::not_found) {
            if (declared.state == Target::State::ready) declared.state = Target::State::unknown;
        } else {
            declarations_.mark_refused(declared, "the broker refuses to let retryd publish to it: " + std::string{why},
                                       now);
        }
    }
}

/// What silent targets were sent long ago neither ends a connection now nor has to be waited for.
void Relay::on_connection_lost(const ConnectionLoss& loss) {
    const std::size_t redeliveries = acks_.open() + acks_.unsent();
    bool redelivered = false;
    channels_.for_each_busy([&](const PublishingChannel& channel) {
        redelivered = redelivered || (!channel.silent && channel.unconfirmed.any_redelivered());
    });
    const std::size_t suspects = in_flight() - in_flight_in_silence() + (in_publish_ ? 1 : 0);
    poison_.connection_ended(
        {suspects, redeliveries, loss.provoked, any_confirmed_, redelivered, loss.blocked, loss.half_sent, loss.words});
}

/// While isolating. True: it has ended enough connections and is dead-lettered; else it is to be published.
bool Relay::dead_letter_poison(const core::Delivery& delivery, std::string_view work_queue, core::SteadyTime now) {
    const std::uint64_t digest = core::digest(delivery.message);
    if (!poison_.is_poison(digest)) {
        poison_.publishing(digest);
        return false;
    }
    poison_.dead_lettered(digest);
    dead_letter(delivery.tag, work_queue, poison_.why_poison(digest), now);
    return true;
}

// ── What has to exist on the broker ─────────────────────────────────────────────────────────────────────────────

void Relay::adopt(std::shared_ptr<const core::Policy> policy, const core::Now& now) {
    policy_ = policy;
    most_open_ = acks_.open();  // the prefetch may be smaller now
    routes_.adopt(std::move(policy));
    adopting_ = false;
    start();
    process_waiting(now);
}

void Relay::on_declared(std::string_view key, DeclareOutcome outcome, std::string_view why, const core::Now& now) {
    const std::shared_ptr<Target> target = declarations_.on_declared(key, outcome, why, now);
    if (!target) return;
    if (poison_.isolating()) return process_waiting(now);
    // Work queues whose messages go through an exchange wait for it each on its own.
    if (target->role == Role::parking_exchange) return process_waiting(now);
    process_waiting_for(target->awaited, now);
}

void Relay::on_checked(std::string_view queue, CheckOutcome outcome, const core::Now& now) {
    const std::shared_ptr<Route> route = routes_.find(queue);
    if (!route) return;
    declarations_.on_work_queue_answer(*route, outcome, now);
    process_waiting(now);
    declarations_.forget_if_gone(route, now);
}

void Relay::on_bound(std::string_view queue, CheckOutcome outcome, std::string_view why, const core::Now& now) {
    declarations_.on_bound(queue, outcome, why, now);
    process_waiting(now);
    declarations_.forget_rebinding(queue);
    const std::shared_ptr<Route> route = routes_.find(queue);
    if (route) declarations_.forget_if_gone(route, now);
}

}  // namespace retryd::relay
