// Deliveries that wait, unacked, until they can be published.
#pragma once

#include <cstddef>
#include <deque>

#include "core/owned_message.h"

namespace retryd::relay {

class Held {
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

}  // namespace retryd::relay
