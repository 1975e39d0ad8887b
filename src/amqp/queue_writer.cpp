#include "amqp/queue_writer.h"

#include "amqp/connection.h"
#include "amqp/timeouts.h"

namespace retryd::amqp {
namespace {

constexpr std::size_t frames_a_turn = 1'000;

}  // namespace

QueueWriter::QueueWriter(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& name)
    : connection_(Connection::open(endpoint, settings, name)) {
    connection_->open_channel(only_channel);
    connection_->confirm_select(only_channel);
}

QueueWriter::~QueueWriter() {
    connection_->close(close_timeout);
}

relay::PublishResult QueueWriter::publish(const core::Publication& publication) {
    if (!blocked_.empty() || !closed_.empty()) return relay::PublishResult::would_block;
    return connection_->publish(only_channel, publication);
}

bool QueueWriter::turn(ConfirmSink& sink) {
    sink_ = &sink;
    connection_->drain(*this, frames_a_turn);
    return connection_->flush();
}

int QueueWriter::fd() const {
    return connection_->fd();
}

}  // namespace retryd::amqp
