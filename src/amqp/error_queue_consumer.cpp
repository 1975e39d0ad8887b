#include "amqp/error_queue_consumer.h"

#include <algorithm>
#include <utility>

#include "amqp/broker_session.h"
#include "amqp/empty_answers.h"
#include "amqp/error.h"
#include "amqp/refusal.h"
#include "core/fingerprint.h"
#include "core/safe_text.h"

namespace retryd::amqp {
namespace {

/// Each with a prefetch of its own.
constexpr std::size_t most_further_consumers = 8;
/// Spare channels get messages before others: one that is stuck, and not known to be, gets none as long as they can
/// take them.
constexpr std::int64_t priority_of_spares = 1;

}  // namespace

ErrorQueueConsumer::ErrorQueueConsumer(Session session, std::shared_ptr<const config::Settings> settings, bool numbered)
    : session_(std::move(session)),
      settings_(std::move(settings)),
      channels_(*this, session_.connection.last_channel()),
      numbered_(numbered),
      watch_(*this),
      probe_(session_.endpoint, settings_->broker) {}

void ErrorQueueConsumer::consume(relay::Relay& relay) {
    if (began() || leaving_) return;
    relay_ = &relay;
    consumer_tag_ = core::consumer_tag(settings_->policy);
    channels_.start(now_.steady);
}

void ErrorQueueConsumer::stop() {
    leaving_ = true;
    for (const auto& [channel, consuming] : consuming_) {
        if (channels_.consumes(channel)) cancel(channel);
    }
}

void ErrorQueueConsumer::turn(const Broker& broker, bool read_all) {
    broker_ = broker;
    if (!began()) return;
    if (!leaving_) watch_error_queue(read_all);
    if (!leaving_) look_at_channels(read_all);
    consume_more();
    look_at_trial();
}

std::optional<core::SteadyTime> ErrorQueueConsumer::next_tick() const {
    if (!began() || leaving_) return std::nullopt;
    return channels_.next_tick();
}

// ── What comes ──────────────────────────────────────────────────────────────────────────────────────────────────

void ErrorQueueConsumer::on_delivery_on(Channel channel, const core::Delivery& delivery) {
    if (!numbered_) [[likely]] {
        watch_.delivered(now_.steady);
        session_.trial.passed(now_.steady);
        return relay_->on_delivery(delivery, now_);
    }
    channels_.delivered(channel);
    if (!channels_.takes(channel)) return;
    watch_.delivered(now_.steady);
    session_.trial.passed(now_.steady);
    core::Delivery numbered = delivery;
    numbered.tag = session_.numbers.add({channel, delivery.tag}, delivery.message.body.size());
    relay_->on_delivery(numbered, now_);
}

void ErrorQueueConsumer::on_unreadable_delivery_on(Channel channel, core::DeliveryTag tag) {
    channels_.delivered(channel);
    if (!channels_.takes(channel)) return;
    session_.trial.passed(now_.steady);
    relay_->on_unreadable_delivery(numbered_ ? session_.numbers.add({channel, tag}, 0) : tag, now_);
}

void ErrorQueueConsumer::on_consume_ok_on(Channel channel) {
    channels_.answered(channel, Question::consume);
    if (!std::exchange(reported_, true)) session_.observer.consuming();
    session_.consuming();
    watch_.consuming(now_.steady);
    session_.trial.consuming(now_.steady);
    renew();
}

void ErrorQueueConsumer::on_consumer_cancelled_on(Channel channel) {
    if (!channels_.takes(channel)) return;
    throw Error(Error::Kind::cancelled,
                "the broker cancelled the consumer of the error queue " + core::quoted(settings_->policy.error_queue) +
                    ": the queue was deleted, its node went away, or a message was held for longer than "
                    "consumer_timeout allows (RabbitMQ 4.3)");
}

void ErrorQueueConsumer::on_channel_closed(const ChannelClosed& closed) {
    if (channels_.closes(closed.channel)) return;
    if (!channels_.takes(closed.channel)) return on_channel_left(closed.channel);
    throw Error(Error::Kind::refused, explain_closed_channel("consuming", closed.text));
}

void ErrorQueueConsumer::on_channel_left(Channel channel) {
    session_.numbers.forget(channel);
    channels_.closed(channel);
    consuming_.erase(channel);
}

// ── Of a delivery ───────────────────────────────────────────────────────────────────────────────────────────────

void ErrorQueueConsumer::ack(const DeliveryNumbers::Origin& origin, bool multiple) {
    const auto channel = static_cast<Channel>(origin.channel);
    channels_.acked(channel);
    session_.connection.ack(channel, origin.tag, multiple);
}

void ErrorQueueConsumer::requeue(const DeliveryNumbers::Origin& origin) {
    const auto channel = static_cast<Channel>(origin.channel);
    channels_.acked(channel);
    session_.connection.nack_requeue(channel, origin.tag);
}

void ErrorQueueConsumer::reject(const DeliveryNumbers::Origin& origin) {
    const auto channel = static_cast<Channel>(origin.channel);
    channels_.acked(channel);
    session_.connection.reject(channel, origin.tag);
}

/// Until then there was one channel, whose tags were the numbers.
void ErrorQueueConsumer::number_from_now_on() {
    if (std::exchange(numbered_, true)) return;
    session_.numbers.begin(only_channel, relay_->unsettled(), relay_->last_delivered());
}

// ── Consumers ───────────────────────────────────────────────────────────────────────────────────────────────────

void ErrorQueueConsumer::open(Channel channel, bool spare) {
    if (spare) number_from_now_on();
    consuming_[channel].spare = spare;
    session_.connection.open_channel(channel);
    begin(channel);
}

std::uint16_t ErrorQueueConsumer::main_prefetch() const {
    return session_.trial.prefetch(settings_->prefetch.messages);
}

/// A prefetch counts for the consumers that come after it.
void ErrorQueueConsumer::begin(Channel channel) {
    Consuming& consuming = consuming_[channel];
    consuming.prefetch = consuming.spare ? 1 : main_prefetch();
    set_prefetch(channel);
    add_consumer(channel);
}

void ErrorQueueConsumer::set_prefetch(Channel channel) {
    session_.connection.qos(channel, consuming_[channel].prefetch);
    channels_.sent(channel, Question::qos);
}

/// None has the tag of a former one of its channel: as long as what that one got is unsettled, RabbitMQ 3.10 takes them
/// for the same, and closes the connection with its next delivery (541; function_clause in rabbit_channel, seen on
/// 3.10.8).
void ErrorQueueConsumer::add_consumer(Channel channel) {
    Consuming& consuming = consuming_[channel];
    const std::string number = ++consumers_made_ == 1 ? "" : "-" + std::to_string(consumers_made_);
    const std::string& tag = consuming.tags.emplace_back(consumer_tag_ + number);
    const std::string& queue = settings_->policy.error_queue;
    consuming.spare ? session_.connection.consume_at_priority(channel, queue, tag, priority_of_spares)
                    : session_.connection.consume(channel, queue, tag);
    channels_.sent(channel, Question::consume);
}

void ErrorQueueConsumer::cancel(Channel channel) {
    for (const std::string& tag : std::exchange(consuming_[channel].tags, {})) {
        session_.connection.cancel(channel, tag);
        channels_.sent(channel, Question::cancel);
    }
}

/// The broker knows all its consumers.
bool ErrorQueueConsumer::main_answers() const {
    return !leaving_ && channels_.main() && channels_.knows_consumers(*channels_.main());
}

/// What stays unacked for long, for targets that do not answer, is lost to the window of the others: another consumer
/// makes up for it. Not at once where one message is tried after the other: what is unacked beside the next one that
/// cannot be handed over comes home once more, and a broker that is slow for a moment is not worth that. Nor from a
/// queue that gives out nothing: without a leader it would cost the connection.
void ErrorQueueConsumer::consume_more() {
    constexpr core::Milliseconds between{500};
    const bool takes_another =
        !session_.trial.going_on() ||
        session_.trial.takes_another(relay_->unsettled_since(), channels_.main_silent_for(), now_.steady);
    if (now_.steady < more_due_ || !main_answers() || !takes_another || !silence_.empty()) return;
    const Consuming& main = consuming_[*channels_.main()];
    if (main.tags.size() > most_further_consumers) return;
    const std::size_t window = main.prefetch * main.tags.size();
    if (main.prefetch == 0 || 3 * relay_->unacked_for_long() < window) return;
    more_due_ = now_.steady + between;
    add_consumer(*channels_.main());
}

void ErrorQueueConsumer::adopt(std::shared_ptr<const config::Settings> settings) {
    settings_ = std::move(settings);
    renew();
}

/// Replaces the consumers if the prefetch or their tag has changed. Waits for basic.consume-ok first, which leads here
/// again: RabbitMQ 3.10 closes the connection (541) if basic.cancel overtakes basic.consume within the broker. And not
/// before the queue answers, if it does not: without a leader that would cost the connection.
void ErrorQueueConsumer::renew() {
    if (!began() || leaving_ || !session_.features.clean_cancel || !silence_.empty()) return;
    const std::string tag = core::consumer_tag(settings_->policy);
    const bool same_tag = consumer_tag_ == tag;
    if (!channels_.main()) {
        consumer_tag_ = tag;
        return same_tag ? void() : channels_.renew_spares();
    }
    if (!main_answers()) return;
    const Channel main = *channels_.main();
    if (same_tag && consuming_[main].prefetch == main_prefetch()) return;
    consumer_tag_ = tag;
    if (!same_tag) channels_.renew_spares();
    // Deliveries of the former consumer stay valid: their tags are the channel's.
    cancel(main);
    begin(main);
}

// ── What cannot be handed over ──────────────────────────────────────────────────────────────────────────────────

void ErrorQueueConsumer::look_at_trial() {
    relay::HeadTrial& trial = session_.trial;
    if (trial.asks_for_count(now_.steady, !relay_->unsettled_since())) {
        session_.declarer.submit(Declarer::CheckQueue{settings_->policy.error_queue},
                                 [this](const Declarer::Outcome& outcome) {
                                     session_.trial.counted(ready_where_we_consume(outcome), now_.steady);
                                 });
    }
    if (trial.on_tick(now_.steady)) return end_trial();
    // Nothing is unsettled here that would come twice.
    if (leaving_ || !trial.head_blocks_channel(channels_.main_silent_for(), !relay_->unsettled_since())) return;
    throw Error(Error::Kind::head_blocks_channel, explain_head_blocks_channel(settings_->policy.error_queue));
}

/// What was suspect has been handed over: from now on as many at once as configured.
void ErrorQueueConsumer::end_trial() {
    session_.observer.trial_over();
    if (!main_answers()) return;
    if (session_.features.clean_cancel) return renew();
    const Channel main = *channels_.main();
    consuming_[main].prefetch = settings_->prefetch.messages;
    set_prefetch(main);
    add_consumer(main);
}

std::size_t ErrorQueueConsumer::window() const {
    constexpr std::size_t unlimited = 2'000;  // what a quorum queue hands out at most without a prefetch
    std::size_t window = 0;
    for (const auto& [channel, consuming] : consuming_) {
        const std::size_t each = consuming.prefetch == 0 ? unlimited : consuming.prefetch;
        window += each * std::max<std::size_t>(consuming.tags.size(), 1);
    }
    return window;
}

std::optional<std::size_t> ErrorQueueConsumer::largest_window() const {
    const std::uint16_t prefetch = main_prefetch();
    if (prefetch == 0) return std::nullopt;
    return prefetch * (most_further_consumers + 1) + ConsumingChannels::most_spares;
}

// ── When nothing comes ──────────────────────────────────────────────────────────────────────────────────────────

/// Before 3.10 a consumer of a quorum queue cannot leave without second copies; and while one message after the other
/// is tried, others beside it would hide the one that cannot be handed over.
void ErrorQueueConsumer::look_at_channels(bool read_all) {
    if (!numbered_ && watch_.delivered_at() == now_.steady) channels_.delivered(only_channel);
    channels_.tick(now_.steady, session_.features.clean_cancel && !session_.trial.going_on(), read_all);
    if (channels_.one_at_a_time() != one_at_a_time_) {
        one_at_a_time_ = channels_.one_at_a_time();
        one_at_a_time_ ? session_.observer.delivery_stuck(explain_stuck_channel(settings_->policy.error_queue))
                       : session_.observer.delivery_free();
    }
    if (!leaving_ && !broker_.blocked && channels_.connection_ends())
        throw Error(Error::Kind::head_blocks_channel, explain_ending_connection(settings_->policy.error_queue));
    tell_silence();
}

void ErrorQueueConsumer::watch_error_queue(bool read_all) {
    const bool waited = probe_.waits();
    const auto result = probe_.turn(now_.steady);
    if (probe_.waits() && !waited) watch_.probing(now_.steady);
    if (result) watch_.probed(*result, now_.steady);
    watch_.tick(now_.steady, {.look = !broker_.blocked, .probe = may_probe(), .has_room = read_all && has_room()});
    tell_not_asked();
    if (watch_.state() == ErrorQueueWatch::State::consumer_gone)
        throw Error(Error::Kind::lost, explain_no_consumer(settings_->policy.error_queue));
}

/// Before 3.10 a consumer could not leave.
bool ErrorQueueConsumer::may_probe() const {
    return settings_->policy.error_queue_type == core::QueueType::quorum && session_.features.clean_cancel &&
           !session_.trial.going_on() && main_answers();
}

/// For one more message on the main channel, if all that the broker has sent has been read.
bool ErrorQueueConsumer::has_room() const {
    if (!channels_.main()) return false;
    const Consuming& main = consuming_.at(*channels_.main());
    const std::size_t open = numbered_ ? session_.numbers.open(*channels_.main()).messages : relay_->open_deliveries();
    return main.prefetch == 0 || open < main.prefetch * main.tags.size();
}

void ErrorQueueConsumer::look() {
    const auto answer = [this, asked_at = now_.steady, made = consumers_made_](const Declarer::Outcome& outcome) {
        looked(outcome, asked_at, made);
    };
    session_.declarer.submit(Declarer::CheckQueue{settings_->policy.error_queue}, answer);
}

/// A broker that has blocked us meanwhile has read nothing: then its silence tells nothing.
void ErrorQueueConsumer::looked(const Declarer::Outcome& outcome, core::SteadyTime asked_at,
                                std::size_t consumers_made) {
    using Looked = ErrorQueueWatch::Looked;
    const bool was_blocked = broker_.blocked || broker_.unblocked_at >= asked_at;
    const Looked answer = !outcome.unanswered ? Looked::answered : was_blocked ? Looked::unknown : Looked::silent;
    const bool unknown = channels_.main() && !channels_.knows_consumers(*channels_.main());
    const bool renewed = unknown || consumers_made != consumers_made_;  // for a moment there was none
    const bool counted = outcome.result == Declarer::Result::done && !renewed;
    watch_.looked(answer, counted ? std::optional<std::uint64_t>{outcome.counts.consumers} : std::nullopt, now_.steady);
}

void ErrorQueueConsumer::tell_not_asked() {
    if (watch_.cannot_probe() == cannot_probe_) return;
    cannot_probe_ = watch_.cannot_probe();
    if (!cannot_probe_) return session_.observer.error_queue_asked();
    session_.observer.error_queue_not_asked(
        explain_error_queue_not_asked(settings_->policy.error_queue, probe_.why_unknown()));
}

void ErrorQueueConsumer::tell_silence() {
    const std::string& queue = settings_->policy.error_queue;
    const ErrorQueueWatch::State state = watch_.state();
    std::string silence;
    if (state == ErrorQueueWatch::State::hangs) silence = explain_silent_error_queue(queue);
    if (state == ErrorQueueWatch::State::leaderless) silence = explain_leaderless_error_queue(queue);
    if (silence.empty() && reported_ && channels_.all_silent())
        silence = explain_busy_channel(queue, ConsumingChannels::all_silent_after);
    // The first story stays, unless it was not the whole one.
    const bool goes_on = !silence.empty() && !silence_.empty() && state != ErrorQueueWatch::State::leaderless;
    if (silence == silence_ || goes_on) return;
    silence_ = silence;
    if (!silence_.empty()) return session_.observer.error_queue_silent(silence_);
    session_.observer.error_queue_answers();
    renew();
}

}  // namespace retryd::amqp
