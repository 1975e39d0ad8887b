#include "amqp/consumer_probe.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "amqp/error.h"

namespace retryd::amqp {
namespace {

constexpr Channel probe_channel = 1;
constexpr const char* probe_tag = "retryd-probe";
/// RabbitMQ takes any number; the consumers of others have 0, as a rule.
constexpr std::int64_t lowest_priority = -1'000'000;
/// Reading in vain costs a call into the kernel. But while the consumer is there, it is to be cancelled at once.
constexpr core::Milliseconds read_every{200};

}  // namespace

std::optional<ConsumerProbe::Result> ConsumerProbe::turn(core::SteadyTime now) {
    if (now < due_ && !begun_) return std::nullopt;
    due_ = now + read_every;
    try {
        step();
    } catch (const Error& error) {
        const bool unanswered = connection_ != nullptr && connection_->consume_unanswered();
        connection_.reset();
        if (asking()) result_ = unanswered ? Result::unanswered : Result::unknown;
        why_unknown_ = error.what();
    }
    if (result_) {
        queue_.clear();
        begun_ = false;
    }
    return std::exchange(result_, std::nullopt);
}

/// A channel that waits for the queue holds up the end of its connection.
void ConsumerProbe::close(core::Milliseconds patience) noexcept {
    if (connection_ != nullptr) connection_->close(asking() ? core::Milliseconds::zero() : patience);
    connection_.reset();
}

void ConsumerProbe::step() {
    if (opening_ != nullptr && opening_->done()) {
        connection_ = std::exchange(opening_, nullptr)->take();
        connection_->receive_large_headers();
    }
    constexpr std::size_t all_there_is = 16;
    if (connection_ != nullptr) connection_->drain(*this, all_there_is);
    if (!asking() || begun_ || opening_ != nullptr) return;
    connection_ == nullptr ? open() : begin();
}

void ConsumerProbe::open() {
    opening_ = std::make_unique<Opening>([endpoint = endpoint_, broker = settings_](const Opening::GoOn&) {
        return Connection::open(endpoint, broker, "retryd probe");
    });
}

void ConsumerProbe::begin() {
    begun_ = true;
    connection_->open_channel(probe_channel);
    connection_->qos(probe_channel, 1);
    connection_->consume_at_priority(probe_channel, queue_, probe_tag, lowest_priority);
}

void ConsumerProbe::on_consume_ok() {
    connection_->cancel(probe_channel, probe_tag);
}

void ConsumerProbe::on_cancel_ok() {
    connection_->close_channel(probe_channel);
}

void ConsumerProbe::on_channel_closed(const ChannelClosed& closed) {
    result_ = Result::unknown;
    why_unknown_ = "the broker closed its channel: " + closed.text;
}

void ConsumerProbe::on_unreadable_delivery(core::DeliveryTag tag) {
    connection_->nack_requeue(probe_channel, tag);
}

}  // namespace retryd::amqp
