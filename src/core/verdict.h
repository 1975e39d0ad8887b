// What the consumer says of a message that it gives up: when to try again, or never.
//
// Only an AMQP 1.0 consumer can say it to the broker, with the outcome `modified` (undeliverable-here, and these as
// message-annotations, which a quorum queue of RabbitMQ 4 hands over as headers, and a classic one does not: tried on
// 4.3.6). AMQP 0-9-1 rejects without giving a reason. What is put into a source may carry them as well.
#pragma once

#include <optional>
#include <string_view>

#include "core/time.h"
#include "core/value.h"

namespace retryd::core {

namespace verdict_header {
inline constexpr std::string_view retry = "x-opt-retry";                // longstr: `never`
inline constexpr std::string_view retry_after = "x-opt-retry-after";    // an integer, seconds; or a duration, as `90s`
inline constexpr std::string_view retry_reason = "x-opt-retry-reason";  // longstr: for people
}  // namespace verdict_header

struct Verdict {
    bool never = false;
    std::optional<Milliseconds> after;  // at least 0
};

/// Anything else in these headers is as if it were not there: a consumer's slip costs no message.
Verdict read_verdict(const Table& headers);

/// Whether it is one of the headers above. What it says of why stays with a message that is parked; all of them go
/// before its next try, so that they are not taken for the next verdict.
inline bool is_verdict(std::string_view name) {
    return name.starts_with(verdict_header::retry) &&
           (name == verdict_header::retry || name == verdict_header::retry_after ||
            name == verdict_header::retry_reason);
}

}  // namespace retryd::core
