// The one place where frames become events.
#pragma once

#include <map>
#include <optional>

#include "amqp/arena.h"
#include "amqp/connection.h"
#include "amqp/content.h"
#include "amqp/wire.h"

namespace retryd::amqp {

class Dispatcher {
  public:
    explicit Dispatcher(Wire& wire) : wire_(wire) {}

    /// As Connection::drain.
    bool drain(Events& events, std::size_t limit);

  private:
    bool may_go_on() const;
    /// True if a delivery was handed over.
    bool handle(const amqp_frame_t& frame, Events& events);
    void on_method(const amqp_frame_t& frame, Events& events);
    void on_connection_method(const amqp_method_t& method, Events& events);
    void on_channel_method(Channel channel, const amqp_method_t& method, Events& events);
    void on_consumer_method(Channel channel, const amqp_method_t& method, Events& events);
    void close_channel(Channel channel, const amqp_channel_close_t& close, Events& events);
    void cancel_consumer(Channel channel, const amqp_basic_cancel_t& cancel, Events& events);
    void deliver(Content& content, Events& events);
    [[noreturn]] void give_up_unreadable(Events& events);

    Wire& wire_;
    Arena arena_;
    std::map<Channel, Content> contents_;
};

}  // namespace retryd::amqp
