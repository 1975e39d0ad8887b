// How many messages lie in a queue, where a 0 decides something.
#pragma once

#include <string>

#include "amqp/declarer.h"
#include "commands/common/broker.h"

namespace retryd::commands {

struct CheckedQueue {
    amqp::Declarer::Outcome there;
    /// False: the broker says 0, and it is not known whether that is so. Nothing may be done because of it.
    bool believed = true;
};

/// For what is shown. Asks again, for a second, while the broker is too busy to ask the queue (amqp::EmptyAnswers).
CheckedQueue count_messages(Broker& broker, const std::string& queue);
/// Before something is done to a queue that is empty: the 0 has to come twice, and it is asked for longer.
CheckedQueue make_sure_of_messages(Broker& broker, const std::string& queue);

/// What a count that is not believed means, after the words `how many messages lie in …`.
inline constexpr const char* not_counted_now =
    " is not known: the broker is too busy to ask the queue, and says 0 meanwhile. Look again when it has less to do";

}  // namespace retryd::commands
