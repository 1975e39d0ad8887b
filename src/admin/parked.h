// What a message in a parking queue tells about itself, and whether it is among those that an operator means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/death.h"
#include "core/time.h"
#include "core/value.h"

namespace retryd::admin {

/// Views into the header table it was read from.
struct Parked {
    /// The work queue. Of what retryd parked: the header retryd-queue. Of what the broker dead-lettered without retryd
    /// (into the catch-all): x-death's, else that header. Empty where nobody knows.
    std::string_view queue;
    /// retryd-parked-reason; of what the broker dead-lettered the reason of its newest death; empty where nobody knows.
    std::string_view reason;
    /// Since when it is parked, in seconds; of what the broker dead-lettered the time of that newest death.
    std::optional<std::uint64_t> at;
    std::string_view death_reason;     // why it died in the work queue; may be empty
    std::int64_t attempts = 0;         // 0 where it is not known
    bool by_retryd = false;            // else by the broker, or by a stranger
    std::optional<core::Death> death;  // in `queue`, where x-death tells of it
    core::RetryHistory carried;        // of `queue`
};

Parked read_parked(const core::Table& headers, std::string_view error_queue);

struct HeaderMatch {
    std::string name;
    std::string value;  // a glob; numbers and truth values are compared as text
};

/// Which of them are meant: all conditions hold. One that is empty holds for every message.
struct Selection {
    std::string queue = {};   // a name or a glob
    std::string reason = {};  // a name or a glob
    std::optional<core::WallTime> parked_before = {};
    std::optional<core::WallTime> parked_after = {};
    std::vector<HeaderMatch> headers = {};

    bool everything() const {
        return queue.empty() && reason.empty() && !parked_before && !parked_after && headers.empty();
    }
};

/// A message of which nobody knows when it was parked is neither older nor newer than anything.
bool selects(const Selection& selection, const Parked& parked, const core::Table& headers);

}  // namespace retryd::admin
