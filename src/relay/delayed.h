// What has to wait: deliveries that cannot be published yet, deliveries that go back to the error queue after a pause,
// and addresses that led to no queue and are not tried again for a while.
//
// All of these deliveries stay unacked, so the broker still has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/message.h"
#include "core/time.h"

namespace retryd::relay {

/// Deliveries that cannot be published yet, in their order: the broker or the socket takes nothing, or what they need
/// is being declared.
class WaitingDeliveries {
  public:
    /// Copies it.
    void add(const core::Delivery& delivery);

    /// Calls `process` with each, in order; keeps those for which it returns false.
    template <class Process>
    void process_each(const Process& process) {
        std::deque<core::OwnedDelivery> waiting;
        waiting.swap(deliveries_);
        for (core::OwnedDelivery& owned : waiting) {
            if (process(owned.get())) {
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

/// The pause after that many failures in a row: doubling from 1 s to 30 s.
core::Milliseconds backoff(int failures);

/// Deliveries to be requeued, each when its pause is over.
class DelayedRequeues {
  public:
    void add(core::SteadyTime due, core::DeliveryTag tag);
    /// One that is due, taken out; nothing when there is none.
    std::optional<core::DeliveryTag> take_due(core::SteadyTime now);
    /// When the next one is due.
    std::optional<core::SteadyTime> next() const;

  private:
    struct Requeue {
        core::SteadyTime due;
        core::DeliveryTag tag;
        bool operator>(const Requeue& other) const { return due > other.due; }
    };
    std::vector<Requeue> heap_;  // the next due first
};

/// Where somebody else's exchange has led to no queue: not tried again for a minute. By hash_of_address(): with the
/// producer's routing key one exchange has many addresses, of which some may be fine.
class UnroutableAddresses {
  public:
    /// True when this is news.
    bool add(std::uint64_t address, core::SteadyTime now);
    bool contains(std::uint64_t address, core::SteadyTime now) const;
    /// It took a message. True when it was known as unroutable.
    bool remove(std::uint64_t address) { return until_.erase(address) > 0; }

  private:
    std::unordered_map<std::uint64_t, core::SteadyTime> until_;
};

}  // namespace retryd::relay
