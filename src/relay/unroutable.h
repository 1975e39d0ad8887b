// Where somebody else's exchange has led to no queue: not tried again for a while.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/time.h"

namespace retryd::relay {

/// By hash_of_address(): with the producer's routing key one exchange has many addresses, of which some may be fine.
class Unroutable {
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
