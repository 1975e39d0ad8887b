#include "amqp/dead_letter_tap.h"

#include <poll.h>

#include <chrono>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "amqp/timeouts.h"
#include "core/duration.h"

namespace retryd::amqp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t messages_a_turn = 1'000;

/// Nothing piles up where we are slow: the oldest copies go.
core::QueueSpec spec_of(const std::string& queue) {
    constexpr std::int64_t most_messages = 10'000;
    constexpr std::int64_t most_bytes = std::int64_t{64} * 1024 * 1024;
    return {queue, {{"x-max-length", most_messages}, {"x-max-length-bytes", most_bytes}}, {}};
}

}  // namespace

DeadLetterTap::DeadLetterTap(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue,
                             const std::vector<core::BindingSpec>& exchanges)
    : connection_(Connection::open(endpoint, settings, queue)) {
    connection_->receive_large_headers();
    connection_->open_channel(only_channel);
    connection_->declare_exclusive_queue(only_channel, spec_of(queue));
    await_answers(1);
    for (core::BindingSpec binding : exchanges) {
        if (!refusal_.empty()) return;
        binding.queue = queue;
        connection_->bind(only_channel, binding);
        await_answers(answers_ + 1);
    }
    if (!refusal_.empty()) return;
    connection_->consume_without_acks(only_channel, queue, "");
    await_answers(answers_ + 1);
}

DeadLetterTap::~DeadLetterTap() {
    connection_->close(close_timeout);
}

void DeadLetterTap::await_answers(std::size_t number) {
    const auto deadline = Clock::now() + answer_timeout;
    while (answers_ < number && refusal_.empty()) {
        connection_->drain(*this, messages_a_turn);
        if (answers_ >= number || !refusal_.empty()) return;
        if (Clock::now() >= deadline) {
            throw Error(Error::Kind::lost, "the broker has not answered for " + core::format_duration(answer_timeout));
        }
        pollfd readable{connection_->fd(), POLLIN, 0};
        poll(&readable, 1, static_cast<int>(longest_poll.count()));
    }
}

void DeadLetterTap::turn(const Sink& sink) {
    sink_ = &sink;
    connection_->drain(*this, messages_a_turn);
    sink_ = nullptr;
}

void DeadLetterTap::on_delivery(const core::Delivery& delivery) {
    if (sink_ != nullptr) (*sink_)(delivery.message.properties.header_table());
}

int DeadLetterTap::fd() const {
    return connection_->fd();
}

}  // namespace retryd::amqp
