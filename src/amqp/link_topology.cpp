// Link's part that declares: what a session cannot do without, and what the relay asks for.
#include <memory>
#include <utility>

#include "amqp/error.h"
#include "amqp/link.h"
#include "core/fingerprint.h"

namespace retryd::amqp {
namespace {

relay::CheckOutcome outcome_of_check(Declarer::Result result) {
    switch (result) {
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

std::string why_not(const Declarer::Outcome& outcome) {
    if (outcome.result != Declarer::Result::missing) return outcome.text;
    return outcome.text + ", and with `declare: false` retryd does not make it; `retryd plan` lists what it needs";
}

}  // namespace

/// Without these there is nothing to consume: a refusal ends the session.
void Link::declare_base() {
    const core::Topology base = core::base_topology(settings_->policy, core::features_of(version()));
    for (const core::TopologyItem& item : base) {
        const bool last = &item == &base.back();
        declarer_.submit(step_for(item, settings_->declare), [this, last](const Declarer::Outcome& outcome) {
            if (outcome.result != Declarer::Result::done) throw Error(Error::Kind::refused, why_not(outcome));
            if (!outcome.text.empty() && !consumed_) observer_.accepted(outcome.text);
            if (last && consumer_tag_.empty() && !leaving_) consume();
        });
    }
}

/// Somebody may have deleted an exchange or a binding under us: what work queues dead-letter would be lost, and nobody
/// would say so. Declaring what is there does nothing. The broker may also have taken our consumer away without a word
/// (3.8.9 does, now and then, when the queue is deleted).
void Link::declare_base_again() {
    if (!consumed_ || leaving_ || now_.steady < base_due_) return;
    base_due_ = now_.steady + base_again_after;
    declare_base();
    declarer_.submit(Declarer::CheckQueue{settings_->policy.error_queue}, [this](const Declarer::Outcome& outcome) {
        if (leaving_ || outcome.result != Declarer::Result::done || outcome.counts.consumers > 0) return;
        throw Error(Error::Kind::lost, "the error queue '" + settings_->policy.error_queue +
                                           "' has no consumer any more, and the broker has not said so");
    });
    if (!core::has_shared_ladder(settings_->policy)) return;
    declarer_.submit(step_for(core::return_exchange_spec(settings_->policy), settings_->declare),
                     [](const Declarer::Outcome&) {});  // a refusal shows when it is needed
}

/// A prefetch counts for the consumers that come after it.
void Link::consume() {
    consumer_tag_ = core::consumer_tag(settings_->policy);
    consumer_prefetch_ = settings_->prefetch.messages;
    consume_answered_ = false;
    intake_->qos(relay_channel, consumer_prefetch_);
    intake_->consume(relay_channel, settings_->policy.error_queue, consumer_tag_);
}

void Link::adopt(std::shared_ptr<const config::Settings> settings) {
    settings_ = std::move(settings);
    renew_consumer();
}

/// Where it shows that the settings are others. Not before the broker has answered basic.consume, whose answer leads
/// here again: 3.10 ends the connection (541) over a cancel that overtakes it within the broker.
void Link::renew_consumer() {
    if (!consume_answered_ || leaving_ || !core::features_of(version()).clean_cancel) return;
    const bool same_prefetch = consumer_prefetch_ == settings_->prefetch.messages;
    if (same_prefetch && consumer_tag_ == core::consumer_tag(settings_->policy)) return;
    base_due_ = now_.steady + base_again_after;  // for a moment there is no consumer
    // Deliveries of the former consumer stay valid: their tags are the channel's.
    intake_->cancel(relay_channel, consumer_tag_);
    consume();
}

void Link::declare(std::string_view key, const core::Topology& topology) {
    declare_next(std::make_shared<Declaration>(Declaration{std::string{key}, topology}));
}

void Link::declare_next(const std::shared_ptr<Declaration>& declaration) {
    const core::TopologyItem& item = declaration->topology[declaration->next++];
    declarer_.submit(step_for(item, settings_->declare), [this, declaration](const Declarer::Outcome& outcome) {
        const bool done = outcome.result == Declarer::Result::done;
        if (done && !outcome.text.empty()) observer_.accepted(outcome.text);
        if (done && declaration->next < declaration->topology.size()) return declare_next(declaration);
        relay_->on_declared(declaration->key, done ? relay::DeclareOutcome::ready : relay::DeclareOutcome::refused,
                            done ? "" : why_not(outcome), now_);
    });
}

void Link::check(std::string_view queue) {
    declarer_.submit(Declarer::CheckQueue{std::string{queue}},
                     [this, name = std::string{queue}](const Declarer::Outcome& outcome) {
                         relay_->on_checked(name, outcome_of_check(outcome.result), now_);
                     });
}

/// The exchange first: somebody may have deleted it.
void Link::bind_home(std::string_view queue) {
    const auto answer = [this, name = std::string{queue}](const Declarer::Outcome& outcome) {
        const auto found = outcome_of_check(outcome.result);
        relay_->on_bound(name, found, found == relay::CheckOutcome::refused ? outcome.text : "", now_);
    };
    declarer_.submit(core::return_exchange_spec(settings_->policy),
                     [this, answer, binding = core::home_binding(queue)](const Declarer::Outcome& outcome) {
                         if (outcome.result != Declarer::Result::done) return answer(outcome);
                         declarer_.submit(binding, answer);
                     });
}

}  // namespace retryd::amqp
