// What is in the queues of a vhost, with what AMQP does not count: unacked messages, and those that a quorum queue is
// dead-lettering. Asked by an expression on the node: rabbitmqctl starts an Erlang node each time, which is most of
// what a test that asks again and again costs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace retryd::test {

struct QueueDepth {
    std::string queue;
    bool known = true;  // not where no node leads it
    std::size_t messages = 0;
    std::size_t ready = 0;
};

/// As the broker last counted: seconds ago, for a quorum queue.
std::vector<QueueDepth> queue_depths(const std::string& vhost);

}  // namespace retryd::test
