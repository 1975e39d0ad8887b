#include "amqp/broker_session.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "amqp/source_consumers.h"
#include "amqp/timeouts.h"
#include "core/duration.h"
#include "core/fingerprint.h"
#include "core/reply_code.h"
#include "core/safe_text.h"

namespace retryd::amqp {
namespace {

/// At most so many deliveries are handled before confirms and signals get their turn.
constexpr std::size_t deliveries_a_turn = 128;
/// Each with a prefetch of its own.
constexpr std::size_t most_further_consumers = 8;
/// A small part of the shortest heartbeat, which is a second.
constexpr core::Milliseconds read_all_after{200};
/// The error queue may hang without a word. With declare_timeout it is known within a minute.
constexpr core::Milliseconds look_again_after{25'000};
/// The channel that consumes has so long to answer.
constexpr core::Milliseconds channel_silent_after{15'000};
/// While a quorum queue has no leader for a moment, the broker counts no consumers.
constexpr core::Milliseconds look_twice_after{5'000};

/// Of a publication: a size or property that the broker does not take (406, 311), an exchange that is not there (404)
/// or may not be published to (403). Without a permission for the default exchange every publication would meet it
/// again.
bool is_about_one_publication(const ChannelClosed& closed) {
    if (closed.code == core::reply_code::access_refused) {
        return closed.text.find("exchange '") != std::string::npos &&
               closed.text.find("exchange 'amq.default'") == std::string::npos;
    }
    return closed.code == core::reply_code::content_too_large || closed.code == core::reply_code::not_found ||
           closed.code == core::reply_code::precondition_failed;
}

/// As the numbers of deliveries know connections.
constexpr std::size_t of_error_queue = 0;
constexpr std::size_t of_first_source = 1;

}  // namespace

/// Events of the connection that consumes.
class BrokerSession::ConsumerEvents : public Events {
  public:
    explicit ConsumerEvents(BrokerSession& session) : session_(session) {}

    void on_delivery(const core::Delivery& delivery) override {
        session_.delivered_at_ = session_.now_.steady;
        session_.trial_.passed(session_.now_.steady);
        if (session_.sources_ == nullptr) return session_.relay_->on_delivery(delivery, session_.now_);
        core::Delivery numbered = delivery;
        numbered.tag = session_.numbers_.add({of_error_queue, delivery.tag}, delivery.message.body.size());
        session_.relay_->on_delivery(numbered, session_.now_);
    }
    void on_unreadable_delivery(core::DeliveryTag tag) override {
        session_.trial_.passed(session_.now_.steady);
        const core::DeliveryTag number = session_.sources_ ? session_.numbers_.add({of_error_queue, tag}, 0) : tag;
        session_.relay_->on_unreadable_delivery(number, session_.now_);
    }
    void on_qos_ok(Channel) override { session_.note_channel(false); }
    void on_consume_ok() override {
        if (!session_.consuming_reported_) session_.observer_.consuming();
        session_.consuming_reported_ = true;
        session_.topology_.consuming();
        session_.look_due_ = session_.now_.steady + look_again_after;
        session_.consume_answered_ = true;
        session_.trial_.consuming(session_.now_.steady);
        session_.renew_consumer();
    }
    void on_consumer_cancelled() override {
        throw Error(Error::Kind::cancelled,
                    "the broker cancelled the consumer of the error queue " +
                        core::quoted(session_.settings_->policy.error_queue) +
                        ": the queue was deleted, its node went away, or a message was held for longer than "
                        "consumer_timeout allows (RabbitMQ 4.3)");
    }
    void on_channel_closed(const ChannelClosed& closed) override {
        throw Error(Error::Kind::refused, "the broker closed the consuming channel: " + closed.text);
    }

  private:
    BrokerSession& session_;
};

/// Events of the connections that consume sources: what comes from there goes on as if it came from the error queue.
class BrokerSession::FailureEvents : public SourceEvents {
  public:
    explicit FailureEvents(BrokerSession& session) : session_(session) {}

    void on_source_delivery(std::size_t source, const core::Delivery& delivery) override {
        const SourceConsumers& all = *session_.sources_;
        const core::Source& from = session_.settings_->policy.sources[all.place_in_policy(source)];
        core::Delivery read =
            core::as_dead_lettered(delivery, from, all.at(source).queue(), session_.now_.wall, session_.scratch_);
        read.tag = session_.numbers_.add({source + of_first_source, delivery.tag}, delivery.message.body.size());
        session_.relay_->on_delivery(read, session_.now_);
    }
    void on_unreadable_source_delivery(std::size_t source, core::DeliveryTag tag) override {
        session_.relay_->on_unreadable_delivery(session_.numbers_.add({source + of_first_source, tag}, 0),
                                                session_.now_);
    }
    void on_source_ended(std::size_t source) override { session_.numbers_.forget(source + of_first_source); }
    void on_source_trouble(std::size_t source, SourceTrouble trouble, std::string_view note) override {
        session_.observer_.source_trouble(session_.sources_->at(source).queue(), trouble, note);
    }
    void on_source_works(std::size_t source, SourceTrouble trouble, std::string_view note) override {
        session_.observer_.source_works(session_.sources_->at(source).queue(), trouble, note);
    }
    bool may_take(std::size_t source) const override {
        return !session_.no_room() &&
               session_.numbers_.open(source + of_first_source).bytes < session_.settings_->prefetch.body_bytes;
    }
    bool is_idle(std::size_t source) const override {
        return session_.numbers_.open(source + of_first_source).messages == 0;
    }
    void count_source(std::size_t source) override {
        SourceConsumer& consumer = session_.sources_->at(source);
        session_.declarer_.submit(
            Declarer::CheckQueue{consumer.queue()}, [&consumer](const Declarer::Outcome& outcome) {
                const bool done = outcome.result == Declarer::Result::done;
                consumer.counted(done ? std::optional<std::uint64_t>{outcome.counts.messages} : std::nullopt);
            });
    }

  private:
    BrokerSession& session_;
};

/// Events of the connection that publishes and declares.
class BrokerSession::PublisherEvents : public Events {
  public:
    explicit PublisherEvents(BrokerSession& session) : session_(session) {}

    void on_confirm(Channel channel, relay::PublishSeq seq, bool multiple, bool acked) override {
        session_.heard_at_ = session_.now_.steady;
        session_.relay_->on_confirm(index_of(channel), seq, multiple, acked, session_.now_);
    }
    void on_returned(const Returned& returned) override {
        session_.relay_->on_returned(index_of(returned.channel), returned.exchange, returned.routing_key,
                                     session_.now_);
    }
    void on_blocked(std::string_view reason) override {
        session_.blocked_ = true;
        session_.topology_.blocked(true);
        session_.relay_->pause();
        session_.observer_.blocked(reason);
    }
    void on_unblocked() override {
        session_.blocked_ = false;
        session_.topology_.blocked(false);
        session_.observer_.unblocked();
        session_.relay_->resume(session_.now_);
    }
    void on_channel_open(Channel channel) override { session_.declarer_.on_channel_open(channel); }
    void on_channel_left(Channel channel) override {
        if (session_.declarer_.owns(channel)) return session_.declarer_.on_channel_left(channel);
        session_.relay_->on_publishing_left(index_of(channel));
    }
    void on_declared(Channel channel, const QueueCounts& counts) override {
        session_.heard_at_ = session_.now_.steady;
        session_.declarer_.on_declared(channel, counts);
    }
    void on_channel_closed(const ChannelClosed& closed) override {
        if (session_.declarer_.owns(closed.channel)) return session_.declarer_.on_channel_closed(closed);
        if (!is_about_one_publication(closed)) {
            throw Error(Error::Kind::refused, "the broker closed the publishing channel: " + closed.text);
        }
        session_.relay_->on_publishing_closed(index_of(closed.channel), closed.code, closed.text, session_.now_);
    }

  private:
    relay::ChannelIndex index_of(Channel channel) const { return channel - session_.first_publishing_channel(); }

    BrokerSession& session_;
};

BrokerSession::BrokerSession(std::shared_ptr<const config::Settings> settings, const config::Endpoint& endpoint,
                             BrokerSessionObserver& observer, relay::HeadTrial& trial, SourceMemories& memories,
                             AskAtLimitNow ask_at_limit)
    : settings_(std::move(settings)),
      observer_(observer),
      trial_(trial),
      consuming_(Connection::open(endpoint, settings_->broker, "retryd consume")),
      publishing_(Connection::open(endpoint, settings_->broker, "retryd publish")),
      declarer_(*publishing_, first_declare_channel, static_cast<Channel>(first_publishing_channel() - 1)),
      topology_({declarer_, observer_, core::features_of(version()), [this] { consume_once(); },
                 [this](bool limited) { trial_.queue_is_limited(limited); }},
                settings_) {
    consuming_->receive_large_headers();
    if (settings_->policy.sources.empty()) return;
    failures_ = std::make_unique<FailureEvents>(*this);
    sources_ = std::make_unique<SourceConsumers>(*settings_, endpoint, std::move(ask_at_limit), memories, *failures_);
}

BrokerSession::~BrokerSession() = default;

core::BrokerVersion BrokerSession::version() const {
    return publishing_->version();
}

std::optional<core::SteadyTime> BrokerSession::next_tick() const {
    const auto declares = declarer_.next_tick();
    const auto sources = sources_ == nullptr ? std::nullopt : sources_->next_tick();
    return declares && sources ? std::min(*declares, *sources) : declares ? declares : sources;
}

std::array<int, 2> BrokerSession::sockets() const {
    return {consuming_->fd(), publishing_->fd()};
}

void BrokerSession::start(relay::Relay& relay) {
    relay_ = &relay;
    consuming_->open_channel(consume_channel);
    topology_.start(relay);
}

/// Enough for as many targets at once: one that is silent keeps its channel.
std::size_t BrokerSession::publishing_channels() const {
    constexpr std::size_t most = 1'000;
    constexpr std::size_t fewest = 16;
    const std::size_t allowed = publishing_->last_channel();
    const std::size_t first = first_publishing_channel();
    if (allowed < first + fewest) {
        throw Error(Error::Kind::refused, "the broker allows " + std::to_string(allowed) +
                                              " channels for each connection (channel_max), and retryd needs " +
                                              std::to_string(first + fewest));
    }
    return std::min(most, allowed - first);
}

Channel BrokerSession::first_publishing_channel() const {
    constexpr Channel few = 8;
    constexpr Channel many = 64;
    return first_declare_channel + (publishing_->last_channel() >= 8 * many ? many : few);
}

// ── Consuming ───────────────────────────────────────────────────────────────────────────────────────────────────

void BrokerSession::consume_once() {
    if (!consumer_tag_.empty() || leaving_) return;
    consume();
    if (sources_ != nullptr) sources_->start();
}

/// A prefetch counts for the consumers that come after it.
void BrokerSession::consume() {
    consumer_tag_ = core::consumer_tag(settings_->policy);
    consumer_prefetch_ = trial_.prefetch(settings_->prefetch.messages);
    consume_answered_ = false;
    consuming_->qos(consume_channel, consumer_prefetch_);
    add_consumer();
}

/// None has the tag of a former one of this channel: as long as what that one got is unsettled, RabbitMQ 3.10 takes
/// them for the same, and closes the connection with its next delivery (541; function_clause in rabbit_channel, seen on
/// 3.10.8).
void BrokerSession::add_consumer() {
    const std::string number = ++consumers_made_ == 1 ? "" : "-" + std::to_string(consumers_made_);
    consumers_.push_back(consumer_tag_ + number);
    consuming_->consume(consume_channel, settings_->policy.error_queue, consumers_.back());
}

/// What stays unacked for long, for targets that do not answer, is lost to the window of the others: another consumer
/// makes up for it. Not at once where one message is tried after the other: what is unacked beside the next one that
/// cannot be handed over comes home once more, and a broker that is slow for a moment is not worth that.
void BrokerSession::consume_more() {
    constexpr core::Milliseconds between{500};
    constexpr core::Milliseconds patience_in_trial{5'000};
    if (!consume_answered_ || leaving_ || now_.steady < more_due_) return;
    if (trial_.going_on()) {
        const auto since = relay_->unsettled_since();
        if (!since || now_.steady - *since < patience_in_trial) return;
    }
    if (consumers_.size() > most_further_consumers) return;
    const std::size_t window = consumer_prefetch_ * consumers_.size();
    if (consumer_prefetch_ == 0 || 2 * relay_->held_up() < window) return;
    more_due_ = now_.steady + between;
    add_consumer();
}

void BrokerSession::cancel_consumers() {
    for (const std::string& tag : consumers_)
        consuming_->cancel(consume_channel, tag);
    consumers_.clear();
}

void BrokerSession::adopt(std::shared_ptr<const config::Settings> settings) {
    settings_ = std::move(settings);
    topology_.adopt(settings_);
    renew_consumer();
}

/// Replaces the consumer if its prefetch or its tag has changed. Waits for basic.consume-ok first, which leads here
/// again: RabbitMQ 3.10 closes the connection (541) if basic.cancel overtakes basic.consume within the broker.
void BrokerSession::renew_consumer() {
    if (!consume_answered_ || leaving_ || !core::features_of(version()).clean_cancel) return;
    const bool same_prefetch = consumer_prefetch_ == trial_.prefetch(settings_->prefetch.messages);
    if (same_prefetch && consumer_tag_ == core::consumer_tag(settings_->policy)) return;
    // Deliveries of the former consumer stay valid: their tags are the channel's.
    cancel_consumers();
    consume();
}

void BrokerSession::look_at_trial() {
    if (trial_.asks_for_count(now_.steady, !relay_->unsettled_since())) {
        declarer_.submit(Declarer::CheckQueue{settings_->policy.error_queue}, [this](const Declarer::Outcome& outcome) {
            const bool done = outcome.result == Declarer::Result::done;
            trial_.counted(done ? std::optional<std::uint64_t>{outcome.counts.messages} : std::nullopt, now_.steady);
        });
    }
    if (trial_.on_tick(now_.steady)) end_trial();
}

/// What was suspect has been handed over: from now on as many at once as configured.
void BrokerSession::end_trial() {
    observer_.trial_over();
    if (!consume_answered_ || leaving_) return;
    if (core::features_of(version()).clean_cancel) return renew_consumer();
    consumer_prefetch_ = settings_->prefetch.messages;
    consuming_->qos(consume_channel, consumer_prefetch_);
    add_consumer();
}

bool BrokerSession::has_undeliverable() const {
    return !consumer_tag_.empty() && consuming_->closed_with() == core::reply_code::internal_error;
}

std::size_t BrokerSession::window() const {
    constexpr std::size_t unlimited = 2'000;  // what a quorum queue hands out at most without a prefetch
    return (consumer_prefetch_ == 0 ? unlimited : consumer_prefetch_) * std::max<std::size_t>(consumers_.size(), 1);
}

void BrokerSession::consume_sources(const std::vector<FoundSource>& found) {
    if (sources_ != nullptr && !leaving_) sources_->found(found);
}

void BrokerSession::stop_consuming() {
    leaving_ = true;
    topology_.stop();
    cancel_consumers();
    if (sources_ != nullptr) sources_->stop();
}

void BrokerSession::close(core::Milliseconds patience) noexcept {
    const core::Milliseconds each = patience / (sources_ ? 3 : 2);
    consuming_->close(each);
    publishing_->close(each);
    if (sources_ != nullptr) sources_->close(each);
}

// ── A turn of the loop ──────────────────────────────────────────────────────────────────────────────────────────

bool BrokerSession::turn(const core::Now& now) {
    now_ = now;
    topology_.begin_turn(now);
    const bool more = drain();
    require_answers();
    topology_.look_again();
    look_at_error_queue();
    ask_consuming_channel();
    declarer_.on_tick(now_.steady);
    consume_more();
    look_at_trial();
    return more;
}

/// A connection may end because of a message that was published. What the broker refuses for another reason, a missing
/// permission most of all, says nothing about any of them; nor does a message that it cannot hand over.
bool BrokerSession::drain() {
    try {
        return drain_both();
    } catch (const Error& error) {
        if (has_undeliverable()) throw;
        if (error.provoked() || error.kind() == Error::Kind::lost || error.kind() == Error::Kind::cancelled)
            relay_->on_connection_lost({error.provoked(), was_blocked(), publishing_->stalled(), error.words()});
        throw;
    }
}

bool BrokerSession::drain_both() {
    PublisherEvents publisher(*this);
    ConsumerEvents consumer(*this);
    const Readable readable = take_readable();
    const bool more = readable.publishing && publishing_->drain(publisher, deliveries_a_turn);
    if (relay_->paused() && !blocked_ && publishing_->flush()) relay_->resume(now_);
    const bool more_deliveries = readable.consuming && drain_deliveries(consumer);
    const bool more_failures = sources_ != nullptr && sources_->turn(now_);
    if (publishing_->gathered()) publishing_->flush();
    return more_deliveries || more || more_failures;
}

/// Or has been, since what waits for a confirm was sent.
bool BrokerSession::was_blocked() const {
    const auto sent = relay_->unconfirmed_since();
    return blocked_ || (sent && unblocked_at_ >= *sent);
}

/// Reading in vain costs two calls into the kernel, so a connection is read only if wait() has seen something on it;
/// but at least every 200 ms, for that serves its heartbeats. Without a wait() before, nobody knows.
BrokerSession::Readable BrokerSession::take_readable() {
    const Readable seen = std::exchange(readable_, {});
    if (now_.steady < read_all_due_) return seen;
    read_all_due_ = now_.steady + read_all_after;
    return {};
}

/// While too many deliveries are paused nothing more is read: what the broker sends then waits in the socket.
bool BrokerSession::drain_deliveries(Events& events) {
    for (std::size_t taken = 0; taken < deliveries_a_turn; ++taken) {
        reading_stopped_ = saturated();
        if (!consuming_->drain(events, reading_stopped_ ? 0 : 1) || reading_stopped_) return false;
    }
    return true;
}

/// The publishing socket is full for a moment: what came in would have to be copied to wait.
bool BrokerSession::no_room() const {
    return relay_->paused() && !blocked_;
}

/// What sources have brought does not count: each has a limit of its own.
bool BrokerSession::saturated() const {
    const std::size_t waiting = relay_->waiting_bytes();
    return no_room() || waiting - std::min(waiting, numbers_.bytes_beside_first()) >= settings_->prefetch.body_bytes;
}

/// A queue without a majority does not confirm, not even with a nack: that is the matter of its target alone. But a
/// broker that answers nothing at all, though it is asked every minute (SessionTopology::look_again), is left.
void BrokerSession::require_answers() {
    const auto sent = relay_->unconfirmed_since();
    if (blocked_) unblocked_at_ = now_.steady;
    if (!sent || blocked_) heard_at_ = now_.steady;
    if (now_.steady - heard_at_ < look_into_confirms_after) return;
    const auto since = progress_.waits_since(*sent, now_.steady, {publishing_->queued(), publishing_->taken()});
    const core::Milliseconds patience = progress_.under_way() ? confirm_timeout : answers_timeout;
    if (now_.steady - std::max(since, heard_at_) < patience) return;
    const std::string time = core::format_duration(patience);
    if (progress_.under_way()) {
        throw Error(Error::Kind::lost, "the broker has taken nothing of what is being sent to it for " + time +
                                           ", and has not said that it takes no messages");
    }
    throw Error(Error::Kind::lost,
                "the broker has confirmed none of " + std::to_string(relay_->in_flight()) + " messages for " + time +
                    ", nor answered anything else: a node that hangs, or a disk that is far too slow");
}

/// A connection on which nothing is to be sent is not asked for room: it has some, and poll() would not wait.
bool BrokerSession::wants_room() const {
    return no_room() || publishing_->gathered();
}

void BrokerSession::wait(int wake_fd, core::Milliseconds time) {
    if (reading_stopped_ && !saturated()) time = core::Milliseconds::zero();
    const auto events = [](bool read, bool write) {
        return static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0));
    };
    const bool acks_left = consuming_->gathered();
    polled_ = {
        pollfd{saturated() && !acks_left ? -1 : consuming_->fd(), events(!saturated(), acks_left), 0},
        pollfd{publishing_->fd(), events(true, wants_room()), 0},
        pollfd{wake_fd, POLLIN, 0},
    };
    if (sources_ != nullptr) sources_->add_to(polled_);
    if (poll(polled_.data(), polled_.size(), static_cast<int>(time.count())) <= 0) return;
    readable_ = {reading_stopped_ || polled_[0].revents != 0, polled_[1].revents != 0};
}

// ── The error queue ─────────────────────────────────────────────────────────────────────────────────────────────

/// It may hang, and then nothing comes from it: that looks as if no message were ever rejected.
void BrokerSession::look_at_error_queue() {
    if (!consuming_reported_ || leaving_ || blocked_ || look_under_way_ || now_.steady < look_due_) return;
    look_due_ = now_.steady + look_again_after;
    look_under_way_ = true;
    const auto answer = [this, asked_at = now_.steady, made = consumers_made_](const Declarer::Outcome& outcome) {
        look_under_way_ = false;
        note_error_queue(outcome.unanswered, asked_at);
        require_consumer(outcome, asked_at, made);
    };
    declarer_.submit(Declarer::CheckQueue{settings_->policy.error_queue}, answer);
}

/// A broker that has blocked us meanwhile has read nothing: then nobody knows. And what delivers does not hang.
void BrokerSession::note_error_queue(bool silent, core::SteadyTime asked_at) {
    const bool nobody_knows = blocked_ || unblocked_at_ >= asked_at || delivered_at_ > asked_at;
    if (silent == error_queue_silent_ || (silent && nobody_knows)) return;
    error_queue_silent_ = silent;
    if (channel_silent_) return;
    silent ? observer_.error_queue_silent(explain_silent_error_queue(settings_->policy.error_queue))
           : observer_.error_queue_answers();
}

/// The broker sends what a channel gets by a process of its own, which takes minutes for a message whose headers nest
/// tens of thousands of levels deep (4.0.5 and 4.3.6, tried): all that is behind it waits, and so does the answer to
/// basic.qos. To say the same prefetch again changes nothing.
void BrokerSession::ask_consuming_channel() {
    constexpr core::Milliseconds asked_every{5'000};
    if (!consuming_reported_ || !consume_answered_ || leaving_) return;
    if (!channel_asked_at_) {
        if (now_.steady < channel_due_) return;
        channel_asked_at_ = now_.steady;
        return consuming_->qos(consume_channel, consumer_prefetch_);
    }
    const bool hears = reading_stopped_ || consuming_->receiving() || delivered_at_ > *channel_asked_at_;
    if (hears) channel_asked_at_ = now_.steady;
    channel_due_ = now_.steady + asked_every;
    if (now_.steady - *channel_asked_at_ > channel_silent_after) note_channel(true);
}

void BrokerSession::note_channel(bool silent) {
    if (!silent) channel_asked_at_.reset();
    if (silent == channel_silent_) return;
    channel_silent_ = silent;
    if (error_queue_silent_) return;
    silent ? observer_.error_queue_silent(explain_busy_channel(settings_->policy.error_queue, channel_silent_after))
           : observer_.error_queue_answers();
}

/// The broker may have taken our consumer away without a word (3.8.9 does, now and then, when the queue is deleted).
/// And of a quorum queue whose leader does not answer it says that it has none (stat/2 in rabbit_quorum_queue.erl, 3.8
/// to 4.3).
void BrokerSession::require_consumer(const Declarer::Outcome& outcome, core::SteadyTime asked_at,
                                     std::size_t consumers_made) {
    const bool renewed = !consume_answered_ || consumers_made != consumers_made_;  // for a moment there was none
    const bool none = outcome.result == Declarer::Result::done && outcome.counts.consumers == 0;
    const bool delivers = delivered_at_ > asked_at - look_twice_after;
    looks_without_consumer_ = none && !renewed && !delivers ? looks_without_consumer_ + 1 : 0;
    if (leaving_ || looks_without_consumer_ == 0) return;
    look_due_ = now_.steady + look_twice_after;
    if (looks_without_consumer_ == 1) return;
    throw Error(Error::Kind::lost, explain_no_consumer(settings_->policy.error_queue));
}

// ── The commands of the relay ───────────────────────────────────────────────────────────────────────────────────

void BrokerSession::open_publishing(relay::ChannelIndex channel) {
    publishing_->open_channel(channel_of(channel));
    publishing_->confirm_select(channel_of(channel));
}

void BrokerSession::close_publishing(relay::ChannelIndex channel) {
    publishing_->close_channel(channel_of(channel));
}

relay::PublishResult BrokerSession::publish(relay::ChannelIndex channel, const core::Publication& publication) {
    if (blocked_) return relay::PublishResult::would_block;
    return publishing_->publish(channel_of(channel), publication);
}

bool BrokerSession::has_received_all() {
    return publishing_->taken() == publishing_->queued();
}

std::size_t BrokerSession::largest_window() const {
    constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
    const std::size_t windows = 1 + (sources_ == nullptr ? 0 : sources_->size());
    return consumer_prefetch_ == 0 ? all : consumer_prefetch_ * (most_further_consumers + 1) * windows;
}

void BrokerSession::ack(core::DeliveryTag tag, bool multiple) {
    last_ack_ = now_.steady;
    if (sources_ == nullptr) return consuming_->ack(consume_channel, tag, multiple);
    const auto ack_one = [&](const DeliveryNumbers::Origin& origin, bool many) {
        if (origin.connection == of_error_queue) return consuming_->ack(consume_channel, origin.tag, many);
        sources_->at(origin.connection - of_first_source).ack(origin.tag, many);
    };
    if (!multiple) {
        if (const auto origin = numbers_.settle(tag)) ack_one(*origin, false);
        return;
    }
    for (const DeliveryNumbers::Ack& each : numbers_.settle_up_to(tag))
        ack_one(each.origin, each.multiple);
}

void BrokerSession::requeue(core::DeliveryTag tag) {
    if (sources_ == nullptr) return consuming_->nack_requeue(consume_channel, tag);
    const auto origin = numbers_.settle(tag);
    if (!origin) return;
    if (origin->connection == of_error_queue) return consuming_->nack_requeue(consume_channel, origin->tag);
    sources_->at(origin->connection - of_first_source).requeue(origin->tag);
}

void BrokerSession::dead_letter(core::DeliveryTag tag) {
    if (sources_ == nullptr) return consuming_->reject(consume_channel, tag);
    if (const auto origin = numbers_.settle(tag)) consuming_->reject(consume_channel, origin->tag);
}

bool BrokerSession::keep(core::DeliveryTag tag, std::string_view why) {
    if (sources_ == nullptr || numbers_.is_of_first(tag)) return false;
    if (const auto origin = numbers_.keep(tag)) sources_->at(origin->connection - of_first_source).keep(why);
    return true;
}

}  // namespace retryd::amqp
