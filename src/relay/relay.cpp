// What a message goes through, from its delivery to its ack. What keeps it from going on: faults.cpp. What has to be
// there on the broker: needs.cpp.
#include "relay/relay.h"

#include <algorithm>
#include <string>

#include "core/fingerprint.h"
#include "core/names.h"
#include "core/reply_code.h"

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

Relay::Relay(std::shared_ptr<const core::Policy> policy, SessionInfo session, Broker& broker, Reporter& reporter,
             PoisonDetector& suspects)
    : policy_(policy),
      session_(std::move(session)),
      broker_(broker),
      reporter_(reporter),
      poison_(suspects),
      routes_(std::move(policy), session_.features) {}

// ── The way of a message ────────────────────────────────────────────────────────────────────────────────────────

void Relay::on_delivery(const core::Delivery& delivery, const core::Now& now) {
    acks_.delivered(delivery.tag);
    if (stopping_) return;
    if (paused_ || adopting_ || carry(delivery, now) == Step::wait) hold(delivery);
}

Relay::Step Relay::carry(const core::Delivery& delivery, const core::Now& now) {
    const core::Table headers = delivery.message.properties.header_table();
    if (const auto queue = core::read_undelivered(headers)) return bring_home(delivery, *queue, now);

    core::Story story{core::read_death(headers, policy_->error_queue), {}, session_.connection_user};
    std::shared_ptr<Route> route;
    if (story.death) {
        story.carried = core::read_retry_history(headers, story.death->queue);
        route = routes_.of(story.death->queue);
    }
    const core::Decision decision =
        core::decide(story.death, story.carried, route ? route->entry : nullptr, {now.wall, session_.dice()});
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
    acks_.ack(delivery.tag);
    reporter_.settled({Outcome::dropped, route.work_queue, "", reported_reason(story.death->reason), {}, {}, {}});
    if (route.existence == Existence::unasked) routes_.forget(route);  // forged names must not fill the memory
    return Step::done;
}

/// Its delay is over, but the return exchange did not know its work queue: bound again, it goes home at once.
Relay::Step Relay::bring_home(const core::Delivery& delivery, std::string_view work_queue, const core::Now& now) {
    const core::Story story{
        {}, core::read_retry_history(delivery.message.properties.header_table(), work_queue), session_.connection_user};
    const auto park_as = [&](core::ParkReason reason) {
        return park(delivery, story, nullptr, {reason, story.carried.attempt}, now);
    };
    if (core::match(*policy_, work_queue) == nullptr) return park_as(core::ParkReason::no_entry);
    if (!session_.declare) return park_as(core::ParkReason::unpublishable);
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
    if (poison_.alone()) {
        if (!unconfirmed_.empty()) return Step::wait;
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
            unconfirmed_.add(std::move(pending));
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
    unconfirmed_.confirm(seq, multiple, confirmed_);
    const bool alone = poison_.alone();
    for (const Pending& pending : confirmed_)
        settle(pending, acked, now);
    if (alone) carry_held(now);  // the next one's turn
}

void Relay::settle(const Pending& pending, bool acked, const core::Now& now) {
    poison_.clear(pending.redelivered);
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
    acks_.ack(pending.tag);
}

void Relay::flush(const core::Now& now) {
    acks_.flush(broker_);
    if (acks_.behind() == 0) {
        late_acks_due_.reset();
    } else if (!late_acks_due_) {
        late_acks_due_ = now.steady + late_acks_after;
    } else if (*late_acks_due_ <= now.steady) {
        flush_all();
    }
}

void Relay::flush_all() {
    acks_.flush(broker_);
    acks_.flush_behind(broker_);
    late_acks_due_.reset();
}

// What keeps a message from going on: refused, returned, unreadable, too large, or simply not yet.

namespace {

using core::Milliseconds;

constexpr Milliseconds stuck_for{30'000};

struct Named {
    std::string_view exchange;  // empty where there is none
    bool cut = false;           // only the beginning is there: the broker cuts a text at 255 bytes
};

/// The exchange in the broker's words: "no exchange 'x' in vhost", "access to exchange 'x' in vhost".
Named exchange_in(std::string_view why) {
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
    acks_.settled(tag);
    reporter_.dead_lettered(work_queue, why);
}

void Relay::on_returned(std::string_view exchange, std::string_view routing_key, const core::Now& now) {
    const std::uint64_t address = hash_of_address(exchange, routing_key);
    for (const std::shared_ptr<Target>& target : unconfirmed_.mark_returned(address)) {
        if (target->role != Role::parking_exchange) {
            // Declared again when needed.
            if (target->state == Target::State::ready) target->state = Target::State::unknown;
        } else if (unroutable_.note(address, now.steady)) {
            const std::string why = "exchange '" + target->name + "' leads to no queue with routing key '";
            reporter_.refused(target->role, target->name, why + std::string{routing_key} + "'");
        }
    }
}

/// The delivery stays unacked for a while and is then given back: the broker redelivers it with its content.
void Relay::requeue_later(const Pending& pending, RequeueCause cause, const core::Now& now) {
    Target& target = *pending.target;
    // What had been sent before the last failure was known is part of it: a burst that is refused is one.
    if (target.failures == 0 || pending.sent_at >= target.failed_at) {
        ++target.failures;
        target.failed_at = now.steady;
    }
    const Milliseconds delay = backoff(target.failures);
    requeues_.add(now.steady + delay, pending.tag);
    reporter_.requeued(target.role, target.name, cause, delay);
}

void Relay::on_tick(const core::Now& now) {
    if (poison_.on_tick(now.steady)) carry_held(now);
    while (const auto tag = requeues_.take_due(now.steady)) {
        broker_.requeue(*tag);
        acks_.settled(*tag);
    }
    for (const auto& binding : routes_.error_bindings())
        usable(*binding, now);
    if (catch_all_due()) usable(*routes_.catch_all(), now);
}

/// Without the catch-all some deliveries can only wait: when it is to be asked for again.
std::optional<core::SteadyTime> Relay::catch_all_due() const {
    const Target& catch_all = *routes_.catch_all();
    if (paused_deliveries_.empty() || catch_all.state != Target::State::refused) return std::nullopt;
    return catch_all.refused_until;
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
    }
    return next;
}

/// While one has to be tried alone the others would only ask the broker again and again for what they need.
bool Relay::may_carry() const {
    return !paused_ && !adopting_ && !stopping_ && (unconfirmed_.empty() || !poison_.alone());
}

void Relay::carry_held(const core::Now& now) {
    if (!may_carry()) return;
    paused_deliveries_.carry(
        [&](const core::Delivery& delivery) { return !paused_ && carry(delivery, now) == Step::done; });
}

void Relay::resume(const core::Now& now) {
    paused_ = false;
    carry_held(now);
}

void Relay::stop() {
    stopping_ = true;
    paused_deliveries_.clear();
}

// ── What the broker chokes on ───────────────────────────────────────────────────────────────────────────────────

void Relay::on_publishing_closed(int code, std::string_view why, const core::Now& now) {
    const std::vector<Pending> lost = unconfirmed_.abandon();
    const bool about_exchange = code == core::reply_code::access_refused || code == core::reply_code::not_found;
    if (lost.size() == 1 && !about_exchange) {
        const Pending& guilty = lost.front();
        // Where it stays it is met again, and must not clear those beside it each time.
        session_.declare ? poison_.found() : poison_.clear(guilty.redelivered);
        dead_letter(guilty.tag, guilty.work_queue ? *guilty.work_queue : "", why, now.steady);
        return carry_held(now);
    }
    if (about_exchange) {
        blame_exchange(code, why, now);
    } else {
        poison_.raise(lost.size());
    }
    const Milliseconds delay = backoff(++publishing_failures_);
    for (const Pending& pending : lost) {
        requeues_.add(now.steady + delay, pending.tag);
        reporter_.requeued(pending.target->role, pending.target->name, RequeueCause::channel_closed, delay);
    }
    carry_held(now);
}

/// An exchange that is missing is declared or looked for again; one that may not be published to is done without.
void Relay::blame_exchange(int code, std::string_view why, const core::Now& now) {
    const Named named = exchange_in(why);
    for (const std::shared_ptr<Target>& target : routes_.behind(named.exchange, named.cut)) {
        if (code == core::reply_code::not_found) {
            if (target->state == Target::State::ready) target->state = Target::State::unknown;
        } else {
            refuse(*target, "the broker lets nobody publish to it like that: " + std::string{why}, now);
        }
    }
}

void Relay::on_connection_lost(bool provoked) {
    const std::size_t come_again = acks_.open() + acks_.behind();
    poison_.connection_broke({unconfirmed_.size() + (sending_ ? 1 : 0), come_again, provoked, any_confirmed_});
}

/// False: it has ended enough connections, and is dealt with.
bool Relay::may_be_tried(const core::Delivery& delivery, std::string_view work_queue, core::SteadyTime now) {
    const std::uint64_t digest = core::digest(delivery.message);
    if (!poison_.is_poison(digest)) {
        poison_.trying(digest);
        return true;
    }
    poison_.seen_again(digest);
    dead_letter(delivery.tag, work_queue, "each time it was published the broker ended the connection", now);
    return false;
}

// What has to be there on the broker for a message to go its way: asked for, declared, refused, healed.

namespace {

/// What was refused is asked for again after this: somebody may have mended it.
constexpr core::Milliseconds refused_for{60'000};

Existence existence_of(CheckOutcome outcome) {
    switch (outcome) {
        case CheckOutcome::exists:
            return Existence::exists;
        case CheckOutcome::missing:
            return Existence::missing;
        case CheckOutcome::refused:
            break;
    }
    return Existence::refused;
}

}  // namespace

void Relay::start() {
    for (const auto& binding : routes_.error_bindings()) {
        if (binding->state == Target::State::unknown) declare(*binding);
    }
    for (const core::Entry& entry : policy_->entries) {
        if (!core::is_glob(entry.match)) {
            const auto route = routes_.of(entry.match);
            declare_all(*route);
            if (route->shared() && session_.declare) bind_home(route->work_queue);
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
    carry_held(now);
}

// ── Queues and exchanges to publish to ──────────────────────────────────────────────────────────────────────────

/// ready, refused, or declaring (asked for now if it was not yet).
Target::State Relay::usable(Target& target, const core::Now& now) {
    const bool ask_again = target.state == Target::State::refused && now.steady >= target.refused_until;
    if (target.state == Target::State::unknown || ask_again) declare(target);
    return target.state;
}

void Relay::declare(Target& target) {
    target.state = Target::State::declaring;
    broker_.declare(target.key(), target.topology);
}

void Relay::declare_rungs(Route& route) {
    for (const core::Milliseconds delay : core::distinct_delays(route.entry->ladder)) {
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
    const std::shared_ptr<Target> target = routes_.declared_as(key);
    if (!target) return;
    if (target->stale_answers > 0) {
        --target->stale_answers;
        return;
    }
    if (outcome == DeclareOutcome::ready) {
        target->state = Target::State::ready;
        // That an exchange is there does not mean that it takes messages: only a confirm does.
        if (target->role != Role::parking_exchange) report_healed(*target);
    } else {
        refuse(*target, why, now);
    }
    carry_held(now);
}

void Relay::refuse(Target& target, std::string_view why, const core::Now& now) {
    target.state = Target::State::refused;
    target.refused_until = now.steady + refused_for;
    if (!target.reported) reporter_.refused(target.role, target.name, why);
    target.reported = true;
}

void Relay::report_healed(Target& target) {
    if (target.reported) reporter_.healed(target.role, target.name);
    target.reported = false;
}

// ── Work queues ─────────────────────────────────────────────────────────────────────────────────────────────────

bool Relay::work_queue_known(Route& route, const core::Now& now) {
    const bool ask_again = route.existence == Existence::refused && now.steady >= route.refused_until;
    if (route.existence == Existence::unasked || ask_again) {
        route.existence = Existence::asking;
        if (route.shared() && session_.declare) {
            bind_home(route.work_queue);
        } else {
            broker_.check(route.work_queue);
        }
    }
    return route.existence != Existence::asking;
}

/// Whoever needs the binding waits for the same answer.
void Relay::bind_home(std::string_view work_queue) {
    if (binding_.emplace(work_queue).second) broker_.bind_home(work_queue);
}

/// Takes in what the broker said, and carries on what waited for it.
void Relay::learn(Route& route, Existence answer, const core::Now& now) {
    const bool exact = !core::is_glob(route.entry->match);
    if (!exact && route.existence != Existence::asking) return;
    // Of an exact name the operator says that it exists: its messages may wait on their rung until it does.
    if (exact && answer == Existence::missing) answer = Existence::exists;
    // Without a permission to look it is taken to be there; without one to bind, no message would find home.
    if (!(route.shared() && session_.declare) && answer == Existence::refused) answer = Existence::exists;
    route.existence = answer;
    route.refused_until = now.steady + refused_for;
    if (answer == Existence::exists) declare_all(route);
}

void Relay::on_checked(std::string_view queue, CheckOutcome outcome, const core::Now& now) {
    const std::shared_ptr<Route> route = routes_.find(queue);
    if (!route) return;
    learn(*route, existence_of(outcome), now);
    carry_held(now);
    // Not remembered: forged names must not fill the memory, and the queue may come yet.
    if (route->existence == Existence::missing) routes_.forget(*route);
}

void Relay::on_bound(std::string_view queue, CheckOutcome outcome, std::string_view why, const core::Now& now) {
    const Existence answer = existence_of(outcome);
    if (const auto asked = binding_.find(queue); asked != binding_.end()) binding_.erase(asked);
    report_binding(queue, answer == Existence::refused, why);
    const std::shared_ptr<Route> route = routes_.find(queue);
    if (route && route->shared()) learn(*route, answer, now);
    const auto undelivered = undelivered_.find(queue);
    if (undelivered != undelivered_.end()) undelivered->second = answer;
    carry_held(now);
    if (undelivered != undelivered_.end()) undelivered_.erase(undelivered);
    if (route && route->existence == Existence::missing) routes_.forget(*route);
}

void Relay::report_binding(std::string_view work_queue, bool refused, std::string_view why) {
    constexpr std::size_t most = 10'000;  // forged names must not fill the memory
    const auto reported = unbound_.find(work_queue);
    if (refused && reported == unbound_.end() && unbound_.size() < most) {
        unbound_.emplace(work_queue);
        reporter_.refused(Role::home_binding, work_queue, why);
    } else if (!refused && reported != unbound_.end()) {
        unbound_.erase(reported);
        reporter_.healed(Role::home_binding, work_queue);
    }
}

}  // namespace retryd::relay
