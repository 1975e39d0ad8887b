#include "amqp/session_topology.h"

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "amqp/broker_session.h"
#include "amqp/error.h"
#include "core/reply_code.h"
#include "core/safe_text.h"

namespace retryd::amqp {
namespace {

/// What a session cannot do without may be deleted while it runs.
constexpr core::Milliseconds base_again_after{60'000};
/// All that is used has been declared again then: the base, and what the relay looks at (relay::Declarations).
constexpr core::Milliseconds all_again_within{90'000};

relay::CheckOutcome outcome_of_check(const Declarer::Outcome& outcome) {
    if (outcome.code == core::reply_code::resource_locked) return relay::CheckOutcome::exclusive;
    switch (outcome.result) {
        case Declarer::Result::done:
            return relay::CheckOutcome::exists;
        case Declarer::Result::missing:
            return relay::CheckOutcome::missing;
        case Declarer::Result::refused:
            break;
    }
    return relay::CheckOutcome::refused;
}

/// Where nothing may be declared, it is only looked whether it is there. A binding cannot be seen, only its queue.
Declarer::Step step_for(const core::TopologyItem& item, bool declare) {
    if (declare) return step_of(item);
    if (const auto* exchange = std::get_if<core::ExchangeSpec>(&item)) return Declarer::CheckExchange{exchange->name};
    if (const auto* queue = std::get_if<core::QueueSpec>(&item)) return Declarer::CheckQueue{queue->name};
    if (const auto* binding = std::get_if<core::BindingSpec>(&item)) return Declarer::CheckQueue{binding->queue};
    return step_of(item);
}

/// Done, but only found to be there, since it may not be declared.
Declarer::Outcome used_as_it_is(Declarer::Outcome found) {
    found.code = core::reply_code::access_refused;
    return found;
}

/// What may be declared is missing only where a queue is to be bound that somebody has just deleted.
bool deleted_meanwhile(const Declarer::Outcome& outcome, bool declare) {
    return declare && outcome.result == Declarer::Result::missing;
}

std::string why_not(const Declarer::Outcome& outcome, bool declare) {
    if (outcome.result != Declarer::Result::missing) return outcome.text;
    if (deleted_meanwhile(outcome, declare))
        return outcome.text + ", although it was there a moment ago: somebody has deleted it meanwhile";
    return outcome.text + ", and with `declare: false` retryd does not make it; `retryd plan` lists what it needs";
}

std::string what_is_back(const std::set<std::string>& not_asked_again) {
    const std::string since =
        "for want of a permission the broker has refused nothing for 90 s, in which retryd has declared again all that "
        "it uses, and compared what it had used as it was there";
    if (not_asked_again.empty()) return "the permission is back: " + since;
    const std::size_t more = not_asked_again.size() - 1;
    return since + ". Nothing needs '" + core::safe_name(*not_asked_again.begin()) + "'" +
           (more == 0 ? "" : " (and " + std::to_string(more) + " more)") +
           " now: whether it may be declared again shows when it is needed";
}

}  // namespace

// ── What a session cannot do without ────────────────────────────────────────────────────────────────────────────

void SessionTopology::start(relay::Relay& relay) {
    relay_ = &relay;
    declare_base();
}

/// Under `declare: false` nothing was asked for.
void SessionTopology::adopt(std::shared_ptr<const config::Settings> settings) {
    if (settings->declare && !settings_->declare) session_.forbidden.allowed_since = now_.steady;
    settings_ = std::move(settings);
}

void SessionTopology::consuming() {
    consuming_ = true;
    base_due_ = now_.steady + base_again_after;
    session_.forbidden.allowed_since = now_.steady;
}

void SessionTopology::blocked(bool is) {
    if (blocked_ && !is) session_.forbidden.allowed_since = now_.steady;
    blocked_ = is;
}

/// One after the other: an exchange before what is bound to it.
void SessionTopology::declare_base() {
    base_under_way_ = true;
    declare_base_from(std::make_shared<const core::Topology>(core::base_topology(settings_->policy, session_.features)),
                      0);
}

void SessionTopology::declare_base_from(const std::shared_ptr<const core::Topology>& base, std::size_t index) {
    if (index < base->size()) {
        return declare_or_use((*base)[index], [this, base, index](const Declarer::Outcome& outcome) {
            require_base((*base)[index], outcome);
            const auto* const queue = std::get_if<core::QueueSpec>(&(*base)[index]);
            if (queue != nullptr && queue->name == settings_->policy.error_queue) {
                const bool as_wanted = outcome.text.empty() && outcome.lacking.empty() && outcome.code == 0;
                session_.error_queue_is_limited(core::is_limited(*queue) && outcome.text.empty());
                session_.error_queue_is_ours(as_wanted && settings_->declare);
            }
            declare_base_from(base, index + 1);
        });
    }
    if (consuming_) return declare_return_exchange();
    base_declared_ = true;
    for (const auto& command : std::exchange(after_base_, {}))
        command();
    bind_and_begin(0);
}

/// What is dead-lettered to another exchange is lost silently until that is bound here, and once there is a consumer
/// the daemon counts as ready. The relay asks for the same bindings, and says what comes of it.
void SessionTopology::bind_and_begin(std::size_t index) {
    const auto& bindings = settings_->policy.error_bindings;
    if (index < bindings.size()) {
        const core::BindingSpec binding = core::error_binding(settings_->policy, bindings[index]);
        return declare_or_use(binding, [this, index](const Declarer::Outcome&) { bind_and_begin(index + 1); });
    }
    base_under_way_ = false;
    session_.base_is_there();
}

/// Without these there is nothing to consume: a refusal ends the session. So does no answer, another broker of the list
/// may give one; but not once messages are consumed, for then these were there a moment ago. Of the error queue
/// BrokerSession::look_at_error_queue() says so.
void SessionTopology::require_base(const core::TopologyItem& item, const Declarer::Outcome& outcome) {
    if (outcome.unanswered && consuming_) {
        const bool error_queue =
            std::holds_alternative<core::QueueSpec>(item) && core::name_of(item) == settings_->policy.error_queue;
        return error_queue ? void() : tell_once_if_unanswered(outcome);
    }
    if (outcome.unanswered) throw Error(Error::Kind::lost, outcome.text);
    const auto kind = deleted_meanwhile(outcome, settings_->declare) ? Error::Kind::deleted : Error::Kind::refused;
    if (outcome.result != Declarer::Result::done) throw Error(kind, why_not(outcome, settings_->declare));
    tell_once(outcome.text);
}

/// What may not be declared, but is there, is used as it is: somebody may have taken away the permission to configure,
/// and all that is needed for the messages to go on are those to read and to write.
void SessionTopology::declare_or_use(const core::TopologyItem& item, Declarer::Sink sink) {
    const bool has_a_check =
        std::holds_alternative<core::ExchangeSpec>(item) || std::holds_alternative<core::QueueSpec>(item);
    const bool declare = settings_->declare;
    session_.declarer.submit(step_for(item, declare), [=, this](const Declarer::Outcome& outcome) {
        const bool forbidden =
            outcome.result == Declarer::Result::refused && outcome.code == core::reply_code::access_refused;
        if (has_a_check && forbidden) return use(item, outcome, sink);
        // The broker looks for the permission first: whatever else it answers, and even if it answers nothing.
        if (has_a_check && declare) session_.forbidden.names.erase(std::string{core::name_of(item)});
        sink(outcome);
    });
}

void SessionTopology::use(const core::TopologyItem& item, const Declarer::Outcome& refusal,
                          const Declarer::Sink& sink) {
    session_.forbidden.allowed_since = now_.steady;
    session_.forbidden.names.emplace(core::name_of(item));
    session_.declarer.submit(step_for(item, false), [this, sink, refusal](const Declarer::Outcome& found) {
        if (found.result != Declarer::Result::done) return sink(refusal);
        tell_used_as_it_is(refusal.text);
        sink(used_as_it_is(found));
    });
}

/// What is said of a queue stays true for the session.
void SessionTopology::tell_once(const std::string& text) {
    if (!text.empty() && told_.insert(text).second) session_.observer.accepted(text);
}

/// Once, of the first: one command gives the permission for all, and there may be thousands.
void SessionTopology::tell_used_as_it_is(const std::string& refusal) {
    if (std::exchange(session_.forbidden.told, true)) return;
    session_.observer.accepted(refusal +
                               ". Meanwhile it is used as it is there, and so is what else may not be declared; what "
                               "somebody deletes cannot be made again");
}

/// Once all has been asked for again without such a refusal: a permission may be back for some names only.
void SessionTopology::tell_if_declares_again() {
    ForbiddenDeclares& forbidden = session_.forbidden;
    const bool asking = settings_->declare && consuming_ && !leaving_ && !blocked_;
    if (!forbidden.told || !asking || now_.steady - forbidden.allowed_since < all_again_within) return;
    forbidden.told = false;
    session_.observer.declares_again(what_is_back(std::exchange(forbidden.names, {})));
}

/// A broker that has blocked us reads nothing.
void SessionTopology::tell_once_if_unanswered(const Declarer::Outcome& outcome) {
    if (outcome.unanswered && !blocked_ && told_.insert(outcome.text).second)
        session_.observer.unanswered(outcome.text);
}

/// An exchange or a binding may have been deleted while we run: what work queues dead-letter would be lost silently.
/// Declaring what is there does nothing.
void SessionTopology::look_again() {
    tell_if_declares_again();
    if (!consuming_ || leaving_ || blocked_ || base_under_way_ || now_.steady < base_due_) return;
    base_due_ = now_.steady + base_again_after;
    declare_base();
}

/// A refusal shows when it is needed.
void SessionTopology::declare_return_exchange() {
    base_under_way_ = false;
    if (!core::has_shared_ladder(settings_->policy)) return;
    declare_or_use(core::return_exchange_spec(settings_->policy), [](const Declarer::Outcome&) {});
}

// ── What the relay asks for ─────────────────────────────────────────────────────────────────────────────────────

/// The error queue comes before what is bound to it, and the consumer does not wait for all the rungs. The relay knows
/// answers under one key by their order.
void SessionTopology::declare(std::string_view key, const core::Topology& topology) {
    if (!base_declared_) {
        return after_base_.push_back([=, this, name = std::string{key}] { declare(name, topology); });
    }
    auto& of_key = declaring_.emplace(key, std::deque<core::Topology>{}).first->second;
    of_key.push_back(topology);
    if (of_key.size() == 1) declare_next(std::string{key}, 0);
}

void SessionTopology::declare_next(const std::string& key, std::size_t index) {
    declare_or_use(declaring_.at(key).front()[index], [this, key, index](const Declarer::Outcome& outcome) {
        const auto at = declaring_.find(key);
        const bool done = outcome.result == Declarer::Result::done;
        if (done) tell_once(outcome.text);
        if (done && index + 1 < at->second.front().size()) return declare_next(key, index + 1);
        at->second.pop_front();
        if (at->second.empty()) {
            declaring_.erase(at);
        } else {
            declare_next(key, 0);
        }
        const auto not_done = outcome.unanswered ? relay::DeclareOutcome::unanswered : relay::DeclareOutcome::refused;
        relay_->on_declared(key, done ? relay::DeclareOutcome::ready : not_done,
                            done ? "" : why_not(outcome, settings_->declare), now_);
    });
}

void SessionTopology::check(std::string_view queue) {
    session_.declarer.submit(Declarer::CheckQueue{std::string{queue}},
                             [this, name = std::string{queue}](const Declarer::Outcome& outcome) {
                                 tell_once_if_unanswered(outcome);
                                 relay_->on_checked(name, outcome_of_check(outcome), now_);
                             });
}

void SessionTopology::count(const std::string& queue, const Counted& told) {
    session_.declarer.submit(Declarer::CheckQueue{queue}, [told](const Declarer::Outcome& outcome) {
        const bool missing = outcome.result == Declarer::Result::missing;
        told(missing ? std::nullopt : std::optional<std::uint64_t>{outcome.counts.messages});
    });
}

/// The exchange first: somebody may have deleted it.
void SessionTopology::bind_to_return_exchange(std::string_view queue) {
    if (!base_declared_) {
        return after_base_.push_back([this, name = std::string{queue}] { bind_to_return_exchange(name); });
    }
    const auto answer = [this, name = std::string{queue}](const Declarer::Outcome& outcome) {
        const auto found = outcome_of_check(outcome);
        relay_->on_bound(name, found, found == relay::CheckOutcome::refused ? outcome.text : "", now_);
    };
    declare_or_use(core::return_exchange_spec(settings_->policy),
                   [this, answer, binding = core::return_binding(queue)](const Declarer::Outcome& outcome) {
                       if (outcome.result != Declarer::Result::done) return answer(outcome);
                       session_.declarer.submit(binding, answer);
                   });
}

}  // namespace retryd::amqp
