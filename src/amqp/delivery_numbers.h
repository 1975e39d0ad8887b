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
    /// Deliveries of one connection that are not settled, and their bodies.
    struct Open {
        std::size_t messages = 0;
        std::size_t bytes = 0;
        bool operator==(const Open&) const = default;
    };
    struct Ack {
        Origin origin;
        bool multiple = true;
        bool operator==(const Ack&) const = default;
    };

    /// The number of a delivery that has come. `bytes`: of its body.
    core::DeliveryTag add(Origin origin, std::size_t bytes);

    /// That one is settled: where it came from. Nothing where it has been already, or where its connection's channel
    /// has ended since: the broker does not know that tag any more.
    std::optional<Origin> settle(core::DeliveryTag number);

    /// Whether it came from the first connection, and is not settled.
    bool is_of_first(core::DeliveryTag number) const;

    /// Stays unacked for as long as its channel lasts: no ack of many may take it in. The same answer as settle().
    std::optional<Origin> keep(core::DeliveryTag number);

    /// All up to that one are settled: of each connection the newest of them that was not yet, for an ack of all; each
    /// of them, where one that is kept is on its channel.
    std::vector<Ack> settle_up_to(core::DeliveryTag number);

    /// The channel of that connection has ended, and with it its tags.
    void forget(std::size_t connection);

    Open open(std::size_t connection) const { return connection < open_.size() ? open_[connection] : Open{}; }
    /// The bodies of all connections but the first.
    std::size_t bytes_beside_first() const { return bytes_beside_first_; }

  private:
    struct Entry {
        Origin origin;
        std::size_t bytes = 0;
        bool open = true;
    };

    void close(Entry& entry);
    void drop_settled();

    std::deque<Entry> entries_;  // entries_[i] has the number first_ + i
    core::DeliveryTag first_ = 1;
    std::vector<Open> open_;   // by connection
    std::vector<bool> keeps_;  // by connection
    std::size_t bytes_beside_first_ = 0;
};

}  // namespace retryd::amqp
