// Deliveries that wait, unacked, until they can be published.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/message.h"
#include "core/time.h"

namespace retryd::relay {

class PausedDeliveries {
  public:
    /// Copies it.
    void add(const core::Delivery& delivery);

    /// Calls `carry` with each, in order; keeps those for which it returns false.
    template <class Carry>
    void carry(const Carry& carry) {
        std::deque<core::OwnedDelivery> waiting;
        waiting.swap(deliveries_);
        for (core::OwnedDelivery& owned : waiting) {
            if (carry(owned.get())) {
                bytes_ -= owned.bytes();
            } else {
                deliveries_.push_back(std::move(owned));
            }
        }
    }

    void clear();
    bool empty() const { return deliveries_.empty(); }
    std::size_t bytes() const { return bytes_; }  // headers included

  private:
    std::deque<core::OwnedDelivery> deliveries_;
    std::size_t bytes_ = 0;
};

// Deliveries that wait, unacked, to be given back to the error queue.

/// How long after that many failures in a row: doubling from 1 s to 30 s.
core::Milliseconds backoff(int failures);

class DelayedRequeues {
  public:
    void add(core::SteadyTime due, core::DeliveryTag tag);
    /// One that is due, taken out; nothing when there is none.
    std::optional<core::DeliveryTag> take_due(core::SteadyTime now);
    std::optional<core::SteadyTime> next() const;

  private:
    struct Waiting {
        core::SteadyTime due;
        core::DeliveryTag tag;
        bool operator>(const Waiting& other) const { return due > other.due; }
    };
    std::vector<Waiting> heap_;  // the next due first
};

// Where somebody else's exchange has led to no queue: not tried again for a while.

/// By hash_of_address(): with the producer's routing key one exchange has many addresses, of which some may be fine.
class UnroutableAddresses {
  public:
    /// True when this is news.
    bool note(std::uint64_t address, core::SteadyTime now);
    bool holds(std::uint64_t address, core::SteadyTime now) const;
    /// It took a message. True when it was noted before.
    bool heal(std::uint64_t address) { return until_.erase(address) > 0; }

  private:
    std::unordered_map<std::uint64_t, core::SteadyTime> until_;
};

}  // namespace retryd::relay
