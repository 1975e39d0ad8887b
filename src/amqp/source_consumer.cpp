#include "amqp/source_consumer.h"

#include <algorithm>
#include <utility>

#include "admin/rabbitmqctl.h"
#include "amqp/refusal.h"
#include "core/broker_features.h"
#include "core/names.h"
#include "core/safe_text.h"

namespace retryd::amqp {

namespace {

constexpr Channel source_channel = 1;
constexpr std::size_t source_deliveries_a_turn = 32;
constexpr core::Milliseconds first_pause{500};
constexpr core::Milliseconds longest_pause{60'000};
/// While a thread opens a connection.
constexpr core::Milliseconds looks_apart{20};
/// What was unacked has come again by then.
constexpr core::Milliseconds known_after{10'000};
/// Each with a prefetch of its own: what stays unacked costs us nothing, and the broker keeps it anyway.
constexpr std::size_t most_consumers = 250;
/// Each costs the broker some time, which others pay for.
constexpr core::Milliseconds between_attempts{100};
/// At a time: more than the limit of 20 that a quorum queue has from 4.0 on without being asked. A higher one is
/// reached after some pauses.
constexpr int attempts_at_a_time = 30;
/// So many connections may end over a message before it is known that its queue does not delete it at some limit. The
/// first is that of the whole window, the second tells what was in front of it, the third what was behind it there.
constexpr int ends_in_the_dark = 3;
/// What is left alone.
constexpr core::Milliseconds between_looks{60'000};

}  // namespace

SourceConsumer::SourceConsumer(std::size_t source, std::string queue, const SourceSettings& settings,
                               SourceMemory& memory, SourceEvents& events)
    : source_(source),
      queue_(std::move(queue)),
      settings_(settings),
      events_(events),
      memory_(memory),
      trial_(memory.trial) {}

void SourceConsumer::start() {
    retired_ = false;
    if (!leaving_) due_ = core::SteadyTime{};
}

void SourceConsumer::retire() {
    if (retired_ || opening_ || looking_ || (unavailable_.empty() && !memory_.not_consumed)) return;
    retired_ = true;
    due_.reset();
    if (connection_ != nullptr) connection_->close(core::Milliseconds::zero());
    connection_.reset();
    open_ = false;
    events_.on_source_ended(source_);
    for (const SourceTrouble trouble : {SourceTrouble::unavailable, SourceTrouble::undeliverable})
        report_over(trouble, "the source " + core::quoted(queue_) + " is gone");
}

bool SourceConsumer::turn(core::SteadyTime now) {
    now_ = now;
    try {
        return step();
    } catch (const Error& error) {
        lose(error);
        return false;
    }
}

bool SourceConsumer::step() {
    if (retired_) return false;
    if (!failed_.empty()) throw Error(Error::Kind::lost, std::exchange(failed_, {}));
    if (opening_ && opening_->done()) take_opened();
    if (looking_ && looking_->done()) take_look();
    if (told_to_leave_ && !memory_.not_consumed) resume();
    if (due_ && *due_ <= now_) begin();
    if (connection_ == nullptr) return false;
    const bool take = events_.may_take(source_);
    const bool more = connection_->drain(*this, take ? source_deliveries_a_turn : 0);
    look_at_trial();
    consume_more();
    note_published();
    return more && take;
}

/// A reload has made an end of leaving it alone.
void SourceConsumer::resume() {
    told_to_leave_ = false;
    due_ = now_;
    report_over(SourceTrouble::undeliverable, "the source " + core::quoted(queue_) + " is tried again");
}

std::optional<core::SteadyTime> SourceConsumer::next_tick() const {
    if (opening_ || looking_) return now_ + looks_apart;
    return due_;
}

void SourceConsumer::begin() {
    due_.reset();
    if (leaving_) return;
    if (connection_ != nullptr) return consume();
    told_to_leave_ = false;
    const bool in_the_dark = trial_.going_on() && trial_.ended() >= ends_in_the_dark;
    const bool may_open = std::exchange(may_open_, false);
    memory_.not_consumed || (in_the_dark && !may_open) ? look_at_head() : open();
}

void SourceConsumer::open() {
    opening_ = std::make_unique<Opening>([endpoint = settings_.endpoint, broker = settings_.broker,
                                          name = "retryd (source " + queue_ + ")"](const Opening::GoOn&) {
        return Connection::open(endpoint, broker, name);
    });
}

void SourceConsumer::take_opened() {
    const auto opened = std::move(opening_);
    connection_ = opened->take();
    connection_->receive_large_headers();
    consume();
}

void SourceConsumer::consume() {
    if (leaving_) return;
    if (!std::exchange(open_, true)) {
        connection_->open_channel(source_channel);
        kept_ = 0;
        tags_.clear();
    }
    prefetch_ = trial_.prefetch(settings_.prefetch);
    connection_->qos(source_channel, prefetch_);
    add_consumer();
}

void SourceConsumer::add_consumer() {
    consume_answered_ = false;
    tags_.push_back("retryd-source-" + std::to_string(++consumers_made_));
    connection_->consume(source_channel, queue_, tags_.back());
}

/// What can be published nowhere stays unacked: another consumer makes up for it, before nothing of the window is left
/// for the others.
void SourceConsumer::consume_more() {
    if (!open_ || !consume_answered_ || leaving_ || prefetch_ == 0) return;
    const std::size_t window = prefetch_ * tags_.size();
    if (kept_ + prefetch_ / 2 < window) return;
    if (tags_.size() < most_consumers) return add_consumer();
    if (kept_ >= window) report_standstill();
}

/// What could be published nowhere has come again meanwhile, and could, or somebody has taken it out.
void SourceConsumer::note_published() {
    if (unpublishable_.empty() || kept_ > 0 || !consume_answered_ || now_ - consuming_since_ < known_after) return;
    report_over(SourceTrouble::unpublishable,
                "no message of the source " + core::quoted(queue_) + " is left that cannot be published");
}

// ── What it delivers ────────────────────────────────────────────────────────────────────────────────────────────

void SourceConsumer::on_delivery(const core::Delivery& delivery) {
    trial_.passed(now_);
    events_.on_source_delivery(source_, delivery);
}

void SourceConsumer::on_unreadable_delivery(core::DeliveryTag tag) {
    trial_.passed(now_);
    events_.on_unreadable_source_delivery(source_, tag);
}

void SourceConsumer::on_consume_ok() {
    consume_answered_ = true;
    consuming_since_ = now_;
    trial_.consuming(now_);
    report_over(SourceTrouble::unavailable, "the source " + core::quoted(queue_) + " is consumed again");
}

void SourceConsumer::on_consumer_cancelled() {
    throw Error(
        Error::Kind::cancelled,
        "the broker cancelled its consumer: the queue was deleted, its node went away, or a message was held for "
        "longer than consumer_timeout allows (RabbitMQ 4.3)");
}

void SourceConsumer::on_channel_closed(const ChannelClosed& closed) {
    give_up_channel(core::safe_name(closed.text));
}

template <class Command>
void SourceConsumer::command(const Command& command) {
    if (connection_ == nullptr || !open_ || !failed_.empty()) return;
    try {
        command(*connection_);
    } catch (const Error& error) {
        failed_ = error.what();
    }
}

void SourceConsumer::ack(core::DeliveryTag tag, bool multiple) {
    command([&](Connection& connection) { connection.ack(source_channel, tag, multiple); });
}

void SourceConsumer::requeue(core::DeliveryTag tag) {
    command([&](Connection& connection) { connection.nack_requeue(source_channel, tag); });
}

void SourceConsumer::keep(std::string_view why) {
    ++kept_;
    if (!unpublishable_.empty()) return;
    report(SourceTrouble::unpublishable,
           "a message of the source " + core::quoted(queue_) + " cannot be published (" + std::string{why} +
               "), and the dead-lettering of that queue is not retryd's: it stays there, unacked, and the others go "
               "on. Stop retryd and take it out by hand: each start and each lost connection counts towards a delivery "
               "limit of that queue, at which it is deleted where the queue dead-letters nowhere");
}

// ── What ends ───────────────────────────────────────────────────────────────────────────────────────────────────

/// At first half a second, then longer and longer; as long as what was there lasted a minute, from the beginning again.
core::Milliseconds SourceConsumer::next_pause() {
    const bool lasted = consuming_since_ != core::SteadyTime{} && now_ - consuming_since_ >= longest_pause;
    consuming_since_ = {};
    pause_ = lasted || pause_ == core::Milliseconds::zero() ? first_pause : std::min(2 * pause_, longest_pause);
    return pause_;
}

void SourceConsumer::give_up_channel(const std::string& why) {
    open_ = false;
    consume_answered_ = false;
    events_.on_source_ended(source_);
    if (leaving_) return;
    due_ = now_ + next_pause();
    report(SourceTrouble::unavailable,
           "the source " + core::quoted(queue_) + " is not consumed (" + why +
               "): what fails there stays there. It is tried again, every minute at last; the queue has to exist, and "
               "retryd's user needs read on it");
}

/// The broker may have ended it over a message that it cannot hand over, or we, over one that cannot be read.
bool SourceConsumer::is_undeliverable(const Error& error) const {
    if (error.kind() == Error::Kind::set_aside_unread) return true;
    return connection_ != nullptr && open_ && connection_->ended_by_message();
}

void SourceConsumer::lose(const Error& error) {
    const bool undeliverable = is_undeliverable(error);
    const std::size_t window = std::max<std::size_t>(prefetch_, 1) * std::max<std::size_t>(tags_.size(), 1);
    opening_.reset();
    looking_.reset();
    connection_.reset();
    open_ = false;
    consume_answered_ = false;
    events_.on_source_ended(source_);
    if (leaving_) return;
    if (undeliverable) {
        trial_.begin(window, now_);
        report_undeliverable(error);
        due_ = now_;
        return;
    }
    due_ = now_ + next_pause();
    report(SourceTrouble::unavailable, "the source " + core::quoted(queue_) + " is not consumed (" + error.what() +
                                           "): what fails there stays there. It is tried again, every minute at last");
}

// ── What RabbitMQ cannot hand over ──────────────────────────────────────────────────────────────────────────────

/// Each delivery that fails counts: on purpose there are many only where it is known that the message goes somewhere
/// then.
void SourceConsumer::look_at_head() {
    looking_ = std::make_unique<Looking>([endpoint = settings_.endpoint, broker = settings_.broker, queue = queue_,
                                          ask = settings_.ask_limit_effect(),
                                          alone = trial_.head_is_isolated()](const Looking::GoOn& go_on) {
        Look look{ask(queue), {PoisonHead::State::stopped, 0}};
        BlockedHeadConnections held;
        if (alone && look.limit_effect.fate == admin::LimitEffect::Fate::dead_lettered)
            look.head =
                exhaust_delivery_limit({endpoint, broker, queue}, held, attempts_at_a_time, between_attempts, go_on);
        return look;
    });
}

void SourceConsumer::take_look() {
    const auto looking = std::move(looking_);
    const Look look = looking->take();
    const bool reloaded = !trial_.going_on();
    if (reloaded) return resume();
    const auto fate = look.limit_effect.fate;
    if (fate == admin::LimitEffect::Fate::unknown || fate == admin::LimitEffect::Fate::deleted)
        return leave_alone(look.limit_effect);
    memory_.not_consumed = false;
    may_open_ = true;
    if (fate == admin::LimitEffect::Fate::dead_lettered) return go_on_with(look.head);
    due_ = now_ + next_pause();
    report_unlimited();
}

void SourceConsumer::go_on_with(const PoisonHead& head) {
    due_ = now_;
    if (head.state == PoisonHead::State::stopped) return;  // what is in front of it has to go first
    trial_.head_tried(head.connections_ended, head.state == PoisonHead::State::another);
    const bool stays = head.state == PoisonHead::State::stays;
    if (stays) report_limited();
    if (stays) due_ = now_ + next_pause();
    if (!stays) pause_ = {};
}

void SourceConsumer::leave_alone(const admin::LimitEffect& limit_effect) {
    memory_.not_consumed = true;
    told_to_leave_ = true;
    due_ = now_ + between_looks;
    report_left_alone(limit_effect);
}

void SourceConsumer::look_at_trial() {
    if (trial_.asks_for_count(now_, events_.is_idle(source_))) events_.count_source(source_);
    if (trial_.on_tick(now_)) end_trial();
}

/// What was suspect has been handed over: from now on as many at once as configured.
void SourceConsumer::end_trial() {
    constexpr int few = 3;
    const int ended = trial_.ended();
    may_open_ = false;
    pause_ = {};
    report_over(SourceTrouble::undeliverable,
                "RabbitMQ hands over the messages of the source " + core::quoted(queue_) +
                    " again, after it had ended " + std::to_string(ended) +
                    (ended == 1 ? " connection" : " connections") + " of ours" +
                    (ended > few ? ". What it could not hand over is out of the way: somebody has taken it out, or the "
                                   "queue's delivery limit, to where that queue dead-letters"
                                 : ""));
    if (!open_ || !consume_answered_ || leaving_) return;
    if (core::features_of(connection_->version()).clean_cancel) {
        for (const std::string& tag : tags_)
            connection_->cancel(source_channel, tag);
        tags_.clear();
    }
    consume();
}

void SourceConsumer::report_undeliverable(const Error& error) {
    if (!undeliverable_.empty()) return;
    const std::string why = error.words().empty() ? error.what() : core::safe_name(error.words());
    report(SourceTrouble::undeliverable,
           "RabbitMQ ended the connection that consumes the source " + core::quoted(queue_) + " (" + why +
               "), as it does when it cannot hand over a message: one from AMQP 1.0, MQTT or STOMP that does not fit "
               "AMQP 0-9-1. The messages of this source are taken one after the other until it is found; all else "
               "goes on");
}

void SourceConsumer::report_standstill() {
    report(SourceTrouble::unpublishable,
           "the source " + core::quoted(queue_) + " stands still: " + std::to_string(kept_) +
               " messages of it cannot be published and stay there, unacked, as the dead-lettering of that queue is "
               "not retryd's, and retryd holds no more of them. What is behind them waits, all else goes on. Stop "
               "retryd, take them out by hand, and start it again");
}

std::string SourceConsumer::policy_command() const {
    return limit_source_command(queue_, settings_.catch_all, settings_.endpoint.vhost);
}

std::string SourceConsumer::drop_command() const {
    return "retryd parked drop --reason undeliverable --from " + admin::word_as_typed(queue_);
}

void SourceConsumer::report_limited() {
    report(
        SourceTrouble::undeliverable,
        "a message at the head of the source " + core::quoted(queue_) + " that RabbitMQ cannot hand over has ended " +
            std::to_string(trial_.ended()) +
            " connections. What is behind it in this source waits until the queue's delivery limit sends it to where "
            "the queue dead-letters, all else goes on. It is tried again, every minute at last. A lower limit takes "
            "it away sooner (only one policy applies to a queue): " +
            policy_command());
}

void SourceConsumer::report_unlimited() {
    report(SourceTrouble::undeliverable,
           "a message at the head of the source " + core::quoted(queue_) +
               " that RabbitMQ cannot hand over has ended " + std::to_string(trial_.ended()) +
               " connections, and no delivery limit takes it away: what is behind it in this source waits, all else "
               "goes on. It is tried again, every minute at last. Where it is a quorum queue, a policy moves that "
               "message to the catch-all (only one applies to a queue): " +
               policy_command() + ". Where it is a classic queue, this deletes it: " + drop_command());
}

void SourceConsumer::report_left_alone(const admin::LimitEffect& limit_effect) {
    const bool deletes = limit_effect.fate == admin::LimitEffect::Fate::deleted;
    report(
        SourceTrouble::undeliverable,
        "the source " + core::quoted(queue_) +
            " is not consumed any more: a message at its head that RabbitMQ cannot hand over has ended " +
            std::to_string(trial_.ended()) + " connections, and " +
            (deletes
                 ? std::string{"nothing shows that the queue dead-letters it to another one at its delivery limit: "
                               "it might delete it"}
                 : "it is not known whether the queue would delete it at a delivery limit (" + limit_effect.why + ")") +
            ". Nothing of this source is lost, and nothing of it goes on; all else does. This policy moves that "
            "message to the catch-all (only one applies to a queue): " +
            policy_command() + ". Then retryd goes on, within a minute" +
            (deletes ? ""
                     : ", if `management:` in its configuration tells it so (add it, and reload retryd). Where it is a "
                       "classic queue, this deletes it: " +
                           drop_command() + ", and then reload retryd"));
}

// ── What the operator is told ───────────────────────────────────────────────────────────────────────────────────

std::string& SourceConsumer::told(SourceTrouble trouble) {
    if (trouble == SourceTrouble::unavailable) return unavailable_;
    return trouble == SourceTrouble::undeliverable ? undeliverable_ : unpublishable_;
}

/// The count in a text makes no news of it.
void SourceConsumer::report(SourceTrouble trouble, const std::string& note) {
    const auto without_numbers = [](std::string text) {
        std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
        return text;
    };
    if (without_numbers(told(trouble)) == without_numbers(note)) return;
    told(trouble) = note;
    events_.on_source_trouble(source_, trouble, note);
}

void SourceConsumer::report_over(SourceTrouble trouble, const std::string& note) {
    if (std::exchange(told(trouble), {}).empty()) return;
    events_.on_source_works(source_, trouble, note);
}

// ── The end ─────────────────────────────────────────────────────────────────────────────────────────────────────

void SourceConsumer::stop() {
    leaving_ = true;
    command([&](Connection& connection) {
        for (const std::string& tag : tags_)
            connection.cancel(source_channel, tag);
    });
}

void SourceConsumer::abandon() {
    if (opening_) opening_->abandon();
    if (looking_) looking_->abandon();
}

void SourceConsumer::close(core::Milliseconds patience) noexcept {
    if (connection_ != nullptr) connection_->close(patience);
}

void SourceConsumer::add_to(std::vector<pollfd>& fds) const {
    if (connection_ == nullptr) return;
    const bool read = events_.may_take(source_);
    const bool write = connection_->gathered();
    const auto events = static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0));
    fds.push_back({read || write ? connection_->fd() : -1, events, 0});
}

SourceConsumers::SourceConsumers(const config::Settings& settings, const config::Endpoint& endpoint,
                                 MakeAskLimitEffect ask_limit_effect, SourceMemories& memories, SourceEvents& events)
    : settings_{endpoint, settings.broker, settings.prefetch.messages, settings.policy.catch_all,
                std::move(ask_limit_effect)},
      memories_(memories),
      events_(events) {
    const auto& sources = settings.policy.sources;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        if (!core::is_glob(sources[i].queue)) add(sources[i].queue, i, false);
    }
}

void SourceConsumers::add(const std::string& queue, std::size_t place_in_policy, bool by_glob) {
    consumers_.push_back(
        {std::make_unique<SourceConsumer>(consumers_.size(), queue, settings_, memories_[queue], events_),
         place_in_policy, by_glob});
}

void SourceConsumers::found(const std::vector<FoundSource>& sources) {
    for (const FoundSource& found : sources) {
        const auto known = std::find_if(consumers_.begin(), consumers_.end(),
                                        [&](const Source& source) { return source.consumer->queue() == found.queue; });
        if (known == consumers_.end()) {
            add(found.queue, found.source, true);
            consumers_.back().consumer->start();
        } else if (known->consumer->retired()) {
            known->consumer->start();
        }
    }
    for (const Source& source : consumers_) {
        const bool is_there = std::any_of(sources.begin(), sources.end(), [&](const FoundSource& found) {
            return found.queue == source.consumer->queue();
        });
        if (source.by_glob && !is_there) source.consumer->retire();
    }
}

/// All are told first: one that hangs in connecting is not waited for beside another.
SourceConsumers::~SourceConsumers() {
    for (const auto& [consumer, place, by_glob] : consumers_)
        consumer->abandon();
}

void SourceConsumers::start() {
    for (const auto& [consumer, place, by_glob] : consumers_)
        consumer->start();
}

bool SourceConsumers::turn(const core::Now& now) {
    bool more = false;
    for (const auto& [consumer, place, by_glob] : consumers_)
        more = consumer->turn(now.steady) || more;
    return more;
}

std::optional<core::SteadyTime> SourceConsumers::next_tick() const {
    std::optional<core::SteadyTime> next;
    for (const auto& [consumer, place, by_glob] : consumers_) {
        if (const auto due = consumer->next_tick()) next = std::min(next.value_or(*due), *due);
    }
    return next;
}

void SourceConsumers::stop() {
    for (const auto& [consumer, place, by_glob] : consumers_)
        consumer->stop();
}

void SourceConsumers::close(core::Milliseconds patience) noexcept {
    for (const auto& [consumer, place, by_glob] : consumers_)
        consumer->close(patience / static_cast<int>(consumers_.size()));
}

void SourceConsumers::add_to(std::vector<pollfd>& fds) const {
    for (const auto& [consumer, place, by_glob] : consumers_)
        consumer->add_to(fds);
}

}  // namespace retryd::amqp
