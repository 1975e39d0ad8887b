// A mark by which a message is recognised when the broker gives it again.
#pragma once

#include <cstdint>

#include "core/message.h"

namespace retryd::core {

/// Over body, message id and headers but those that count deliveries: the same for every redelivery of a message.
/// Not for naming anything that lasts.
std::uint64_t digest(const Message& message);

}  // namespace retryd::core
