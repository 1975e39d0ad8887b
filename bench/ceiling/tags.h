// Which publications are confirmed, as far as they are in one piece from the first on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace retryd::bench::ceiling {

class Tags {
  public:
    /// At most so many are open at once.
    explicit Tags(std::size_t most) : ring_(most + 1) {}

    void confirm(std::uint64_t tag, bool multiple) {
        if (multiple) {
            for (std::uint64_t each = whole_ + 1; each <= tag; ++each)
                ring_[each % ring_.size()] = true;
        } else {
            ring_[tag % ring_.size()] = true;
        }
    }

    /// The last one of which all before are confirmed, too, where there is a new one; else 0.
    std::uint64_t take() {
        const std::uint64_t before = whole_;
        while (ring_[(whole_ + 1) % ring_.size()]) {
            ++whole_;
            ring_[whole_ % ring_.size()] = false;
        }
        return whole_ == before ? 0 : whole_;
    }

  private:
    std::vector<bool> ring_;
    std::uint64_t whole_ = 0;
};

}  // namespace retryd::bench::ceiling
