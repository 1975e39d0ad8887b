// Memory for the tables of one message: taken piece by piece, given back all at once.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <type_traits>
#include <vector>

namespace retryd::amqp {

/// The first 64 KiB between two resets cost no allocation: enough for over a thousand header fields. What goes beyond
/// is allocated, and freed by the reset, so that one odd message does not stay in memory.
class Arena {
  public:
    /// Value-initialised, valid until the next reset; destructors do not run. Null for a count of zero.
    template <typename T>
    T* make(std::size_t count) {
        static_assert(std::is_trivially_destructible_v<T>);
        if (count == 0) return nullptr;
        T* const first = static_cast<T*>(resource_.allocate(count * sizeof(T), alignof(T)));
        std::uninitialized_value_construct_n(first, count);
        return first;
    }

    void reset() { resource_.release(); }

  private:
    static constexpr std::size_t warm_bytes = std::size_t{64} * 1024;
    std::vector<std::byte> warm_ = std::vector<std::byte>(warm_bytes);
    std::pmr::monotonic_buffer_resource resource_{warm_.data(), warm_.size()};
};

}  // namespace retryd::amqp
