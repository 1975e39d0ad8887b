#include "amqp/broker_session.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "amqp/connection.h"
#include "amqp/empty_answers.h"
#include "amqp/error.h"
#include "amqp/error_queue_consumer.h"
#include "amqp/refusal.h"
#include "amqp/source_consumer.h"
#include "amqp/timeouts.h"
#include "core/duration.h"
#include "core/fingerprint.h"
#include "core/reply_code.h"
#include "core/safe_text.h"

namespace retryd::amqp {
namespace {

/// At most so many deliveries are handled before confirms and signals get their turn.
constexpr std::size_t deliveries_a_turn = 128;
/// A small part of the shortest heartbeat, which is a second.
constexpr core::Milliseconds read_all_after{200};
constexpr core::Milliseconds between_looks_aside{20};

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

/// As the numbers of deliveries know channels.
constexpr std::size_t of_first_source = ConsumingChannels::end_of_numbers;

}  // namespace

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
            Declarer::CheckQueue{consumer.queue()},
            [&consumer](const Declarer::Outcome& outcome) { consumer.counted(ready_where_we_consume(outcome)); });
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
            throw Error(Error::Kind::refused, explain_closed_channel("publishing", closed.text));
        }
        session_.relay_->on_publishing_closed(index_of(closed.channel), closed.code, closed.text, session_.now_);
    }

  private:
    relay::ChannelIndex index_of(Channel channel) const { return channel - session_.first_publishing_channel(); }

    BrokerSession& session_;
};

BrokerSession::BrokerSession(std::shared_ptr<const config::Settings> settings, const config::Endpoint& endpoint,
                             BrokerSessionObserver& observer, relay::HeadTrial& trial, SourceMemories& memories,
                             ConnectionClosingSteps& connection_closing_steps, ForbiddenDeclares& forbidden_declares,
                             MakeAskLimitEffect ask_limit_effect)
    : settings_(std::move(settings)),
      observer_(observer),
      trial_(trial),
      consuming_(Connection::open(endpoint, settings_->broker, "retryd consume")),
      publishing_(Connection::open(endpoint, settings_->broker, "retryd publish")),
      numbers_(of_first_source),
      connection_closing_steps_(connection_closing_steps),
      aside_(endpoint, settings_->broker),
      declarer_(*publishing_, first_declare_channel, static_cast<Channel>(first_publishing_channel() - 1)),
      topology_({declarer_, observer_, forbidden_declares, core::features_of(version()), [this] { consume_once(); },
                 [this](bool limited) { trial_.queue_is_limited(limited); },
                 [this](bool ours) { trial_.queue_dead_letters(ours); }},
                settings_),
      consumer_(std::make_unique<ErrorQueueConsumer>(
          ErrorQueueConsumer::Session{endpoint, *consuming_, declarer_, observer_, trial_, numbers_,
                                      core::features_of(version()), [this] { topology_.consuming(); }},
          settings_, !settings_->policy.sources.empty())) {
    delegate_closing_steps(aside_, connection_closing_steps_, endpoint.vhost, declarer_);
    consuming_->receive_large_headers();
    if (settings_->policy.sources.empty()) return;
    failures_ = std::make_unique<FailureEvents>(*this);
    sources_ =
        std::make_unique<SourceConsumers>(*settings_, endpoint, std::move(ask_limit_effect), memories, *failures_);
}

BrokerSession::~BrokerSession() = default;

core::BrokerVersion BrokerSession::version() const {
    return publishing_->version();
}

std::optional<core::SteadyTime> BrokerSession::next_tick() const {
    std::optional<core::SteadyTime> next = declarer_.next_tick();
    const auto consider = [&](std::optional<core::SteadyTime> due) {
        if (due) next = std::min(next.value_or(*due), *due);
    };
    consider(consumer_->next_tick());
    if (sources_ != nullptr) consider(sources_->next_tick());
    if (!aside_.idle()) consider(now_.steady + between_looks_aside);
    return next;
}

std::array<int, 2> BrokerSession::sockets() const {
    return {consuming_->fd(), publishing_->fd()};
}

void BrokerSession::start(relay::Relay& relay) {
    relay_ = &relay;
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
    if (consumer_->began() || leaving_) return;
    consumer_->consume(*relay_);
    if (sources_ != nullptr) sources_->start();
}

void BrokerSession::adopt(std::shared_ptr<const config::Settings> settings) {
    settings_ = std::move(settings);
    topology_.adopt(settings_);
    consumer_->adopt(settings_);
}

bool BrokerSession::has_undeliverable() const {
    return consumer_->began() && consuming_->ended_by_message();
}

bool BrokerSession::ended_over_step() const {
    return publishing_->closed_with() == core::reply_code::internal_error && !declarer_.asked().empty();
}

bool BrokerSession::set_aside_ending_steps() {
    if (!ended_over_step()) return false;
    return connection_closing_steps_.add_asked(declarer_);
}

bool BrokerSession::consume_unanswered() const {
    return consuming_->consume_unanswered();
}

bool BrokerSession::consumed() const {
    return consumer_->consumed();
}

std::size_t BrokerSession::window() const {
    return consumer_->window();
}

bool BrokerSession::delivers_singly() const {
    return consumer_->delivers_singly();
}

void BrokerSession::consume_sources(const std::vector<FoundSource>& found) {
    if (sources_ != nullptr && !leaving_) sources_->found(found);
}

void BrokerSession::stop_consuming() {
    leaving_ = true;
    topology_.stop();
    consumer_->stop();
    if (sources_ != nullptr) sources_->stop();
}

void BrokerSession::close(core::Milliseconds patience) noexcept {
    const core::Milliseconds each = patience / (sources_ ? 4 : 3);
    consuming_->close(each);
    consumer_->close(each);
    publishing_->close(each);
    if (sources_ != nullptr) sources_->close(each);
}

// ── A turn of the loop ──────────────────────────────────────────────────────────────────────────────────────────

bool BrokerSession::turn(const core::Now& now) {
    now_ = now;
    topology_.begin_turn(now);
    consumer_->begin_turn(now);
    const bool more = drain();
    require_answers();
    topology_.look_again();
    consumer_->turn({blocked_, unblocked_at_}, read_all_);
    aside_.turn();
    declarer_.on_tick(now_.steady);
    return more;
}

/// A connection may end because of a message that was published. What the broker refuses for another reason, a missing
/// permission most of all, says nothing about any of them; nor does a message that it cannot hand over, or an
/// error queue without a leader.
bool BrokerSession::drain() {
    try {
        return drain_both();
    } catch (const Error& error) {
        // Beside publications it may as well have been one of them: what is alone is told apart the next time.
        const bool over_step_alone = ended_over_step() && relay_->in_flight() == 0;
        if (has_undeliverable() || consume_unanswered() || over_step_alone) throw;
        if (error.provoked() || error.kind() == Error::Kind::lost || error.kind() == Error::Kind::cancelled)
            relay_->on_connection_lost({error.provoked(), was_blocked(), publishing_->stalled(), error.words()});
        throw;
    }
}

bool BrokerSession::drain_both() {
    PublisherEvents publisher(*this);
    const Readable readable = take_readable();
    const bool more = readable.publishing && publishing_->drain(publisher, deliveries_a_turn);
    if (relay_->paused() && !blocked_ && publishing_->flush()) relay_->resume(now_);
    read_all_ = true;
    const bool more_deliveries = readable.consuming && drain_deliveries();
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
/// but at least every 200 ms, for that serves its heartbeats. Without a wait() before, that is not known.
BrokerSession::Readable BrokerSession::take_readable() {
    const Readable seen = std::exchange(readable_, {});
    if (now_.steady < read_all_due_) return seen;
    read_all_due_ = now_.steady + read_all_after;
    return {};
}

/// While too many deliveries are paused nothing more is read: what the broker sends then waits in the socket.
bool BrokerSession::drain_deliveries() {
    read_all_ = false;
    for (std::size_t taken = 0; taken < deliveries_a_turn; ++taken) {
        reading_stopped_ = saturated();
        const bool more = consuming_->drain(consumer_->events(), reading_stopped_ ? 0 : 1);
        if (reading_stopped_) return false;
        read_all_ = !more;
        if (!more) return false;
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
    return no_room() || waiting - std::min(waiting, numbers_.bytes_of_sources()) >= settings_->prefetch.body_bytes;
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
        pollfd{consumer_->further_fd(), POLLIN, 0},
    };
    if (sources_ != nullptr) sources_->add_to(polled_);
    if (poll(polled_.data(), polled_.size(), static_cast<int>(time.count())) <= 0) return;
    readable_ = {reading_stopped_ || polled_[0].revents != 0, polled_[1].revents != 0};
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
    const auto window = consumer_->largest_window();
    const std::size_t windows = 1 + (sources_ == nullptr ? 0 : sources_->size());
    return window ? *window * windows : std::numeric_limits<std::size_t>::max();
}

void BrokerSession::ack(core::DeliveryTag tag, bool multiple) {
    last_ack_ = now_.steady;
    if (!consumer_->numbered()) return consumer_->ack(ErrorQueueConsumer::of_only_channel(tag), multiple);
    const auto ack_one = [&](const DeliveryNumbers::Origin& origin, bool many) {
        if (origin.channel < of_first_source) return consumer_->ack(origin, many);
        sources_->at(origin.channel - of_first_source).ack(origin.tag, many);
    };
    if (!multiple) {
        if (const auto origin = numbers_.settle(tag)) ack_one(*origin, false);
        return;
    }
    for (const DeliveryNumbers::Ack& each : numbers_.settle_up_to(tag))
        ack_one(each.origin, each.multiple);
}

void BrokerSession::requeue(core::DeliveryTag tag) {
    if (!consumer_->numbered()) return consumer_->requeue(ErrorQueueConsumer::of_only_channel(tag));
    const auto origin = numbers_.settle(tag);
    if (!origin) return;
    if (origin->channel < of_first_source) return consumer_->requeue(*origin);
    sources_->at(origin->channel - of_first_source).requeue(origin->tag);
}

void BrokerSession::dead_letter(core::DeliveryTag tag) {
    if (!consumer_->numbered()) return consumer_->reject(ErrorQueueConsumer::of_only_channel(tag));
    if (const auto origin = numbers_.settle(tag)) consumer_->reject(*origin);
}

bool BrokerSession::keep(core::DeliveryTag tag, std::string_view why) {
    if (sources_ == nullptr || numbers_.is_of_error_queue(tag)) return false;
    if (const auto origin = numbers_.keep(tag)) sources_->at(origin->channel - of_first_source).keep(why);
    return true;
}

}  // namespace retryd::amqp
