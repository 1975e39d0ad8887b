// From top to bottom: the way of a message, what has to wait, what the broker refuses, and what has to exist on the
// broker for a message to go its way.
#include "relay/relay.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/death.h"
#include "core/fingerprint.h"
#include "core/names.h"
#include "core/reply_code.h"

namespace retryd::relay {
namespace {

using core::Milliseconds;

/// So long an ack waits for an older delivery that is still open.
constexpr Milliseconds late_acks_after{100};
/// Messages above this priority need a rung of their own where they would hold back the others.
constexpr std::uint8_t highest_normal_priority = 4;
/// The pause of a message that cannot be dead-lettered.
constexpr Milliseconds stuck_for{30'000};
/// What was refused is asked for again after this: somebody may have mended it.
constexpr Milliseconds refused_for{60'000};
/// A binding of an exchange of somebody else's is made again after this: the exchange may have been deleted and made
/// anew, and what work queues dead-letter to it would be lost without a word.
constexpr Milliseconds binding_confirmed_for{60'000};

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

WorkQueueState state_of(CheckOutcome outcome) {
    switch (outcome) {
        case CheckOutcome::exists:
            return WorkQueueState::exists;
        case CheckOutcome::missing:
            return WorkQueueState::missing;
        case CheckOutcome::refused:
            break;
    }
    return WorkQueueState::refused;
}

}  // namespace

Relay::Relay(std::shared_ptr<const core::Policy> policy, SessionInfo session, Broker& broker, Reporter& reporter,
             PoisonDetector& poison)
    : policy_(policy),
      session_(std::move(session)),
      broker_(broker),
      reporter_(reporter),
      poison_(poison),
      routes_(std::move(policy), session_.features) {}

// ── The way of a message ────────────────────────────────────────────────────────────────────────────────────────

void Relay::on_delivery(const core::Delivery& delivery, const core::Now& now) {
    acks_.delivered(delivery.tag);
    if (stopping_) return;
    if (paused_ || adopting_ || process(delivery, now) == Step::wait) waiting_deliveries_.add(delivery);
}

Relay::Step Relay::process(const core::Delivery& delivery, const core::Now& now) {
    const core::Table headers = delivery.message.properties.header_table();
    if (const auto queue = core::read_undelivered(headers)) return return_undelivered(delivery, *queue, now);

    core::ComposeContext context{core::read_death(headers, policy_->error_queue), {}, session_.connection_user};
    std::shared_ptr<Route> route;
    if (context.death) {
        context.history = core::read_retry_history(headers, context.death->queue);
        route = routes_.route_for(context.death->queue);
    }
    const core::Decision decision =
        core::decide(context.death, context.history, route ? route->entry : nullptr, now.wall, session_.dice());
    if (std::holds_alternative<core::Drop>(decision)) return drop(delivery, context, *route);
    if (route && !work_queue_checked(*route, now)) return Step::wait;
    if (route && route->work_queue_state == WorkQueueState::missing) {
        const auto attempt = core::attempt_of(*context.death, context.history);
        return park(delivery, context, route, {core::ParkReason::queue_gone, attempt}, now);
    }
    if (const auto* again = std::get_if<core::Retry>(&decision)) return retry(delivery, context, route, *again, now);
    return park(delivery, context, route, std::get<core::Park>(decision), now);
}

Relay::Step Relay::retry(const core::Delivery& delivery, const core::ComposeContext& context,
                         const std::shared_ptr<Route>& route, const core::Retry& retry, const core::Now& now) {
    const bool high = delivery.message.properties.priority.value_or(0) > highest_normal_priority;
    const std::shared_ptr<Target> rung = routes_.rung(*route, retry.delay, high);
    const bool refused =
        route->work_queue_state == WorkQueueState::refused || ensure_declared(*rung, now) == Target::State::refused;
    if (refused) return park(delivery, context, route, {core::ParkReason::unpublishable, retry.attempt}, now);
    if (rung->state != Target::State::ready) return Step::wait;
    const core::Message composed = core::compose_retry(delivery.message, context, retry, scratch_);
    return publish(
        delivery, composed, context,
        {delivery.tag, rung, name_of(route), Outcome::retried, core::reason_label(context.death->reason), now.steady});
}

Relay::Step Relay::park(const core::Delivery& delivery, const core::ComposeContext& context,
                        const std::shared_ptr<Route>& route, const core::Park& park, const core::Now& now) {
    std::shared_ptr<Target> target = route && route->work_queue_exists() ? routes_.parked(*route) : routes_.catch_all();
    if (!can_park_in(*target, delivery, context, now)) target = routes_.catch_all();
    if (ensure_declared(*target, now) != Target::State::ready) return Step::wait;
    const core::Message composed = core::compose_parked(delivery.message, context, park, now.wall, scratch_);
    const std::string_view reason = core::reason_label(park.reason, context.death ? context.death->reason : "");
    return publish(delivery, composed, context,
                   {delivery.tag, target, name_of(route), Outcome::parked, reason, now.steady});
}

/// An exchange of somebody else's may lead nowhere, or back to us.
bool Relay::can_park_in(Target& target, const core::Delivery& delivery, const core::ComposeContext& context,
                        const core::Now& now) {
    if (target.role == Role::parking_exchange) {
        const core::Table headers = delivery.message.properties.header_table();
        if (core::find(headers, core::header::parked_reason) != nullptr) {
            mark_refused(target, "exchange '" + target.name + "' leads what is parked back to the error queue", now);
        }
        if (unroutable_.contains(address_of(target, context), now.steady)) return false;
    }
    return ensure_declared(target, now) != Target::State::refused;
}

Relay::Step Relay::drop(const core::Delivery& delivery, const core::ComposeContext& context, const Route& route) {
    acks_.ack(delivery.tag);
    reporter_.settled({Outcome::dropped, route.work_queue, "", core::reason_label(context.death->reason), {}, {}, {}});
    // Forged names must not fill the memory.
    if (route.work_queue_state == WorkQueueState::unchecked) routes_.forget(route);
    return Step::done;
}

/// Its delay on a shared rung is over, but the return exchange did not know its work queue: that is bound again, and
/// the message published to the return exchange at once.
Relay::Step Relay::return_undelivered(const core::Delivery& delivery, std::string_view work_queue,
                                      const core::Now& now) {
    const core::ComposeContext context{
        {}, core::read_retry_history(delivery.message.properties.header_table(), work_queue), session_.connection_user};
    const auto park_as = [&](core::ParkReason reason) {
        return park(delivery, context, nullptr, {reason, context.history.attempt}, now);
    };
    if (core::match(*policy_, work_queue) == nullptr) return park_as(core::ParkReason::no_entry);
    if (!session_.declare) return park_as(core::ParkReason::unpublishable);
    const auto [known, is_new] = undelivered_.try_emplace(std::string{work_queue}, WorkQueueState::checking);
    if (is_new) bind_to_return_exchange(work_queue);
    switch (known->second) {
        case WorkQueueState::exists:
            break;
        case WorkQueueState::missing:
            return park_as(core::ParkReason::queue_gone);
        case WorkQueueState::refused:
            return park_as(core::ParkReason::unpublishable);
        default:
            return Step::wait;
    }
    const std::shared_ptr<Target>& exchange = routes_.return_exchange();
    if (ensure_declared(*exchange, now) == Target::State::refused) return park_as(core::ParkReason::unpublishable);
    if (exchange->state != Target::State::ready) return Step::wait;
    const core::Message composed = core::compose_return(delivery.message, context, scratch_);
    return publish(delivery, composed, context,
                   {delivery.tag, exchange, std::make_shared<const std::string>(work_queue), Outcome::returned_to_queue,
                    "undelivered", now.steady});
}

Relay::Step Relay::publish(const core::Delivery& delivery, const core::Message& composed,
                           const core::ComposeContext& context, Pending pending) {
    if (poison_.isolating()) {
        if (!unconfirmed_.empty()) return Step::wait;
        if (dead_letter_poison(delivery, name_of(pending), pending.sent_at)) return Step::done;
    }
    const Target& to = *pending.target;
    pending.redelivered = delivery.redelivered;
    pending.published_as = address_of(to, context);
    const std::string_view key = to.routing_key ? *to.routing_key : core::producer_routing_key(context);
    in_publish_ = true;
    const PublishResult result = broker_.publish({to.exchange, key, composed});
    in_publish_ = false;
    switch (result) {
        case PublishResult::sent:
            unconfirmed_.add(std::move(pending));
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

void Relay::on_confirm(PublishSeq seq, bool multiple, bool acked, const core::Now& now) {
    confirmed_.clear();
    unconfirmed_.confirm(seq, multiple, confirmed_);
    const bool isolating = poison_.isolating();
    for (const Pending& pending : confirmed_)
        settle(pending, acked, now);
    if (isolating) process_waiting(now);  // the next one's turn
}

void Relay::settle(const Pending& pending, bool acked, const core::Now& now) {
    poison_.confirmed(pending.redelivered);
    publishing_failures_ = 0;
    any_confirmed_ = true;
    if (!acked) return requeue_later(pending, RequeueCause::nacked, now);
    if (pending.returned) return requeue_later(pending, RequeueCause::returned, now);
    Target& target = *pending.target;
    target.failures = 0;
    if (target.role == Role::parking_exchange) {
        if (unroutable_.remove(pending.published_as)) reporter_.healed(target.role, target.name);
        report_healed(target);
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
        late_acks_due_ = now.steady + late_acks_after;
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

/// During isolation nothing else is processed while a message is in flight: it could not be published, and processing
/// it would repeat its declares and checks.
void Relay::process_waiting(const core::Now& now) {
    if (paused_ || adopting_ || stopping_ || (poison_.isolating() && !unconfirmed_.empty())) return;
    waiting_deliveries_.process_each(
        [&](const core::Delivery& delivery) { return !paused_ && process(delivery, now) == Step::done; });
}

void Relay::on_tick(const core::Now& now) {
    if (poison_.on_tick(now.steady)) process_waiting(now);
    while (const auto tag = requeues_.take_due(now.steady)) {
        broker_.requeue(*tag);
        acks_.forget(*tag);
    }
    for (const auto& binding : routes_.error_bindings()) {
        const bool again = binding->state == Target::State::ready && now.steady >= binding->confirmed_until;
        if (again) declare(*binding);
        ensure_declared(*binding, now);
    }
    if (catch_all_due()) ensure_declared(*routes_.catch_all(), now);
}

std::optional<core::SteadyTime> Relay::next_tick() const {
    std::optional<core::SteadyTime> next = catch_all_due();
    const auto consider = [&](std::optional<core::SteadyTime> due) {
        if (due) next = std::min(next.value_or(*due), *due);
    };
    consider(late_acks_due_);
    consider(requeues_.next());
    for (const auto& binding : routes_.error_bindings()) {
        if (binding->state == Target::State::refused) consider(binding->refused_until);
        if (binding->state == Target::State::ready) consider(binding->confirmed_until);
    }
    return next;
}

/// When to declare the catch-all again: it was refused, and deliveries wait for it.
std::optional<core::SteadyTime> Relay::catch_all_due() const {
    const Target& catch_all = *routes_.catch_all();
    if (waiting_deliveries_.empty() || catch_all.state != Target::State::refused) return std::nullopt;
    return catch_all.refused_until;
}

void Relay::stop() {
    stopping_ = true;
    waiting_deliveries_.clear();
}

// ── What the broker refuses ─────────────────────────────────────────────────────────────────────────────────────

/// Nacked or returned. The delivery stays unacked for a while and is then requeued: the broker delivers it again with
/// its content.
void Relay::requeue_later(const Pending& pending, RequeueCause cause, const core::Now& now) {
    Target& target = *pending.target;
    // What had been sent before the last failure was known is part of it: a burst that is refused is one failure.
    if (target.failures == 0 || pending.sent_at >= target.failed_at) {
        ++target.failures;
        target.failed_at = now.steady;
    }
    const Milliseconds delay = backoff(target.failures);
    requeues_.add(now.steady + delay, pending.tag);
    reporter_.requeued(target.role, target.name, cause, delay);
}

void Relay::on_returned(std::string_view exchange, std::string_view routing_key, const core::Now& now) {
    const std::uint64_t address = hash_of_address(exchange, routing_key);
    for (const std::shared_ptr<Target>& target : unconfirmed_.mark_returned(address)) {
        if (target->role != Role::parking_exchange) {
            // Declared again when needed.
            if (target->state == Target::State::ready) target->state = Target::State::unknown;
        } else if (unroutable_.add(address, now.steady)) {
            const std::string why = "exchange '" + target->name + "' leads to no queue with routing key '";
            reporter_.refused(target->role, target->name, why + std::string{routing_key} + "'");
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

void Relay::on_publishing_closed(int code, std::string_view why, const core::Now& now) {
    const std::vector<Pending> lost = unconfirmed_.abandon();
    const bool about_exchange = code == core::reply_code::access_refused || code == core::reply_code::not_found;
    if (lost.size() == 1 && !about_exchange) {
        const Pending& culprit = lost.front();
        if (session_.declare) {
            poison_.stop_isolating();
        } else {
            // It stays in the error queue and will come back: count it as dealt with, but go on isolating.
            poison_.confirmed(culprit.redelivered);
        }
        dead_letter(culprit.tag, name_of(culprit), why, now.steady);
        return process_waiting(now);
    }
    if (about_exchange) {
        on_exchange_refused(code, why, now);
    } else {
        poison_.isolate(lost.size());
    }
    const Milliseconds delay = backoff(++publishing_failures_);
    for (const Pending& pending : lost) {
        requeues_.add(now.steady + delay, pending.tag);
        reporter_.requeued(pending.target->role, pending.target->name, RequeueCause::channel_closed, delay);
    }
    process_waiting(now);
}

/// 404: it is declared or checked again before the next publication. 403: it counts as refused for a minute.
void Relay::on_exchange_refused(int code, std::string_view why, const core::Now& now) {
    const ExchangeName exchange = exchange_in(why);
    for (const std::shared_ptr<Target>& target : routes_.published_through(exchange.text, exchange.cut)) {
        if (code == core::reply_code::not_found) {
            if (target->state == Target::State::ready) target->state = Target::State::unknown;
        } else {
            mark_refused(*target, "the broker refuses to let retryd publish to it: " + std::string{why}, now);
        }
    }
}

void Relay::on_connection_lost(bool provoked) {
    const std::size_t redeliveries = acks_.open() + acks_.unsent();
    poison_.connection_ended({unconfirmed_.size() + (in_publish_ ? 1 : 0), redeliveries, provoked, any_confirmed_});
}

/// While isolating. True: it has ended enough connections and is dead-lettered; else it is to be published.
bool Relay::dead_letter_poison(const core::Delivery& delivery, std::string_view work_queue, core::SteadyTime now) {
    const std::uint64_t digest = core::digest(delivery.message);
    if (!poison_.is_poison(digest)) {
        poison_.publishing(digest);
        return false;
    }
    poison_.dead_lettered(digest);
    dead_letter(delivery.tag, work_queue, "each time it was published the broker ended the connection", now);
    return true;
}

// ── What has to exist on the broker: exchanges and queues ───────────────────────────────────────────────────────

void Relay::start() {
    for (const auto& binding : routes_.error_bindings()) {
        if (binding->state == Target::State::unknown) declare(*binding);
    }
    for (const core::Entry& entry : policy_->entries) {
        if (!core::is_glob(entry.match)) {
            const auto route = routes_.route_for(entry.match);
            declare_all(*route);
            if (route->shared() && session_.declare) bind_to_return_exchange(route->work_queue);
        } else if (entry.ladder.return_path == core::ReturnPath::headers) {
            Route any;  // a shared rung is the same for all work queues
            any.entry = &entry;
            declare_rungs(any);
        }
    }
}

void Relay::adopt(std::shared_ptr<const core::Policy> policy, const core::Now& now) {
    policy_ = policy;
    routes_.adopt(std::move(policy));
    adopting_ = false;
    start();
    process_waiting(now);
}

/// ready, refused, or declaring: declared now if it was not yet, or if its refusal is long ago.
Target::State Relay::ensure_declared(Target& target, const core::Now& now) {
    const bool ask_again = target.state == Target::State::refused && now.steady >= target.refused_until;
    if (target.state == Target::State::unknown || ask_again) declare(target);
    return target.state;
}

void Relay::declare(Target& target) {
    target.state = Target::State::declaring;
    broker_.declare(target.key(), target.topology);
}

void Relay::declare_rungs(Route& route) {
    for (const Milliseconds delay : core::distinct_delays(route.entry->ladder)) {
        const auto rung = routes_.rung(route, delay, false);
        if (rung->state == Target::State::unknown) declare(*rung);
    }
}

void Relay::declare_all(Route& route) {
    declare_rungs(route);
    const auto parked = routes_.parked(route);
    if (parked->state == Target::State::unknown) declare(*parked);
}

void Relay::on_declared(std::string_view key, DeclareOutcome outcome, std::string_view why, const core::Now& now) {
    const std::shared_ptr<Target> target = routes_.find_target(key);
    if (!target) return;
    if (target->stale_answers > 0) {
        --target->stale_answers;
        return;
    }
    if (outcome == DeclareOutcome::ready) {
        target->state = Target::State::ready;
        target->confirmed_until = now.steady + binding_confirmed_for;
        // That an exchange is there does not mean that it takes messages: only a confirm does.
        if (target->role != Role::parking_exchange) report_healed(*target);
    } else {
        mark_refused(*target, why, now);
    }
    process_waiting(now);
}

void Relay::mark_refused(Target& target, std::string_view why, const core::Now& now) {
    target.state = Target::State::refused;
    target.refused_until = now.steady + refused_for;
    if (!target.reported) reporter_.refused(target.role, target.name, why);
    target.reported = true;
}

void Relay::report_healed(Target& target) {
    if (target.reported) reporter_.healed(target.role, target.name);
    target.reported = false;
}

// ── What has to exist on the broker: work queues ────────────────────────────────────────────────────────────────

/// True once the answer is there; asks for it if nobody has yet, or if it was refused long ago.
bool Relay::work_queue_checked(Route& route, const core::Now& now) {
    const bool ask_again = route.work_queue_state == WorkQueueState::refused && now.steady >= route.refused_until;
    if (route.work_queue_state == WorkQueueState::unchecked || ask_again) {
        route.work_queue_state = WorkQueueState::checking;
        if (route.shared() && session_.declare) {
            bind_to_return_exchange(route.work_queue);
        } else {
            broker_.check(route.work_queue);
        }
    }
    return route.work_queue_state != WorkQueueState::checking;
}

/// Whoever needs the binding waits for the same answer.
void Relay::bind_to_return_exchange(std::string_view work_queue) {
    if (return_bindings_asked_.emplace(work_queue).second) broker_.bind_to_return_exchange(work_queue);
}

void Relay::on_work_queue_answer(Route& route, WorkQueueState answer, const core::Now& now) {
    const bool exact = !core::is_glob(route.entry->match);
    if (!exact && route.work_queue_state != WorkQueueState::checking) return;
    // Of an exact name the operator says that it exists: its messages may wait on their rung until it does.
    if (exact && answer == WorkQueueState::missing) answer = WorkQueueState::exists;
    // If we may not check the queue, we assume that it exists. If we may not bind it, its messages cannot come back
    // from a shared rung, so it stays refused.
    const bool bound = route.shared() && session_.declare;
    if (!bound && answer == WorkQueueState::refused) answer = WorkQueueState::exists;
    route.work_queue_state = answer;
    route.refused_until = now.steady + refused_for;
    if (answer == WorkQueueState::exists) declare_all(route);
}

void Relay::on_checked(std::string_view queue, CheckOutcome outcome, const core::Now& now) {
    const std::shared_ptr<Route> route = routes_.find(queue);
    if (!route) return;
    on_work_queue_answer(*route, state_of(outcome), now);
    process_waiting(now);
    // Not remembered: forged names must not fill the memory, and the queue may come yet.
    if (route->work_queue_state == WorkQueueState::missing) routes_.forget(*route);
}

void Relay::on_bound(std::string_view queue, CheckOutcome outcome, std::string_view why, const core::Now& now) {
    const WorkQueueState answer = state_of(outcome);
    if (const auto asked = return_bindings_asked_.find(queue); asked != return_bindings_asked_.end()) {
        return_bindings_asked_.erase(asked);
    }
    report_return_binding(queue, answer == WorkQueueState::refused, why);
    const std::shared_ptr<Route> route = routes_.find(queue);
    if (route && route->shared()) on_work_queue_answer(*route, answer, now);
    const auto undelivered = undelivered_.find(queue);
    if (undelivered != undelivered_.end()) undelivered->second = answer;
    process_waiting(now);
    if (undelivered != undelivered_.end()) undelivered_.erase(undelivered);
    if (route && route->work_queue_state == WorkQueueState::missing) routes_.forget(*route);
}

void Relay::report_return_binding(std::string_view work_queue, bool refused, std::string_view why) {
    constexpr std::size_t most = 10'000;  // forged names must not fill the memory
    const auto reported = return_bindings_refused_.find(work_queue);
    if (refused && reported == return_bindings_refused_.end() && return_bindings_refused_.size() < most) {
        return_bindings_refused_.emplace(work_queue);
        reporter_.refused(Role::return_binding, work_queue, why);
    } else if (!refused && reported != return_bindings_refused_.end()) {
        return_bindings_refused_.erase(reported);
        reporter_.healed(Role::return_binding, work_queue);
    }
}

}  // namespace retryd::relay
