// A message that owns all it refers to, for what has to wait before it can be published.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>

#include "core/message.h"

namespace retryd::core {

/// A deep copy in one arena. Moving it keeps the views valid.
class OwnedDelivery {
  public:
    explicit OwnedDelivery(const Delivery& source);

    const Delivery& get() const { return delivery_; }
    /// What the copy takes, headers included: many small ones may take more than a body.
    std::size_t bytes() const { return bytes_; }

  private:
    std::unique_ptr<std::pmr::monotonic_buffer_resource> arena_;
    Delivery delivery_;
    std::size_t bytes_ = 0;
};

}  // namespace retryd::core
