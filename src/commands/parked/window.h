// How many messages one consumer of the `parked` commands holds before another one goes on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "amqp/queue_io.h"

namespace retryd::commands {

/// As many as it can hold. Tests that need several consumers name fewer in RETRYD_TEST_WINDOW, because 65,536 messages
/// take their time.
inline std::size_t held_by_one_consumer() {
    const char* fewer = std::getenv("RETRYD_TEST_WINDOW");  // NOLINT(concurrency-mt-unsafe)
    const auto number = fewer == nullptr ? 0 : std::strtoul(fewer, nullptr, 10);
    return number == 0 ? amqp::QueueReader::most_held : std::min<std::size_t>(number, amqp::QueueReader::most_held);
}

}  // namespace retryd::commands
