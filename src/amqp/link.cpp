#include "amqp/link.h"

#include <poll.h>

#include <array>
#include <utility>

#include "amqp/error.h"

namespace retryd::amqp {
namespace {

constexpr Channel relay_channel = 1;    // deliveries on the one connection, publications on the other
constexpr Channel declare_channel = 2;  // apart: a refused declare closes its channel
constexpr const char* consumer_tag = "retryd";

/// At most so many deliveries are handled before confirms and signals get their turn.
constexpr std::size_t deliveries_a_turn = 128;
/// So much is sent between two looks at whether the socket has room; small against its buffer.
constexpr std::size_t bytes_between_looks = std::size_t{64} * 1024;

relay::CheckOutcome outcome_of_check(Declarer::Result result) {
    switch (result) {
        case Declarer::Result::done:
            return relay::CheckOutcome::exists;
        case Declarer::Result::missing:
            return relay::CheckOutcome::missing;
        case Declarer::Result::refused:
            break;
    }
    return relay::CheckOutcome::unknown;
}

}  // namespace

/// Events of the connection that consumes.
class Link::Intake : public Events {
  public:
    explicit Intake(Link& link) : link_(link) {}

    void on_delivery(const core::Delivery& delivery) override { link_.relay_->on_delivery(delivery, link_.now_); }
    void on_unreadable_delivery(core::DeliveryTag tag) override { link_.relay_->on_unreadable_delivery(tag); }
    void on_consume_ok() override { link_.observer_.consuming(); }
    void on_consumer_cancelled() override {
        throw Error(Error::Kind::lost, "the broker cancelled the consumer of the error queue '" +
                                           link_.settings_.policy.error_queue +
                                           "': the queue was deleted, or its node went away");
    }
    void on_channel_closed(const ChannelClosed& closed) override {
        throw Error(Error::Kind::refused, "the broker closed the consuming channel: " + closed.text);
    }

  private:
    Link& link_;
};

/// Events of the connection that publishes and declares.
class Link::Outlet : public Events {
  public:
    explicit Outlet(Link& link) : link_(link) {}

    void on_confirm(relay::PublishSeq seq, bool multiple, bool acked) override {
        link_.relay_->on_confirm(seq, multiple, acked, link_.now_);
    }
    void on_returned(const Returned& returned) override { link_.relay_->on_returned(returned.routing_key); }
    void on_blocked(std::string_view reason) override {
        link_.blocked_ = true;
        link_.relay_->pause();
        link_.observer_.blocked(reason);
    }
    void on_unblocked() override {
        link_.blocked_ = false;
        link_.observer_.unblocked();
        link_.relay_->resume(link_.now_);
    }
    void on_channel_open(Channel channel) override { link_.declarer_.on_channel_open(channel); }
    void on_declared(Channel channel) override { link_.declarer_.on_declared(channel); }
    void on_channel_closed(const ChannelClosed& closed) override {
        if (closed.channel != declare_channel) {
            throw Error(Error::Kind::refused, "the broker closed the publishing channel: " + closed.text);
        }
        link_.declarer_.on_channel_closed(closed);
    }

  private:
    Link& link_;
};

Link::Link(const config::Settings& settings, const config::Endpoint& endpoint, LinkObserver& observer)
    : settings_(settings),
      observer_(observer),
      intake_(Connection::open(endpoint, settings.broker, "retryd consume")),
      outlet_(Connection::open(endpoint, settings.broker, "retryd publish")),
      declarer_(*outlet_, declare_channel) {}

void Link::start(relay::Relay& relay, const core::BrokerFeatures& features) {
    relay_ = &relay;
    outlet_->open_channel(relay_channel);
    outlet_->confirm_select(relay_channel);
    intake_->open_channel(relay_channel);
    intake_->qos(relay_channel, settings_.prefetch.messages);
    declare_base(features);
}

/// Without these there is nothing to consume: a refusal ends the session.
void Link::declare_base(const core::BrokerFeatures& features) {
    const core::Policy& policy = settings_.policy;
    require(Declarer::DeclareExchange{policy.error_exchange}, [] {});
    require(Declarer::DeclareQueue{core::parking_queue_spec(policy.catch_all, features)}, [] {});
    require(Declarer::DeclareQueue{core::error_queue_spec(policy, features)}, [] {});
    require(Declarer::Bind{policy.error_queue, policy.error_exchange},
            [this] { intake_->consume(relay_channel, settings_.policy.error_queue, consumer_tag); });
}

void Link::require(Declarer::Step step, std::function<void()> then) {
    declarer_.submit(std::move(step), [this, then = std::move(then)](const Declarer::Outcome& outcome) {
        if (outcome.result != Declarer::Result::done) throw Error(Error::Kind::refused, outcome.text);
        if (!outcome.text.empty()) observer_.accepted(outcome.text);
        then();
    });
}

void Link::declare(const core::QueueSpec& queue) {
    declarer_.submit(Declarer::DeclareQueue{queue}, [this, name = queue.name](const Declarer::Outcome& outcome) {
        const bool done = outcome.result == Declarer::Result::done;
        if (done && !outcome.text.empty()) observer_.accepted(outcome.text);
        relay_->on_declared(name, done ? relay::DeclareOutcome::ready : relay::DeclareOutcome::refused,
                            done ? "" : outcome.text, now_);
    });
}

void Link::check(std::string_view queue) {
    declarer_.submit(Declarer::CheckQueue{std::string{queue}},
                     [this, name = std::string{queue}](const Declarer::Outcome& outcome) {
                         relay_->on_checked(name, outcome_of_check(outcome.result), now_);
                     });
}

bool Link::turn(const core::Now& now) {
    now_ = now;
    Outlet outlet(*this);
    Intake intake(*this);
    const bool more = outlet_->drain(outlet, deliveries_a_turn);
    if (relay_->paused() && !blocked_ && outlet_->writable()) {
        sent_unchecked_ = 0;
        relay_->resume(now);
    }
    return take_deliveries(intake) || more;
}

/// With too much held nothing more is taken in: what the broker sends then waits in the socket.
bool Link::take_deliveries(Events& events) {
    for (std::size_t taken = 0; taken < deliveries_a_turn; ++taken) {
        const bool full = saturated();
        if (!intake_->drain(events, full ? 0 : 1) || full) return false;
    }
    return true;
}

bool Link::saturated() const {
    return relay_->held_bytes() >= settings_.prefetch.body_bytes;
}

void Link::wait(int wake_fd, core::Milliseconds time) {
    const bool room_wanted = relay_->paused() && !blocked_;
    std::array fds{
        pollfd{saturated() ? -1 : intake_->fd(), POLLIN, 0},
        pollfd{outlet_->fd(), static_cast<short>(room_wanted ? POLLIN | POLLOUT : POLLIN), 0},
        pollfd{wake_fd, POLLIN, 0},
    };
    poll(fds.data(), fds.size(), static_cast<int>(time.count()));
}

void Link::stop_consuming() {
    intake_->cancel(relay_channel, consumer_tag);
}

void Link::close(core::Milliseconds patience) noexcept {
    intake_->close(patience / 2);
    outlet_->close(patience / 2);
}

relay::PublishResult Link::publish(const core::Publication& publication) {
    if (blocked_) return relay::PublishResult::would_block;
    if (sent_unchecked_ >= bytes_between_looks) {
        if (!outlet_->writable()) return relay::PublishResult::would_block;
        sent_unchecked_ = 0;
    }
    sent_unchecked_ += publication.message.body.size();
    return outlet_->publish(relay_channel, publication);
}

void Link::ack(core::DeliveryTag tag, bool multiple) {
    last_ack_ = now_.steady;
    intake_->ack(relay_channel, tag, multiple);
}

void Link::requeue(core::DeliveryTag tag) {
    intake_->nack_requeue(relay_channel, tag);
}

void Link::dead_letter(core::DeliveryTag tag) {
    intake_->reject(relay_channel, tag);
}

}  // namespace retryd::amqp
