// Whether a queue that the broker calls empty is empty.
#pragma once

#include "amqp/topology_commands.h"
#include "core/time.h"

namespace retryd::amqp {

/// RabbitMQ says of a quorum queue that it has neither messages nor consumers where that does not answer it within 250
/// ms, or has no leader now (rabbit_quorum_queue:stat/2; 3.10.8 and 4.3.6, run). So such an answer counts only if it
/// came quickly.
class EmptyAnswers {
  public:
    /// It is believed after so many quick ones in a row.
    explicit EmptyAnswers(int needed) : needed_(needed) {}

    /// One more answer of the queue, which came after that time. False: ask again.
    bool believed(const QueueCounts& counts, core::Milliseconds took) {
        constexpr core::Milliseconds quickly{100};
        const bool empty = counts == QueueCounts{};
        quick_ones_ = empty && took < quickly ? quick_ones_ + 1 : 0;
        return !empty || quick_ones_ >= needed_;
    }
    /// The last answer was such a one, and came quickly.
    bool any() const { return quick_ones_ > 0; }

  private:
    int needed_;
    int quick_ones_ = 0;
};

}  // namespace retryd::amqp
