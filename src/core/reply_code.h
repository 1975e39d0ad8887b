// The codes with which a broker gives a reason (AMQP 0-9-1): when it refuses a step, closes a channel or the
// connection.
#pragma once

namespace retryd::core::reply_code {

inline constexpr int content_too_large = 311;
inline constexpr int connection_forced = 320;  // an operator closed it, or the broker is going down
inline constexpr int access_refused = 403;
inline constexpr int not_found = 404;
inline constexpr int resource_locked = 405;  // of a queue: it is another connection's alone
inline constexpr int precondition_failed = 406;
inline constexpr int internal_error = 541;  // something of the broker's own has crashed

}  // namespace retryd::core::reply_code
