// Whether a queue that the broker calls empty is empty.
#pragma once

#include "amqp/topology_commands.h"
#include "core/time.h"

namespace retryd::amqp {

/// RabbitMQ says of a quorum queue that it has neither messages nor consumers where that does not answer it within 250
/// ms: then the broker is too busy, or the node of the leader cannot be reached (rabbit_quorum_queue:stat/2; 3.10.8 and
/// 4.3.6, run). Such an answer is never quick. Of a queue whose leader has ended it says the same at once: whoever acts
/// on an empty queue has to look at more than that.
inline bool may_be_unasked(const QueueCounts& counts, core::Milliseconds took) {
    constexpr core::Milliseconds quickly{200};
    return counts == QueueCounts{} && took >= quickly;
}

}  // namespace retryd::amqp
