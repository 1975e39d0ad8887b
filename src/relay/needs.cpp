// What has to be there on the broker for a message to go its way: asked for, declared, refused, healed.
#include "core/names.h"
#include "relay/relay.h"

namespace retryd::relay {
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
            if (route->shared() && surroundings_.declare) bind_home(route->work_queue);
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
        if (route.shared() && surroundings_.declare) {
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
    if (!(route.shared() && surroundings_.declare) && answer == Existence::refused) answer = Existence::exists;
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
