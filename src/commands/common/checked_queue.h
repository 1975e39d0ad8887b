// How many messages lie in queues, where a 0 counts for something.
#pragma once

#include <functional>
#include <string>

#include "amqp/declarer.h"
#include "commands/common/broker.h"

namespace retryd::commands {

struct CheckedQueue {
    amqp::Declarer::Outcome there;
    /// False: the broker says 0 because it could not ask the queue (amqp::may_be_unasked).
    bool believed = true;
};

/// Counts for one command that shows what it finds. A queue that could not be asked is asked again, for a second; once
/// some of them stay so, all others are asked once: a command does not take minutes because much is wrong.
class QueueCounter {
  public:
    /// `broker` must outlive it.
    explicit QueueCounter(Broker& broker) : broker_(broker) {}

    CheckedQueue count(const std::string& queue);
    /// See below; once some of them stay in hand, the others are not waited for.
    CheckedQueue count_once_given_back(const std::string& queue);

  private:
    Broker& broker_;
    int not_asked_ = 0;
    int stayed_in_hand_ = 0;
};

/// Before something is done to a queue that is empty: the 0 has to come twice, and it is asked for longer.
CheckedQueue make_sure_of_messages(Broker& broker, const std::string& queue);

/// What a look, or a run, had in hand is ready again some time after it has ended: the next one may come before that,
/// and would find nothing. Counts again, for up to a second, while nothing is ready and somebody consumes.
CheckedQueue count_once_given_back(Broker& broker, const std::function<CheckedQueue()>& count);

/// What a count that is not believed means, after the words `how many messages lie in …`.
inline constexpr const char* not_counted_now =
    " is not known: RabbitMQ could not ask the queue in time, and says 0 meanwhile. It is too busy, or the queue has "
    "no leader, which rabbitmq-queues quorum_status tells. Look again later";

}  // namespace retryd::commands
