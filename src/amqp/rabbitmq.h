// rabbitmq-c, wherever this version of it keeps its headers. Only this folder includes it.
#pragma once

#include <string_view>

#if __has_include(<rabbitmq-c/amqp.h>)  // 0.12 and later
#include <rabbitmq-c/amqp.h>            // IWYU pragma: export
#include <rabbitmq-c/framing.h>         // IWYU pragma: export
#include <rabbitmq-c/ssl_socket.h>      // IWYU pragma: export
#include <rabbitmq-c/tcp_socket.h>      // IWYU pragma: export
#else
#include <amqp.h>             // IWYU pragma: export
#include <amqp_framing.h>     // IWYU pragma: export
#include <amqp_ssl_socket.h>  // IWYU pragma: export
#include <amqp_tcp_socket.h>  // IWYU pragma: export
#endif

namespace retryd::amqp {

/// A view of theirs over the same bytes. rabbitmq-c takes no pointers to const, and writes through none of these.
inline amqp_bytes_t bytes_of(std::string_view text) {
    return {text.size(), const_cast<char*>(text.data())};
}

inline std::string_view view_of(const amqp_bytes_t& bytes) {
    return {static_cast<const char*>(bytes.bytes), bytes.len};
}

}  // namespace retryd::amqp
