// Header tables and properties, both ways between rabbitmq-c's structures and core's. Nothing is copied but the
// structure: texts stay where they are.
#pragma once

#include <optional>
#include <span>

#include "amqp/arena.h"
#include "amqp/rabbitmq.h"
#include "core/message.h"

namespace retryd::amqp {

/// The header table itself is level 1, a table or an array in it level 2. No honest message comes near: rabbitmq-c
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
