// The types of names and addresses: what RabbitMQ takes for the name of a queue or exchange, less the names with which
// retryd could not work.
#pragma once

#include <optional>
#include <string>

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
Scalar routing_key(Given<std::string>& target);
/// A routing key in which `{queue}` stands for the work queue.
Scalar routing_key_template(Given<std::string>& target);

/// Where RabbitMQ's management API is; stored without a / at its end.
Scalar management_url(Given<std::string>& target);
/// HOST:PORT.
Scalar listen_address(std::optional<Http>& target);

}  // namespace retryd::config
