// How long a connection that does one thing after the other waits for the broker.
#pragma once

#include <chrono>

#include "core/time.h"

namespace retryd::amqp {

/// A quorum queue may take its time where a node is slow or just gone.
inline constexpr core::Milliseconds answers_take{60'000};
/// Heartbeats have to be served more often than the shortest interval between them.
inline constexpr core::Milliseconds longest_silence{400};

inline core::Milliseconds left_until(std::chrono::steady_clock::time_point deadline) {
    return std::chrono::ceil<core::Milliseconds>(deadline - std::chrono::steady_clock::now());
}

}  // namespace retryd::amqp
