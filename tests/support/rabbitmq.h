// rabbitmq-c, wherever its version keeps the headers. Only for the test client's own sources.
#pragma once

#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/amqp.h>        // IWYU pragma: export
#include <rabbitmq-c/framing.h>     // IWYU pragma: export
#include <rabbitmq-c/tcp_socket.h>  // IWYU pragma: export
#else
#include <amqp.h>             // IWYU pragma: export
#include <amqp_framing.h>     // IWYU pragma: export
#include <amqp_tcp_socket.h>  // IWYU pragma: export
#endif
