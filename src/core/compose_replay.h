// The message that goes home from a parking queue, to begin anew.
#pragma once

#include <string_view>

#include "core/compose.h"
#include "core/parked.h"
#include "core/replays.h"

namespace retryd::core {

/// What is written down about it in the header retryd-replays.
struct ReplayStamp {
    std::uint64_t time = 0;  // seconds
    std::string_view id;
    std::string_view from;
};

struct ReplayScratch {
    ComposeScratch compose;
    ReplayFields replays;
};

/// As compose_retry, but with a fresh count and a fresh age: retryd-attempt, retryd-reason, retryd-first-death and
/// retryd-parked-* are taken off. What the producer did stays (retryd-exchange, retryd-routing-key, what was set
/// aside), and retryd-queue names `to`, so that a later failure there still knows it. The result holds views into all
/// arguments.
Message compose_replay(const Message& message, const Parked& parked, std::string_view to, const ReplayStamp& stamp,
                       std::string_view connection_user, ReplayScratch& scratch);

/// The story as far as a message of a parking queue tells it.
Story story_of(const Parked& parked, std::string_view connection_user);

}  // namespace retryd::core
