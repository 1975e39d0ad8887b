// Header tables and properties, both ways between rabbitmq-c's structures and core's. Nothing is copied but the
// structure: texts stay where they are.
//
// For each message, so the structures come out of an arena and cost no allocation.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "amqp/rabbitmq.h"
#include "core/message.h"

namespace retryd::amqp {

/// Memory for the tables of one message: taken piece by piece, given back all at once.
///
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

/// The header table itself is level 1, a table or an array in it level 2. No ordinary message comes near: rabbitmq-c
/// itself gives up at about this depth from 0.14 on.
inline constexpr int deepest_level = 100;

/// Views into the decoded frame and into `arena`. Nothing where it nests deeper than deepest_level.
std::optional<core::Table> read_table(const amqp_table_t& table, Arena& arena);
std::optional<core::Properties> read_properties(const amqp_basic_properties_t& properties, Arena& arena);

/// Views into `arena` and into what the source's views look at.
amqp_table_t write_table(const core::Table& table, Arena& arena);
amqp_basic_properties_t write_properties(const core::Properties& properties, Arena& arena);

/// Whether rabbitmq-c can encode the properties into that much room. To be asked before a publish: it sends
/// basic.publish before it finds that the properties do not fit a frame, and the connection is lost (0.11 to 0.16).
bool fits(const amqp_basic_properties_t& properties, std::span<char> room);

}  // namespace retryd::amqp
