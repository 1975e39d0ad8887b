// Whether a queue that the broker calls empty is empty.
#pragma once

#include <cstdint>
#include <optional>

#include "amqp/declarer.h"
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

/// How many messages are ready in a queue that a consumer of ours takes from; nothing where that is not known. Where
/// the queue was asked it has that consumer at least.
inline std::optional<std::uint64_t> ready_where_we_consume(const Declarer::Outcome& outcome) {
    if (outcome.result != Declarer::Result::done || outcome.counts.consumers == 0) return std::nullopt;
    return outcome.counts.messages;
}

}  // namespace retryd::amqp
