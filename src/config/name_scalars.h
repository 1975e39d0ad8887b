// The types of names and addresses: what RabbitMQ takes for the name of a queue or exchange, less the names with which
// retryd could not work.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/scalars.h"
#include "config/settings.h"

namespace retryd::config {

/// An exchange that retryd declares.
Scalar exchange_name(Given<std::string>& target);
/// An exchange of somebody else's, which must exist.
Scalar foreign_exchange(Given<std::string>& target);
/// A queue that retryd declares.
Scalar queue_name(Given<std::string>& target);
/// The same, but `{queue}` in it stands for the work queue.
Scalar queue_template(Given<std::string>& target);
/// A work queue, or a glob.
Scalar queue_pattern(Given<std::string>& target);
/// A work queue.
Scalar work_queue_name(Given<std::string>& target);
/// A queue of somebody else's that is consumed, or a glob.
Scalar source_queue(Given<std::string>& target);
Scalar routing_key(Given<std::string>& target);
/// A routing key in which `{queue}` stands for the work queue.
Scalar routing_key_template(Given<std::string>& target);

/// A ladder's name: it is a part of queues' names. As an operator reads it, and as a regular expression.
inline constexpr std::string_view ladder_name_rule = "1 to 64 letters, digits, _ and -";
inline constexpr std::string_view ladder_name_pattern = "^(?!detour$)[A-Za-z0-9_-]{1,64}$";
bool is_ladder_name(std::string_view text);

/// Where RabbitMQ's management API is; stored without a / at its end.
Scalar management_url(Given<std::string>& target);
/// HOST:PORT.
Scalar listen_address(std::optional<Http>& target);

}  // namespace retryd::config
