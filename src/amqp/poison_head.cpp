#include "amqp/poison_head.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "amqp/timeouts.h"
#include "core/reply_code.h"
#include "core/safe_text.h"
#include "system/clock.h"

namespace retryd::amqp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Channel only_consumer = 1;
constexpr const char* consumer_tag = "retryd-head";
/// If nothing has come so long after the consumer was there, the queue is empty or another daemon has its head.
constexpr core::Milliseconds delivered_within{300};

/// What one connection sees of the head.
class Glance : private Events {
  public:
    Glance(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue)
        : connection_(Connection::open(endpoint, settings, "retryd head")) {
        connection_->receive_large_headers();
        connection_->open_channel(only_consumer);
        connection_->qos(only_consumer, 1);
        connection_->consume(only_consumer, queue, consumer_tag);
    }

    /// stays: it has ended the connection.
    PoisonHead::State look() {
        const auto deadline = Clock::now() + answer_timeout;
        while (Clock::now() < deadline) {
            try {
                connection_->drain(*this, 1);
            } catch (const Error&) {
                if (connection_->closed_with() == core::reply_code::internal_error) return PoisonHead::State::stays;
                throw;
            }
            if (delivered_) {
                give_back();
                return PoisonHead::State::another;
            }
            if (consuming_since_ && Clock::now() - *consuming_since_ >= delivered_within) {
                connection_->close(close_timeout);
                return PoisonHead::State::none;
            }
            wait(consuming_since_ ? delivered_within : longest_poll);
        }
        throw Error(Error::Kind::lost, "the broker has not answered a consumer for " +
                                           std::to_string(answer_timeout.count() / 1'000) + " s");
    }

  private:
    void on_consume_ok() override { consuming_since_ = Clock::now(); }
    void on_delivery(const core::Delivery& delivery) override { delivered_ = delivery.tag; }
    void on_unreadable_delivery(core::DeliveryTag tag) override { delivered_ = tag; }
    void on_channel_closed(const ChannelClosed& closed) override {
        throw Error(Error::Kind::refused, "the broker closed the consuming channel: " + core::safe_name(closed.text));
    }

    void wait(core::Milliseconds time) const {
        pollfd readable{connection_->fd(), POLLIN, 0};
        poll(&readable, 1, static_cast<int>(time.count()));
    }

    /// Not to this consumer again; and not by closing the connection, which counts as one more delivery in vain.
    void give_back() {
        connection_->cancel(only_consumer, consumer_tag);
        connection_->nack_requeue(only_consumer, *delivered_);
        const auto until = Clock::now() + ack_linger;
        while (Clock::now() < until) {
            wait(std::max(system::left_until(until), core::Milliseconds::zero()));
            connection_->drain(*this, 1);
        }
        connection_->close(close_timeout);
    }

    std::unique_ptr<Connection> connection_;
    std::optional<Clock::time_point> consuming_since_;
    std::optional<core::DeliveryTag> delivered_;
};

}  // namespace

PoisonHead wear_out_head(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue,
                         int most_attempts, core::Milliseconds pause, const std::function<bool()>& go_on) {
    PoisonHead head;
    while (go_on()) {
        std::this_thread::sleep_for(pause);
        head.state = Glance(endpoint, settings, queue).look();
        if (head.state != PoisonHead::State::stays) return head;
        if (++head.connections_ended >= most_attempts) return head;
    }
    head.state = PoisonHead::State::stopped;
    return head;
}

}  // namespace retryd::amqp
