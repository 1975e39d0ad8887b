// A queue as its node knows it, by expressions on that node: what AMQP does not tell.
#pragma once

#include <string>

namespace retryd::test {

/// An Erlang expression for erlang(): `{ok, Queue}` of the test's vhost, or an error where there is none.
std::string erlang_lookup(const std::string& queue);

/// It is there, and a quorum queue has a leader. One that is being made is there before that, and what comes until then
/// RabbitMQ 3.8.9 may never confirm, 4.0.5 nacks, and 3.10 keeps although a policy refuses it.
bool takes_messages(const std::string& queue);

}  // namespace retryd::test
