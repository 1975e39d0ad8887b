// Messages that were really rejected, waiting in the error queue.
#pragma once

#include <cstdint>

#include "stage.h"

namespace retryd::bench {

struct Load {
    std::uint32_t messages = 30'000;
    std::size_t body_bytes = 1024;
    int headers = 0;  // of the producer's own
    int steps = 1;    // of the ladder, each taken by as many messages
};

/// Publishes to all work queues in turn, rejects what arrives, and waits until everything is in the error queue.
/// `held`: so many of them a consumer of the error queue may have taken already.
void make_backlog(Stage& stage, const Load& load, std::uint32_t held = 0);

/// Publishes and rejects so that nobody has to be waited for: what a running contender carries on at once.
void reject_messages(Stage& stage, const Load& load);

}  // namespace retryd::bench
