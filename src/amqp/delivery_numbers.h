// One row of numbers for the deliveries of several connections.
//
// The relay knows deliveries by tags 1, 2, 3 … without a gap, and each channel has tags of its own. So where there are
// sources, deliveries are numbered as they come, and an ack for the numbers up to one becomes an ack for each
// connection.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "core/message.h"

namespace retryd::amqp {

class DeliveryNumbers {
  public:
    /// A delivery as its connection knows it.
    struct Origin {
        std::size_t connection = 0;
        core::DeliveryTag tag = 0;
        bool operator==(const Origin&) const = default;
    };

    /// The number of a delivery that has come.
    core::DeliveryTag add(Origin origin);

    /// That one is settled: where it came from. Nothing where it has been already, or where its connection's channel
    /// has ended since: the broker does not know that tag any more.
    std::optional<Origin> settle(core::DeliveryTag number);

    /// All up to that one are settled: of each connection the newest of them that was not yet, for an ack of all.
    std::vector<Origin> settle_up_to(core::DeliveryTag number);

    /// The channel of that connection has ended, and with it its tags.
    void forget(std::size_t connection);

  private:
    struct Entry {
        Origin origin;
        bool open = true;
    };

    void drop_settled();

    std::deque<Entry> entries_;  // entries_[i] has the number first_ + i
    core::DeliveryTag first_ = 1;
};

}  // namespace retryd::amqp
