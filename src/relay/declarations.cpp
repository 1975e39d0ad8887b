#include "relay/declarations.h"

#include <algorithm>
#include <utility>

#include "core/names.h"

namespace retryd::relay {
namespace {

using core::Milliseconds;

/// What was refused is asked for again after this: somebody may have fixed it.
constexpr Milliseconds refused_for{60'000};
/// A binding of a foreign exchange is made again after this: the exchange may have been deleted and made anew, and what
/// work queues dead-letter to it would be lost silently.
constexpr Milliseconds binding_confirmed_for{60'000};
/// A queue is looked at again after this, and so is one that was refused. A rung that somebody has made anew without
/// its dead-letter arguments takes messages and throws them away; only declaring it shows that, a passive declare does
/// not.
constexpr Milliseconds looked_at_for = refused_for;
/// So many at once: what a message waits for is declared behind them.
constexpr std::size_t most_looks = 4;

/// Queues of ours. The session looks at the catch-all itself; an exchange that is gone is told by what is published to
/// it.
bool is_looked_at(TargetRole role) {
    return role == TargetRole::rung || role == TargetRole::parking || role == TargetRole::detour ||
           role == TargetRole::held;
}

WorkQueueState state_of(CheckOutcome outcome) {
    switch (outcome) {
        case CheckOutcome::exists:
            return WorkQueueState::exists;
        case CheckOutcome::missing:
            return WorkQueueState::missing;
        case CheckOutcome::exclusive:
            return WorkQueueState::exclusive;
        case CheckOutcome::refused:
            break;
    }
    return WorkQueueState::refused;
}

}  // namespace

void Declarations::ask_in_advance(const core::Policy& policy) {
    for (const auto& binding : routes_.error_bindings()) {
        if (binding->state == Target::State::unknown) declare(*binding);
    }
    for (const core::Entry& entry : policy.entries) {
        if (!core::is_glob(entry.match)) {
            const auto route = routes_.route_for(entry.match);
            declare_all(*route);
            if (route->shared() && declare_) bind_to_return_exchange(route->work_queue);
        } else {
            declare_what_all_share(entry);
        }
    }
    for (const auto& detour : routes_.detours()) {
        if (detour->state == Target::State::unknown) declare(*detour);
    }
}

void Declarations::on_tick(const core::Now& now) {
    for (const auto& binding : routes_.error_bindings()) {
        const bool again = binding->state == Target::State::ready && now.steady >= binding->confirmed_until;
        if (again) declare(*binding);
        ensure(*binding, now);
    }
    look_again(now);
    while (!gone_.empty() && now.steady >= gone_.front().forgotten_at) {
        const std::shared_ptr<Route> route = std::move(gone_.front().route);
        gone_.pop_front();
        if (now.steady < route->gone_until) continue;  // others have taken a detour since
        route->gone_for_detoured.reset();
        const bool unknown = route->work_queue_state == WorkQueueState::unchecked;
        if (unknown && routes_.find(route->work_queue) == route) routes_.forget(*route);
    }
}

std::optional<core::SteadyTime> Declarations::next_tick() const {
    std::optional<core::SteadyTime> next;
    const auto consider = [&](core::SteadyTime due) { next = std::min(next.value_or(due), due); };
    for (const auto& binding : routes_.error_bindings()) {
        if (binding->state == Target::State::refused) consider(binding->refused_until);
        if (binding->state == Target::State::ready) consider(binding->confirmed_until);
    }
    if (!gone_.empty()) consider(gone_.front().forgotten_at);
    if (may_look()) consider(looks_.front().due);
    return next;
}

// ── Targets ─────────────────────────────────────────────────────────────────────────────────────────────────────

Target::State Declarations::ensure(Target& needed, const core::Now& now) {
    Target& target = needed.declared();
    const bool ask_again = target.state == Target::State::refused && now.steady >= target.refused_until;
    if (target.state == Target::State::unknown || ask_again) declare(target);
    return target.state;
}

void Declarations::declare(Target& target) {
    target.state = Target::State::declaring;
    declaring_.insert(target.key());
    broker_.declare(target.key(), target.topology);
}

bool Declarations::may_look() const {
    return !looks_.empty() && looking_.size() < most_looks;
}

void Declarations::look_later(Target& target, const core::Now& now) {
    if (!is_looked_at(target.role)) return;
    target.look_due = now.steady + looked_at_for;
    looks_.push_back({target.look_due, target.key()});
}

/// What is ready stays so until the answer says otherwise: no message waits for it.
void Declarations::look_again(const core::Now& now) {
    while (may_look() && now.steady >= looks_.front().due) {
        const Look look = std::move(looks_.front());
        looks_.pop_front();
        const std::shared_ptr<Target> target = routes_.find_target(look.key);
        if (!target || target->look_due != look.due || target->awaits_answer()) continue;
        if (!routes_.is_needed(*target)) {
            leave(*target);
        } else if (target->state == Target::State::refused) {
            ensure(*target, now);
        } else if (target->state == Target::State::ready) {
            target->looking = true;
            looking_.insert(look.key);
            broker_.declare(look.key, target->topology);
        }
    }
}

/// After a reload that names it no more somebody may delete it: it is not to come back. Of a queue that a glob names
/// nobody knows before its next message, for which it is declared.
void Declarations::leave(Target& target) {
    target.gone();
    target.state = Target::State::unknown;
    if (std::exchange(target.reported, false)) reporter_.not_needed(target.role, target.name);
}

void Declarations::adopt(const core::Policy& policy) {
    for (const auto& left : routes_.take_error_bindings_left()) {
        declaring_.erase(left->key());
        if (left->reported) end_fault(left->role, left->name);
    }
    std::erase_if(return_bindings_refused_, [&](const std::string& work_queue) {
        const core::Entry* const entry = core::match(policy, work_queue);
        const bool needed = entry != nullptr && entry->ladder.return_path == core::ReturnPath::headers;
        if (!needed) reporter_.not_needed(TargetRole::return_binding, work_queue);
        return !needed;
    });
}

/// Of an exchange, whatever the routing key. It goes on while a target with it is refused, and a refusal is told again.
void Declarations::end_fault(TargetRole role, std::string_view name) {
    if (routes_.any_refused(role, name)) return;
    reporter_.not_needed(role, name);
    routes_.tell_again(role, name);
}

void Declarations::declare_rungs(Route& route) {
    for (const Milliseconds delay : core::distinct_delays(route.entry->ladder)) {
        const auto rung = routes_.rung(route, delay, false);
        if (rung->state == Target::State::unknown) declare(*rung);
    }
}

/// Of the work queues that a glob names.
void Declarations::declare_what_all_share(const core::Entry& entry) {
    Route any;
    any.entry = &entry;
    if (any.shared()) declare_rungs(any);
    // An exchange is looked at with the first message: it is never declared.
    if (!entry.parked.exchange.empty() || core::parking_depends_on_queue(entry.parked)) return;
    Target& parked = routes_.parked(any)->declared();
    if (parked.state == Target::State::unknown) declare(parked);
}

void Declarations::declare_all(Route& route) {
    declare_rungs(route);
    Target& parked = routes_.parked(route)->declared();
    if (parked.state == Target::State::unknown) declare(parked);
    if (!core::may_hold(*route.entry)) return;
    const auto held = routes_.held(route);
    if (held->state == Target::State::unknown) declare(*held);
}

std::shared_ptr<Target> Declarations::on_declared(std::string_view key, DeclareOutcome outcome, std::string_view why,
                                                  const core::Now& now) {
    if (const auto looking = looking_.find(key); looking != looking_.end()) looking_.erase(looking);
    const std::shared_ptr<Target> target = routes_.find_target(key);
    if (target && target->stale_answers > 0) {
        --target->stale_answers;
        return nullptr;
    }
    if (const auto declaring = declaring_.find(key); declaring != declaring_.end()) declaring_.erase(declaring);
    if (!target) return nullptr;
    const bool looked = std::exchange(target->looking, false) && target->state == Target::State::ready;
    if (looked && outcome != DeclareOutcome::refused) {
        look_later(*target, now);  // one without an answer is found out by what is published to it
        return nullptr;
    }
    if (outcome == DeclareOutcome::unanswered) {
        target->state = Target::State::unknown;
        target->flow.silent(0, now.steady);
        if (target->flow.take_silence_report(now.steady, {})) reporter_.silent({target->role, target->name});
    } else if (outcome == DeclareOutcome::ready) {
        target->state = Target::State::ready;
        target->changed = false;
        look_later(*target, now);
        target->flow.declared(now.steady);
        target->confirmed_until = now.steady + binding_confirmed_for;
        // That an exchange is there does not mean that it takes messages: only a confirm does.
        if (target->role != TargetRole::parking_exchange) report_healed(*target);
    } else {
        target->changed = target->changed || looked;
        target->declare_refused = true;
        mark_refused(*target, why, now);
    }
    return target;
}

void Declarations::mark_refused(Target& target, std::string_view why, const core::Now& now) {
    target.state = Target::State::refused;
    target.refused_until = now.steady + refused_for;
    if (!target.reported) target.refused_since = now.steady;
    // What was the reason may have been mended, and another is left. That of a publication may name its routing key.
    const std::string_view reason = target.declare_refused ? why : "";
    if (!std::exchange(target.reported, true) || target.refused_why != reason)
        reporter_.refused(target.role, target.name, why);
    target.refused_why = reason;
    look_later(target, now);
}

void Declarations::report_healed(Target& target) {
    if (target.reported) reporter_.healed(target.role, target.name);
    target.reported = false;
}

// ── Work queues ─────────────────────────────────────────────────────────────────────────────────────────────────

bool Declarations::work_queue_checked(Route& route, const core::Now& now) {
    const bool ask_again = route.work_queue_state == WorkQueueState::refused && now.steady >= route.refused_until;
    if (route.work_queue_state == WorkQueueState::unchecked || ask_again) {
        route.work_queue_state = WorkQueueState::checking;
        route.checked_at = now.steady;
        if (route.shared() && declare_) {
            bind_to_return_exchange(route.work_queue);
        } else {
            broker_.check(route.work_queue);
        }
    }
    return route.work_queue_state != WorkQueueState::checking;
}

/// Whoever needs the binding waits for the same answer.
void Declarations::bind_to_return_exchange(std::string_view work_queue) {
    if (return_bindings_asked_.emplace(work_queue).second) broker_.bind_to_return_exchange(work_queue);
}

/// It was there, and what a rung could not deliver has asked for it again. Some did not wait for the answer and come
/// back from a detour: they are not to wait on a rung for a queue that is known to be gone.
void Declarations::note_deleted(Route& route, CheckOutcome outcome) {
    const bool gone = outcome == CheckOutcome::missing || outcome == CheckOutcome::exclusive;
    if (!gone || !route.detoured_unchecked || !core::is_glob(route.entry->match)) return;
    if (route.work_queue_state == WorkQueueState::exists) route.work_queue_state = WorkQueueState::checking;
}

void Declarations::on_work_queue_answer(Route& route, CheckOutcome outcome, const core::Now& now) {
    WorkQueueState answer = state_of(outcome);
    const bool exact = !core::is_glob(route.entry->match);
    if (!exact && route.work_queue_state != WorkQueueState::checking) return;
    // Of an exact name the operator says that it exists: its messages may wait on their rung until it does.
    if (exact && (answer == WorkQueueState::missing || answer == WorkQueueState::exclusive))
        answer = WorkQueueState::exists;
    // If we may not check the queue, we assume that it exists. If we may not bind it, its messages cannot come back
    // from a shared rung, so it stays refused.
    const bool bound = route.shared() && declare_;
    if (!bound && answer == WorkQueueState::refused) answer = WorkQueueState::exists;
    route.work_queue_state = answer;
    route.refused_until = now.steady + refused_for;
    if (answer != WorkQueueState::exists) return;
    route.gone_for_detoured.reset();
    declare_all(route);
}

void Declarations::forget_if_gone(const std::shared_ptr<Route>& route, const core::Now& now) {
    constexpr Milliseconds back_after = 2 * core::detour_delays.front();
    constexpr std::size_t most = 10'000;
    if (route->may_have_rungs()) return;
    if (std::exchange(route->detoured_unchecked, false) && gone_.size() < most) {
        route->gone_until = now.steady + back_after;
        gone_.push_back({route->gone_until, route});
    } else if (!route->gone_for_detoured) {
        return routes_.forget(*route);
    }
    route->gone_for_detoured = std::exchange(route->work_queue_state, WorkQueueState::unchecked);
}

const std::shared_ptr<Declarations::Rebinding>& Declarations::rebinding(std::string_view work_queue, bool bind) {
    const auto [known, is_new] = rebindings_.try_emplace(std::string{work_queue});
    if (is_new) {
        known->second = std::make_shared<Rebinding>();
        known->second->binds = bind;
        bind ? bind_to_return_exchange(work_queue) : broker_.check(work_queue);
    }
    return known->second;
}

void Declarations::on_looked_for(std::string_view queue, CheckOutcome outcome) {
    const auto known = rebindings_.find(queue);
    if (known != rebindings_.end() && !known->second->binds) known->second->state = state_of(outcome);
}

void Declarations::forget_rebinding(std::string_view work_queue, bool bound) {
    const auto known = rebindings_.find(work_queue);
    if (known != rebindings_.end() && (bound || !known->second->binds)) rebindings_.erase(known);
}

void Declarations::on_bound(std::string_view queue, CheckOutcome outcome, std::string_view why, const core::Now& now) {
    if (const auto asked = return_bindings_asked_.find(queue); asked != return_bindings_asked_.end()) {
        return_bindings_asked_.erase(asked);
    }
    report_return_binding(queue, outcome == CheckOutcome::refused, why);
    const std::shared_ptr<Route> route = routes_.find(queue);
    if (route && route->shared()) {
        note_deleted(*route, outcome);
        on_work_queue_answer(*route, outcome, now);
        if (outcome == CheckOutcome::exists) {
            route->gone_for_detoured.reset();
            route->detoured_unchecked = false;
        }
    }
    if (const auto known = rebindings_.find(queue); known != rebindings_.end())
        known->second->state = state_of(outcome);
}

void Declarations::report_return_binding(std::string_view work_queue, bool refused, std::string_view why) {
    constexpr std::size_t most = 10'000;  // forged names must not fill the memory
    const auto reported = return_bindings_refused_.find(work_queue);
    if (refused && reported == return_bindings_refused_.end() && return_bindings_refused_.size() < most) {
        return_bindings_refused_.emplace(work_queue);
        reporter_.refused(TargetRole::return_binding, work_queue, why);
    } else if (!refused && reported != return_bindings_refused_.end()) {
        return_bindings_refused_.erase(reported);
        reporter_.healed(TargetRole::return_binding, work_queue);
    }
}

}  // namespace retryd::relay
