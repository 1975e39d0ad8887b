// Stack for decoding the headers that a hostile publisher may send.
#pragma once

#include <cstddef>

namespace retryd::amqp {

/// rabbitmq-c up to 0.13 decodes nested arrays and tables by recursion without a limit, and a header frame has room for
/// 26 000 levels. Debian 12's 0.11 takes 2.5 MiB of stack for them (measured on amd64); this leaves room for builds
/// that are less thrifty.
inline constexpr std::size_t decode_stack_bytes = std::size_t{16} * 1024 * 1024;

/// Lets the main thread's stack grow that far, as far as the hard limit of RLIMIT_STACK allows; it does nothing for
/// other threads. Linux reads the limit whenever the stack grows, so it works on a running process.
void provide_decode_stack();

}  // namespace retryd::amqp
