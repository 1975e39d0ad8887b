// From top to bottom: the way of a message, what has to wait, what the broker refuses, and the answers to what was
// declared or checked. What becomes of a message that is ready to be sent is in relay/publisher.cpp.
#include "relay/relay.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "core/death.h"
#include "core/names.h"
#include "core/topology.h"

namespace retryd::relay {
namespace {

using core::Milliseconds;

/// Messages above this priority need a rung of their own where they would hold back the others.
constexpr std::uint8_t highest_normal_priority = 4;
/// At most so long a message stays that can go nowhere.
constexpr Milliseconds longest_pause{30'000};
/// So long for a detour that is being declared: there is no alternative.
constexpr Milliseconds longest_wait_for_detour{2'000};
constexpr Milliseconds between_looks{100};
/// Points at the route's name and keeps the route alive: no copy for each message.
std::shared_ptr<const std::string> name_of(const std::shared_ptr<Route>& route) {
    return route ? std::shared_ptr<const std::string>{route, &route->work_queue} : nullptr;
}

}  // namespace

Relay::Relay(std::shared_ptr<const core::Policy> policy, SessionInfo session, Broker& broker, Reporter& reporter,
             PoisonDetector& poison)
    : policy_(policy),
      session_(std::move(session)),
      lane_start_(static_cast<std::uint64_t>(session_.random_number() * 0x1p64)),
      broker_(broker),
      reporter_(reporter),
      poison_(poison),
      routes_(std::move(policy), session_.features),
      declarations_(routes_, broker_, reporter_, session_.declare),
      deliveries_(broker),
      publisher_({broker, reporter, poison, routes_, declarations_, deliveries_, session_.publishing_channels,
                  session_.declare}) {}

// ── The way of a message ────────────────────────────────────────────────────────────────────────────────────────

void Relay::on_delivery(const core::Delivery& delivery, const core::Now& now) {
    deliveries_.delivered(delivery.tag);
    if (stopping_) return;
    if (paused() || adopting_) return waiting_.add(delivery);
    waiting_.process_new(delivery, [&](const core::Delivery& fresh) { return process(fresh, now) == Step::done; });
}

Relay::Step Relay::process(const core::Delivery& delivery, const core::Now& now) {
    failed_attempt_ = 0;
    const core::Table headers = delivery.message.properties.header_table();
    core::ComposeContext context{
        core::read_death(headers, policy_->error_queue), {}, session_.connection_user, &session_.proof_keys};
    if (!context.death) {
        if (const auto from = core::read_returned_by_rung(headers)) return send_home_from_rung(delivery, *from, now);
    }
    const bool from_detour = !context.death || context.death->count == 0;
    if (from_detour && core::is_parked_detour(headers, policy_->error_queue))
        return park_again(delivery, ParkedAgain::detoured, now);
    std::shared_ptr<Route> route;
    if (context.death) {
        core::sanitise_forgeable_fields(*context.death, session_.features.counts_client_deaths, delivery.routing_key,
                                        now.wall);
        context.history = core::read_retry_history(headers, context.death->queue, session_.proof_keys);
        if (from_detour && !context.history.proven) {
            if (const auto step = forget_death_unless_detour_is_ours(delivery, context, now)) return *step;
        }
    }
    if (context.death) {
        route = routes_.route_for(context.death->queue);
        if (!route && core::is_parking_queue(*policy_, context.death->queue)) {
            const bool rejected = context.death->reason == "rejected";
            return park_again(delivery, rejected ? ParkedAgain::rejected : ParkedAgain::thrown_out, now);
        }
        // Of what is thrown out of a rung before its time the broker gives another reason.
        if (!route && core::looks_like_x_death_rung(context.death->queue)) {
            if (const auto from = core::read_returned_by_rung(headers))
                return send_home_from_rung(delivery, *from, now);
        }
        if (context.history.proven && context.history.x_death != nullptr) [[unlikely]] {
            if (const auto step = count_kept_deaths(delivery, context, route, now)) return *step;
        }
    }
    const core::Entry* const entry = route ? route->entry : nullptr;
    if (entry != nullptr && entry->ladder.x_death == core::XDeath::keep) [[unlikely]] {
        const core::RetryHistory& before = context.history;
        const core::Value* const kept = before.proven ? before.x_death : nullptr;
        context.x_death = kept_deaths_.merge(
            {headers, kept, context.death->queue, policy_->error_queue, before.exchange, before.routing_key},
            context.death->count > 0);
    }
    const core::KnownOutage outage = known_outage(route.get());
    core::Decision decision =
        core::decide(context.death, context.history, entry, now.wall,
                     entry != nullptr && entry->ladder.jitter.lanes > 1 ? random_of(delivery.tag) : 0, outage);
    if (std::holds_alternative<core::Drop>(decision)) return drop(delivery, context, *route);
    const std::int64_t attempt = context.death ? core::attempt_of(*context.death, context.history) : 0;
    if (entry != nullptr && entry->verdict) [[unlikely]] {
        context.applies_verdict = true;
        decision =
            core::apply_verdict(core::read_verdict(headers), decision, attempt, entry->ladder, random_of(delivery.tag));
    }
    if (entry != nullptr && core::may_hold(*entry) && context.death->count > 0 &&
        core::is_failure(context.death->reason))
        failed_attempt_ = attempt;
    const bool known_gone = route && from_detour && route->gone_for_detoured;
    if (route && !known_gone && !declarations_.work_queue_checked(*route, now)) {
        if (may_wait({route, &route->awaited}, now)) return Step::wait;
        const Milliseconds age = now.steady - route->checked_at;
        route->detoured_unchecked = true;
        failed_attempt_ = 0;
        return detour(delivery, context, attempt, {route->detour_chooser, age}, now);
    }
    const auto queue_state = known_gone ? route->gone_for_detoured
                             : route    ? std::optional{route->work_queue_state}
                                        : std::nullopt;
    if (queue_state == WorkQueueState::missing || queue_state == WorkQueueState::exclusive) {
        const bool missing = queue_state == WorkQueueState::missing;
        failed_attempt_ = 0;
        return park(delivery, context, route,
                    {missing ? core::ParkReason::queue_gone : core::ParkReason::no_entry, attempt}, now);
    }
    // The detour costs its delay, and no attempt.
    if (outage.not_yet_known && core::spends_an_attempt(decision))
        return detour(delivery, context, attempt, {route->detour_chooser}, now);
    if (const auto* again = std::get_if<core::Retry>(&decision)) return retry(delivery, context, route, *again, now);
    if (const auto* held = std::get_if<core::Hold>(&decision)) return hold(delivery, context, route, *held, now);
    const core::Park& last = std::get<core::Park>(decision);
    // It may be an outage: before it is known, nothing is given up that would be held.
    if (outage.suspected && last.reason == core::ParkReason::attempts_exhausted)
        return detour(delivery, context, attempt, {route->detour_chooser}, now);
    return park(delivery, context, route, last, now);
}

/// x-death tells of the rounds before as well, where the broker counts on what retryd has published with it. If it
/// tells of none that is new, the return exchange has not known the work queue: it is bound again, and the message,
/// which has spent no attempt, waits on its rung once more. Nothing where it goes on.
std::optional<Relay::Step> Relay::count_kept_deaths(const core::Delivery& delivery, core::ComposeContext& context,
                                                    const std::shared_ptr<Route>& route, const core::Now& now) {
    core::Death& death = *context.death;
    if (death.count == 0) return std::nullopt;  // from a detour
    const core::Table headers = delivery.message.properties.header_table();
    death.count = core::deaths_since(headers, *context.history.x_death, death.queue);
    if (!route || !route->shared()) death.count = std::max<std::int64_t>(1, death.count);
    if (death.count > 0 || !session_.declare) return std::nullopt;
    const std::shared_ptr<Declarations::Rebinding> answer = declarations_.rebinding(death.queue, true);
    if (answer->state == WorkQueueState::checking) {
        if (may_wait({answer, &answer->awaited}, now)) return Step::wait;
        if (route) route->detoured_unchecked = true;  // the answer holds for it when it comes again
    }
    if (answer->state != WorkQueueState::missing || !core::is_glob(route->entry->match)) return std::nullopt;
    context.x_death = context.history.x_death;
    return park(delivery, context, nullptr, {core::ParkReason::queue_gone, context.history.attempt}, now);
}

/// For the lane of a ladder with jitter. The same each time that one delivery is decided: otherwise those that wait for
/// a lane which confirms slowly would end up on the others. Multiples of the golden ratio spread any run of tags
/// evenly.
double Relay::random_of(core::DeliveryTag tag) const {
    constexpr std::uint64_t golden = 0x9E37'79B9'7F4A'7C15;  // of 2^64
    const std::uint64_t sum = lane_start_ + golden * tag;
    return static_cast<double>(static_cast<std::int64_t>(sum >> 11)) * 0x1p-53;
}

core::KnownOutage Relay::known_outage(const Route* route) const {
    if (route == nullptr || !core::may_hold(*route->entry)) return {};
    core::KnownOutage known;
    if (route->entry->outage && session_.known_outage) known = session_.known_outage(route->work_queue);
    known.holding = known.holding || route->entry->hold;
    return known;
}

/// Until the outage is over. A queue of held messages that takes none is as any other target: its messages take the
/// detour, however long that lasts.
Relay::Step Relay::hold(const core::Delivery& delivery, const core::ComposeContext& context,
                        const std::shared_ptr<Route>& route, const core::Hold& hold, const core::Now& now) {
    const std::shared_ptr<Target> target = routes_.held(*route);
    declarations_.ensure(*target, now);
    if (!publisher_.takes(target, now)) return wait_or_detour(delivery, context, hold.attempt, target, now, true);
    const core::Message composed = core::compose_held(delivery.message, context, hold, now.wall, scratch_);
    return publish(
        delivery, composed, context,
        {delivery.tag, target, name_of(route), Outcome::held, core::reason_label(context.death->reason), now.steady});
}

/// What comes from a detour names its work queue itself. Without a proof that counts only where the detour is ours:
/// another application may have declared a queue of that name before, and then it is not known where the message died.
/// Nothing where that is settled.
std::optional<Relay::Step> Relay::forget_death_unless_detour_is_ours(const core::Delivery& delivery,
                                                                     core::ComposeContext& context,
                                                                     const core::Now& now) {
    const auto name = core::detour_of(delivery.message.properties.header_table(), policy_->error_queue);
    const std::shared_ptr<Target> from = name ? routes_.detour(*name) : nullptr;
    const Target::State state = from ? declarations_.ensure(*from, now) : Target::State::refused;
    if (state == Target::State::ready) return std::nullopt;
    if (state != Target::State::refused)
        return will_take_soon(from, now) ? Step::wait : requeue_later(delivery, *from, now);
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
    if (!publisher_.takes(rung, now)) return wait_or_detour(delivery, context, retry.attempt, rung, now);
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
    if (!publisher_.takes(target, now)) {
        const bool known = context.death || context.history.proven;
        return known ? wait_or_detour(delivery, context, park.attempt, target, now)
                     : wait_or_detour_to_catch_all(delivery, context, park, now);
    }
    const core::Message composed = core::compose_parked(delivery.message, context, park, now.wall, scratch_);
    const std::string_view reason = core::reason_label(park.reason, context.death ? context.death->reason : "");
    return publish(delivery, composed, context,
                   {delivery.tag, target, name_of(route), Outcome::parked, reason, now.steady});
}

/// A policy makes parking queues dead-letter, and that leads here. What a consumer has rejected there goes to the
/// catch-all, its history kept. What the broker has thrown out, because the queue is full or by a TTL, waits on the
/// longest detour first: the catch-all may be just as full, and each message that it takes would throw out another.
Relay::Step Relay::park_again(const core::Delivery& delivery, ParkedAgain why, const core::Now& now) {
    const std::shared_ptr<Target>& catch_all = routes_.catch_all();
    const core::ComposeContext context{{}, {}, session_.connection_user, &session_.proof_keys};
    const bool thrown_out = why == ParkedAgain::thrown_out;
    if (!thrown_out) {
        declarations_.ensure(*catch_all, now);
        if (publisher_.takes(catch_all, now)) {
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

/// A foreign exchange may lead nowhere, or back to us: what has been parked before does not go there again. That header
/// may be forged, so it speaks for its own message alone. What refuses messages is left alone, but for one now and then
/// that finds out whether it still does.
bool Relay::can_park_in(Target& target, const core::Delivery& delivery, const core::ComposeContext& context,
                        const core::Now& now) {
    if (target.role == TargetRole::parking_exchange) {
        const core::Table headers = delivery.message.properties.header_table();
        if (core::find(headers, core::header::parked_reason) != nullptr) {
            reporter_.parked_before(target.name);
            return false;
        }
        if (publisher_.leads_nowhere(target, context, now.steady)) return false;
    }
    if (target.flow.trouble() == TargetFlow::Trouble::refusing && !target.flow.takes(now.steady)) return false;
    return declarations_.ensure(target, now) != Target::State::refused;
}

Relay::Step Relay::wait_or_detour(const core::Delivery& delivery, const core::ComposeContext& context,
                                  std::int64_t attempt, const std::shared_ptr<Target>& target, const core::Now& now,
                                  bool hold) {
    if (waits_as_suspect(delivery, target, now) || will_take_soon(target, now)) return Step::wait;
    return detour(delivery, context, attempt, instead_of(*target, now), now, hold);
}

Relay::InsteadOf Relay::instead_of(Target& target, const core::Now& now) {
    return {target.detour_chooser, target.trouble_age(now.steady)};
}

/// A message whose work queue is known neither from a death nor from what this retryd has written could be taken for
/// one of the queue that it claims when it comes back: it can only go to the catch-all, and so it is marked.
Relay::Step Relay::wait_or_detour_to_catch_all(const core::Delivery& delivery, const core::ComposeContext& context,
                                               const core::Park& park, const core::Now& now) {
    const std::shared_ptr<Target>& catch_all = routes_.catch_all();
    if (waits_as_suspect(delivery, catch_all, now) || will_take_soon(catch_all, now)) return Step::wait;
    const auto compose = [&](Milliseconds) {
        return core::compose_parked_detour(delivery.message, context, park, now.wall, scratch_);
    };
    return detour_as(delivery, context, "", instead_of(*catch_all, now), compose, now);
}

/// Outside of the error queue, with its attempt unspent, until its target takes messages again: what waits inside holds
/// up the messages behind it. Its work queue is known from a death, or it is on its way home from a rung of ours.
Relay::Step Relay::detour(const core::Delivery& delivery, const core::ComposeContext& context, std::int64_t attempt,
                          const InsteadOf& instead_of, const core::Now& now, bool hold) {
    const auto from_rung = core::read_returned_by_rung(delivery.message.properties.header_table());
    const std::string_view work_queue = context.death ? context.death->queue
                                        : from_rung   ? from_rung->queue
                                                      : std::string_view{};
    const bool again = context.death && core::is_on_detour_to_held_queue(*context.death, context.history);
    const core::Hold unspent{again && !hold ? context.history.attempt : attempt};
    // It is decided again when it comes back, by what the consumer has said.
    core::ComposeContext as_it_is = context;
    as_it_is.applies_verdict = false;
    const auto compose = [&](Milliseconds delay) {
        if (hold || again) return core::compose_held(delivery.message, as_it_is, unspent, now.wall, scratch_);
        return core::compose_retry(delivery.message, as_it_is, {attempt, delay}, scratch_);
    };
    return detour_as(delivery, as_it_is, work_queue, instead_of, compose, now);
}

template <class Compose>
Relay::Step Relay::detour_as(const core::Delivery& delivery, const core::ComposeContext& context,
                             std::string_view work_queue, const InsteadOf& instead_of, const Compose& compose,
                             const core::Now& now) {
    const std::size_t chosen = instead_of.chooser.choose(instead_of.trouble_age, now.steady);
    const std::shared_ptr<Target>* const found = open_detour(chosen, now);
    if (found == nullptr) {
        const std::shared_ptr<Target>& best = routes_.detours()[chosen];
        return will_take_soon(best, now) ? Step::wait : requeue_later(delivery, *best, now);
    }
    const std::shared_ptr<Target>& detour = *found;
    instead_of.chooser.add();
    const core::Message composed = compose(detour->delay);
    return publish(delivery, composed, context,
                   {delivery.tag, detour, std::make_shared<const std::string>(work_queue), Outcome::detoured,
                    "detoured", now.steady});
}

/// That one, or another while that one is in trouble: their leaders may be on different nodes. A longer one only once
/// the trouble has lasted a thirtieth of its delay: a broker that is slow for a moment is slow in all of them. Null
/// where none takes messages now.
const std::shared_ptr<Target>* Relay::open_detour(std::size_t chosen, const core::Now& now) {
    const auto& detours = routes_.detours();
    Milliseconds trouble{};
    for (std::size_t i = 0; i < detours.size(); ++i) {
        const std::shared_ptr<Target>& detour = detours[(chosen + i) % detours.size()];
        const bool too_long = i > 0 && detour->delay > detours[chosen]->delay && detour->delay > 30 * trouble;
        if (too_long) continue;
        declarations_.ensure(*detour, now);
        if (publisher_.takes(detour, now)) return &detour;
        if (!detour->in_trouble()) return nullptr;
        if (i == 0) trouble = detour->trouble_age(now.steady);
    }
    return nullptr;
}

Relay::Step Relay::drop(const core::Delivery& delivery, const core::ComposeContext& context, const Route& route) {
    deliveries_.ack(delivery.tag);
    reporter_.settled({.outcome = Outcome::dropped,
                       .work_queue = route.work_queue,
                       .target = {},
                       .reason = core::reason_label(context.death->reason)});
    // Forged names must not fill the memory.
    if (route.work_queue_state == WorkQueueState::unchecked) routes_.forget(route);
    return Step::done;
}

/// Its delay is over, and only retryd can send it home: its rung leads to retryd, or the return exchange did not know
/// its work queue. That is looked for, and bound again, unless it is known to be there.
Relay::Step Relay::send_home_from_rung(const core::Delivery& delivery, const core::ReturnedByRung& from,
                                       const core::Now& now) {
    const core::ComposeContext context{
        {},
        core::read_retry_history(delivery.message.properties.header_table(), from.queue, session_.proof_keys),
        session_.connection_user,
        &session_.proof_keys};
    const auto park_as = [&](core::ParkReason reason) {
        return park(delivery, context, nullptr, {reason, context.history.attempt}, now);
    };
    if (!context.history.proven) {
        if (const auto step = park_unless_rung_is_ours(delivery, from, now)) return *step;
    }
    const bool through_return = core::looks_like_shared_rung(from.rung);
    const core::Entry* const entry = core::match(*policy_, from.queue);
    if (through_return && entry == nullptr) return park_as(core::ParkReason::no_entry);
    if (from.unbound && !session_.declare) return park_as(core::ParkReason::unpublishable);
    const std::shared_ptr<Target> target = through_return ? routes_.return_exchange() : routes_.home(from.queue);
    switch (look_for(from, through_return, *target)) {
        case WorkQueueState::exists:
            break;
        case WorkQueueState::missing:
            // Of an exact name the operator says that it exists: its messages wait until it does.
            if (!through_return && entry != nullptr && !core::is_glob(entry->match))
                return detour(delivery, context, context.history.attempt, instead_of(*target, now), now);
            return park_as(core::ParkReason::queue_gone);
        case WorkQueueState::exclusive:
            return park_as(core::ParkReason::no_entry);
        case WorkQueueState::refused:
            return park_as(core::ParkReason::unpublishable);
        default:
            const auto& answer = declarations_.rebinding(from.queue, through_return);
            if (may_wait({answer, &answer->awaited}, now)) return Step::wait;
            if (const auto route = routes_.find(from.queue); route && through_return) route->detoured_unchecked = true;
            return detour(delivery, context, context.history.attempt, instead_of(*target, now), now);
    }
    if (through_return && declarations_.ensure(*target, now) == Target::State::refused)
        return park_as(core::ParkReason::unpublishable);
    if (!publisher_.takes(target, now)) return wait_or_detour(delivery, context, context.history.attempt, target, now);
    const core::Message composed = core::compose_return(delivery.message, context, scratch_);
    return publish(delivery, composed, context,
                   {delivery.tag, target, std::make_shared<const std::string>(from.queue),
                    from.unbound ? Outcome::returned_to_queue : Outcome::sent_home,
                    from.unbound ? "undelivered" : "x-death", now.steady});
}

/// `checking` where the broker is asked. A queue of which it has taken a message is asked for again when it returns
/// one; what the return exchange does not find comes back by the error queue.
WorkQueueState Relay::look_for(const core::ReturnedByRung& from, bool through_return, Target& target) {
    if (!from.unbound) {
        const auto route = through_return ? routes_.find(from.queue) : nullptr;
        const bool bound = route && route->work_queue_state == WorkQueueState::exists;
        if (through_return ? bound || !session_.declare : target.is_ready()) return WorkQueueState::exists;
    }
    WorkQueueState state = declarations_.rebinding(from.queue, through_return)->state;
    // If we may not look, we assume that it exists: the broker returns what it cannot deliver.
    if (!through_return && state == WorkQueueState::refused) state = WorkQueueState::exists;
    if (!through_return && state == WorkQueueState::exists) target.state = Target::State::ready;
    return state;
}

/// What comes from a rung without a proof that is known: its owner may have given any queue the name of a rung. Nothing
/// where that queue is the entry's own; else a step.
std::optional<Relay::Step> Relay::park_unless_rung_is_ours(const core::Delivery& delivery,
                                                           const core::ReturnedByRung& from, const core::Now& now) {
    const auto park_unknown = [&] {
        const core::ComposeContext nothing{{}, {}, session_.connection_user, &session_.proof_keys};
        return park(delivery, nothing, nullptr, {core::ParkReason::no_death, 0}, now);
    };
    const auto name = core::read_x_death_rung(from.rung, from.queue);
    const core::Entry* const entry = name ? core::match(*policy_, from.queue) : nullptr;
    if (entry == nullptr || entry->ladder.x_death != core::XDeath::keep) return park_unknown();
    const auto delays = core::distinct_delays(entry->ladder);
    if (std::find(delays.begin(), delays.end(), name->delay) == delays.end()) return park_unknown();
    auto route = std::make_shared<Route>();  // a shared rung is the same for all work queues
    route->entry = entry;
    if (!route->shared()) {
        // The message alone may tell of its queue: no rung is declared for one that is not there.
        route = routes_.route_for(from.queue);
        if (const auto step = park_if_gone(delivery, route, now)) return *step;
    }
    const std::shared_ptr<Target> rung = routes_.rung(*route, name->delay, name->high_priority);
    if (rung->name != from.rung) return park_unknown();
    const Target::State state = declarations_.ensure(*rung, now);
    if (state == Target::State::ready) return std::nullopt;
    if (state == Target::State::refused) return park_unknown();
    return will_take_soon(rung, now) ? Step::wait : requeue_later(delivery, *rung, now);
}

/// A step where the work queue of a message without a proof is not there, or not known to be.
std::optional<Relay::Step> Relay::park_if_gone(const core::Delivery& delivery, const std::shared_ptr<Route>& route,
                                               const core::Now& now) {
    if (!route->gone_for_detoured && !declarations_.work_queue_checked(*route, now)) {
        if (may_wait({route, &route->awaited}, now)) return Step::wait;
        route->detoured_unchecked = true;  // the answer holds for it when it comes again
        requeue_after(core::detour_delays.front() / 2, delivery, now);
        return Step::done;
    }
    const WorkQueueState state = route->gone_for_detoured.value_or(route->work_queue_state);
    if (state != WorkQueueState::missing && state != WorkQueueState::exclusive) return std::nullopt;
    const core::ComposeContext nothing{{}, {}, session_.connection_user, &session_.proof_keys};
    const bool missing = state == WorkQueueState::missing;
    return park(delivery, nothing, nullptr, {missing ? core::ParkReason::queue_gone : core::ParkReason::no_entry, 0},
                now);
}

Relay::Step Relay::publish(const core::Delivery& delivery, const core::Message& composed,
                           const core::ComposeContext& context, Pending&& pending) {
    pending.attempt = failed_attempt_;
    pending.was_held = failed_attempt_ > 0 && context.history.was_held;
    return publisher_.publish(delivery, composed, context, std::move(pending)) ? Step::done : Step::wait;
}

void Relay::on_confirm(ChannelIndex channel, PublishSeq seq, bool multiple, bool acked, const core::Now& now) {
    const bool isolating = poison_.isolating();
    Target* const target = publisher_.on_confirm(channel, seq, multiple, acked, now);
    if (isolating) return process_waiting(now);  // the next one's turn
    if (target != nullptr) process_waiting_for(target->awaited, now);
}

// ── What has to wait ────────────────────────────────────────────────────────────────────────────────────────────

void Relay::resume(const core::Now& now) {
    publisher_.resume();
    process_waiting(now);
}

bool Relay::may_wait(const std::shared_ptr<Awaited>& awaited, const core::Now& now) {
    return waiting_.may_wait(awaited, deliveries_.most_open(), now.steady);
}

/// Of one that takes none now. Not if all channels are taken that it could have: they may be for long. For a detour
/// that has much under way there is nothing better than to wait.
bool Relay::will_take_soon(const std::shared_ptr<Target>& target, const core::Now& now) {
    if (target->in_trouble()) return false;
    if (target->is_last_resort()) {
        const auto& since = target->awaited.since;
        const bool soon = target->is_ready() || !since || now.steady - *since < longest_wait_for_detour;
        if (soon) waiting_.wait_for({target, &target->awaited}, now.steady);
        return soon;
    }
    if (target->is_ready() && target->flow.takes(now.steady) && !target->flow.proven()) return false;
    return may_wait({target, &target->awaited}, now);
}

/// One of those made the broker close the channel: it must not have that of a detour closed, too.
bool Relay::waits_as_suspect(const core::Delivery& delivery, const std::shared_ptr<Target>& target,
                             const core::Now& now) {
    const bool suspect = delivery.redelivered && target->is_ready() &&
                         target->flow.trouble() == TargetFlow::Trouble::none && target->flow.suspects(now.steady);
    if (suspect) waiting_.wait_for({target, &target->awaited}, now.steady);
    return suspect;
}

/// During isolation nothing else is processed while a message is in flight: it could not be published, and processing
/// it would repeat its declares and checks.
void Relay::process_waiting(const core::Now& now) {
    if (paused() || adopting_ || stopping_ || (poison_.isolating() && publisher_.awaits_answers())) return;
    waiting_.process_each([&](const core::Delivery& delivery) { return process_again(delivery, now); });
    if (!paused()) waiting_.forget_what_none_waits_for();
}

/// Only those that wait for that.
void Relay::process_waiting_for(Awaited& awaited, const core::Now& now) {
    if (!awaited.since || paused() || adopting_ || stopping_ || poison_.isolating()) return;
    const bool any_waits =
        waiting_.process_each(awaited, [&](const core::Delivery& delivery) { return process_again(delivery, now); });
    if (!any_waits && !paused()) waiting_.forget(awaited);
}

bool Relay::process_again(const core::Delivery& delivery, const core::Now& now) {
    return !paused() && process(delivery, now) == Step::done;
}

/// It can go nowhere at the moment: back to the error queue, after a pause.
Relay::Step Relay::requeue_later(const core::Delivery& delivery, const Target& target, const core::Now& now) {
    const Milliseconds age = target.reported ? now.steady - target.refused_since : Milliseconds::zero();
    const Milliseconds pause = std::max(target.flow.pause(now.steady), std::min(age / 2, longest_pause));
    if (requeue_after(pause, delivery, now))
        reporter_.requeued(target.reported_as(), RequeueCause::detour_refused, pause);
    return Step::done;
}

/// False where it went there as a new message.
bool Relay::requeue_after(Milliseconds pause, const core::Delivery& delivery, const core::Now& now) {
    if (republish_to_error_queue(delivery, now)) return false;
    deliveries_.requeue_stranded(now.steady + pause, delivery.tag, delivery.redelivered, now.steady);
    return true;
}

/// Each return counts towards the delivery limit of the error queue, which is for messages that cannot be delivered.
/// However long a target takes none, what waits for it must not get there.
bool Relay::republish_to_error_queue(const core::Delivery& delivery, const core::Now& now) {
    const core::Table headers = delivery.message.properties.header_table();
    if (core::deliveries_in_vain(headers) < core::republish_after_deliveries ||
        !publisher_.takes(routes_.error_queue(), now))
        return false;
    failed_attempt_ = 0;  // it comes again as it is
    core::ComposeContext context{
        core::read_death(headers, policy_->error_queue), {}, session_.connection_user, &session_.proof_keys};
    const auto from_rung = core::read_returned_by_rung(headers);
    // What is thrown out of a rung before its time has not died in a work queue.
    if (context.death && from_rung && core::looks_like_x_death_rung(context.death->queue)) context.death.reset();
    if (context.death)
        core::sanitise_forgeable_fields(*context.death, session_.features.counts_client_deaths, delivery.routing_key,
                                        now.wall);
    const std::string_view queue = context.death ? context.death->queue
                                   : from_rung   ? from_rung->queue
                                                 : std::string_view{};
    if (!queue.empty()) context.history = core::read_retry_history(headers, queue, session_.proof_keys);
    const bool parked = core::is_parked_detour(headers, policy_->error_queue);
    // What it claims of itself is not signed.
    if (context.death && context.death->count == 0 && (parked || !context.history.proven)) context.death.reset();
    if (context.history.proven) context.x_death = context.history.x_death;
    const auto name = std::make_shared<const std::string>(context.death ? context.death->queue : "");
    const core::Message composed = parked
                                       ? core::compose_parked_again(delivery.message, context, true, now.wall, scratch_)
                                       : core::compose_republished(delivery.message, context, scratch_);
    return publish(delivery, composed, context,
                   {delivery.tag, routes_.error_queue(), name, Outcome::detoured, "renewed", now.steady}) == Step::done;
}

void Relay::on_tick(const core::Now& now) {
    if (poison_.on_tick(now.steady)) process_waiting(now);
    deliveries_.requeue_due(now.steady);
    declarations_.on_tick(now);
    if (now.steady < next_look_) return;
    next_look_ = now.steady + between_looks;
    publisher_.look_for_silence(now);
    unacked_for_long_ = unacked_for_long();
    deliveries_.note_time(now.steady);
    if (!waiting_.empty()) process_waiting(now);
}

std::optional<core::SteadyTime> Relay::next_tick() const {
    std::optional<core::SteadyTime> next;
    const auto consider = [&](std::optional<core::SteadyTime> due) {
        if (due) next = std::min(next.value_or(*due), *due);
    };
    consider(deliveries_.next_due());
    if (!waiting_.empty() || publisher_.in_flight() > 0) consider(next_look_);
    consider(declarations_.next_tick());
    return next;
}

void Relay::stop() {
    stopping_ = true;
    waiting_.clear();
}

// ── What the broker refuses ─────────────────────────────────────────────────────────────────────────────────────

void Relay::on_unreadable_delivery(core::DeliveryTag tag, const core::Now& now) {
    deliveries_.delivered(tag);
    if (stopping_) return;
    publisher_.dead_letter(tag, "", why_unreadable, now.steady);
}

void Relay::on_publishing_closed(ChannelIndex channel, int code, std::string_view why, const core::Now& now) {
    if (publisher_.on_closed(channel, code, why, now)) process_waiting(now);
}

// ── What has to exist on the broker ─────────────────────────────────────────────────────────────────────────────

void Relay::adopt(std::shared_ptr<const core::Policy> policy, const core::Now& now) {
    policy_ = policy;
    deliveries_.forget_most_open();
    routes_.adopt(std::move(policy));
    adopting_ = false;
    declarations_.adopt(*policy_);
    publisher_.forget_unroutable();
    start();
    process_waiting(now);
}

void Relay::on_declared(std::string_view key, DeclareOutcome outcome, std::string_view why, const core::Now& now) {
    const std::shared_ptr<Target> target = declarations_.on_declared(key, outcome, why, now);
    if (!target) return;
    if (poison_.isolating()) return process_waiting(now);
    // Work queues whose messages go through an exchange wait for it each on its own.
    if (target->role == TargetRole::parking_exchange) return process_waiting(now);
    process_waiting_for(target->awaited, now);
}

/// What a glob leaves out is treated as an exclusive queue is: its rungs would outlive it, or it is not meant to have
/// any. False where that is told later.
bool Relay::exclusion_is_known(std::string_view queue, CheckOutcome& outcome, bool bound) {
    if (!session_.is_excluded_from_glob || outcome != CheckOutcome::exists) return true;
    const core::Entry* const entry = core::match(*policy_, queue);
    if (entry == nullptr || !core::is_glob(entry->match)) return true;
    const auto excluded = session_.is_excluded_from_glob(queue);
    if (!excluded) {
        exclusion_unknown_[std::string{queue}] = bound;
    } else if (*excluded) {
        outcome = CheckOutcome::exclusive;
    }
    return excluded.has_value();
}

void Relay::on_exclusion_known(const std::string& queue, const core::Now& now) {
    const auto found = exclusion_unknown_.find(queue);
    if (found == exclusion_unknown_.end()) return;
    const bool bound = found->second;
    exclusion_unknown_.erase(found);
    bound ? on_bound(queue, CheckOutcome::exists, "", now) : on_checked(queue, CheckOutcome::exists, now);
}

void Relay::on_checked(std::string_view queue, CheckOutcome outcome, const core::Now& now) {
    if (!exclusion_is_known(queue, outcome, false)) return;
    declarations_.on_looked_for(queue, outcome);
    const std::shared_ptr<Route> route = routes_.find(queue);
    if (route) declarations_.on_work_queue_answer(*route, outcome, now);
    process_waiting(now);
    declarations_.forget_rebinding(queue, false);
    if (route) declarations_.forget_if_gone(route, now);
}

void Relay::on_bound(std::string_view queue, CheckOutcome outcome, std::string_view why, const core::Now& now) {
    if (!exclusion_is_known(queue, outcome, true)) return;
    declarations_.on_bound(queue, outcome, why, now);
    process_waiting(now);
    declarations_.forget_rebinding(queue, true);
    const std::shared_ptr<Route> route = routes_.find(queue);
    if (route) declarations_.forget_if_gone(route, now);
}

}  // namespace retryd::relay
