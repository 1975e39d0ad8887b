// What keeps a message from going on: refused, returned, unreadable, too large, or simply not yet.
#include <algorithm>
#include <string>

#include "core/digest.h"
#include "core/reply_code.h"
#include "relay/relay.h"

namespace retryd::relay {
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
    settlements_.delivered(tag);
    if (stopping_) return;
    dead_letter(tag, "", "its headers nest too deep to be read", now.steady);
}

/// Where nothing may be declared nobody knows whether the error queue dead-letters at all: then the message stays.
void Relay::dead_letter(core::DeliveryTag tag, std::string_view work_queue, std::string_view why,
                        core::SteadyTime now) {
    if (!surroundings_.declare) {
        requeues_.add(now + stuck_for, tag);
        return reporter_.stuck(work_queue, why, stuck_for);
    }
    broker_.dead_letter(tag);
    settlements_.settled(tag);
    reporter_.dead_lettered(work_queue, why);
}

void Relay::on_returned(std::string_view exchange, std::string_view routing_key, const core::Now& now) {
    const std::uint64_t address = hash_of_address(exchange, routing_key);
    for (const std::shared_ptr<Target>& target : in_flight_.mark_returned(address)) {
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
    if (suspects_.on_tick(now.steady)) carry_held(now);
    while (const auto tag = requeues_.take_due(now.steady)) {
        broker_.requeue(*tag);
        settlements_.settled(*tag);
    }
    for (const auto& binding : routes_.error_bindings())
        usable(*binding, now);
    if (catch_all_due()) usable(*routes_.catch_all(), now);
}

/// Without the catch-all some deliveries can only wait: when it is to be asked for again.
std::optional<core::SteadyTime> Relay::catch_all_due() const {
    const Target& catch_all = *routes_.catch_all();
    if (held_.empty() || catch_all.state != Target::State::refused) return std::nullopt;
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
    return !paused_ && !adopting_ && !stopping_ && (in_flight_.empty() || !suspects_.alone());
}

void Relay::carry_held(const core::Now& now) {
    if (!may_carry()) return;
    held_.carry([&](const core::Delivery& delivery) { return !paused_ && carry(delivery, now) == Step::done; });
}

void Relay::resume(const core::Now& now) {
    paused_ = false;
    carry_held(now);
}

void Relay::stop() {
    stopping_ = true;
    held_.clear();
}

// ── What the broker chokes on ───────────────────────────────────────────────────────────────────────────────────

void Relay::on_publishing_closed(int code, std::string_view why, const core::Now& now) {
    const std::vector<Pending> lost = in_flight_.abandon();
    const bool about_exchange = code == core::reply_code::access_refused || code == core::reply_code::not_found;
    if (lost.size() == 1 && !about_exchange) {
        const Pending& guilty = lost.front();
        // Where it stays it is met again, and must not clear those beside it each time.
        surroundings_.declare ? suspects_.found() : suspects_.acquit(guilty.redelivered);
        dead_letter(guilty.tag, guilty.work_queue ? *guilty.work_queue : "", why, now.steady);
        return carry_held(now);
    }
    if (about_exchange) {
        blame_exchange(code, why, now);
    } else {
        suspects_.raise(lost.size());
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
    const std::size_t come_again = settlements_.open() + settlements_.behind();
    suspects_.connection_broke({in_flight_.size() + (sending_ ? 1 : 0), come_again, provoked, any_confirmed_});
}

/// False: it has ended enough connections, and is dealt with.
bool Relay::may_be_tried(const core::Delivery& delivery, std::string_view work_queue, core::SteadyTime now) {
    const std::uint64_t digest = core::digest(delivery.message);
    if (!suspects_.condemned(digest)) {
        suspects_.trying(digest);
        return true;
    }
    suspects_.met_again(digest);
    dead_letter(delivery.tag, work_queue, "each time it was published the broker ended the connection", now);
    return false;
}

}  // namespace retryd::relay
