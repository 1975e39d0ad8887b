#include "amqp/failure_watch.h"

#include <poll.h>

#include <chrono>

#include "amqp/error.h"

namespace retryd::amqp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Channel channel = 1;
constexpr core::Milliseconds longest_answer{60'000};
constexpr int longest_silence = 400;  // milliseconds: heartbeats have to be served
constexpr std::size_t messages_a_turn = 1'000;

/// Nothing piles up where we are slow: the oldest copies go.
core::QueueSpec spec_of(const std::string& queue) {
    constexpr std::int64_t most_messages = 10'000;
    constexpr std::int64_t most_bytes = std::int64_t{64} * 1024 * 1024;
    return {queue, {{"x-max-length", most_messages}, {"x-max-length-bytes", most_bytes}}, {}};
}

}  // namespace

FailureWatch::FailureWatch(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue,
                           const std::vector<core::BindingSpec>& exchanges)
    : connection_(Connection::open(endpoint, settings, queue)) {
    connection_->receive_large_headers();
    connection_->open_channel(channel);
    connection_->declare_exclusive_queue(channel, spec_of(queue));
    await_answers(1);
    for (core::BindingSpec binding : exchanges) {
        if (!refusal_.empty()) return;
        binding.queue = queue;
        connection_->bind(channel, binding);
        await_answers(answers_ + 1);
    }
    if (!refusal_.empty()) return;
    connection_->consume_without_acks(channel, queue, "");
    await_answers(answers_ + 1);
}

FailureWatch::~FailureWatch() {
    constexpr core::Milliseconds patience{2'000};
    connection_->close(patience);
}

void FailureWatch::await_answers(std::size_t number) {
    const auto deadline = Clock::now() + longest_answer;
    while (answers_ < number && refusal_.empty()) {
        connection_->drain(*this, messages_a_turn);
        if (answers_ >= number || !refusal_.empty()) return;
        if (Clock::now() >= deadline) throw Error(Error::Kind::lost, "the broker has not answered for 60 s");
        pollfd readable{connection_->fd(), POLLIN, 0};
        poll(&readable, 1, longest_silence);
    }
}

void FailureWatch::turn(const Sink& sink) {
    sink_ = &sink;
    connection_->drain(*this, messages_a_turn);
    sink_ = nullptr;
}

void FailureWatch::on_delivery(const core::Delivery& delivery) {
    if (sink_ != nullptr) (*sink_)(delivery.message.properties.header_table());
}

}  // namespace retryd::amqp
