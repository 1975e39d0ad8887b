// What has failed, as a source has it: where and why, and how the message has to look when it goes back there.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/death.h"
#include "core/message.h"
#include "core/policy.h"
#include "core/time.h"

namespace retryd::core {

/// Kept between messages, so that reading one allocates nothing once warm. (Nested headers that stood in a body, and
/// those alone, take an allocation each.)
struct FailureScratch {
    std::vector<Field> fields;  // the headers that go back
    std::string text;           // the exception
    std::string decoded;        // what stood escaped in the message; never grows while views into it are out
    std::deque<std::vector<Field>> tables;  // of headers that stood in a body
    std::deque<std::vector<Value>> arrays;
    std::vector<Field> death;   // the entry of x-death that stands for the failure
    std::vector<Value> deaths;  // all of them
    Value routing_key;          // the array of one in it
    std::string rung;

    void clear();
};

/// Views into the delivery and the scratch.
struct Failure {
    Death death;
    /// As it was before it failed: without what the framework added, and out of its envelope.
    Message message;
    std::string_view exception;  // what the framework says of why; empty where it says nothing
};

/// Longer texts of exceptions are cut: they go into a header, and all headers have to fit one frame.
inline constexpr std::size_t longest_exception = 16 * 1024;

/// Nothing where the message is not as its dialect says, or names no usable work queue: such a message is parked as it
/// is, never guessed at. `queue` is the source it was delivered from: a message that failed nowhere else would come
/// back at once.
std::optional<Failure> read_failure(const Delivery& delivery, const Source& source, std::string_view queue,
                                    WallTime now, FailureScratch& scratch);

/// The delivery as if the broker had dead-lettered the message from its work queue: it looks as it has to when it goes
/// back, with an x-death in front, and with what the framework says of why in a `retryd-*` header. From there on it is
/// read as what comes from the error queue. Views into the delivery and the scratch. What cannot be read as its dialect
/// says is as it was, without an x-death: nothing is known of where it failed.
Delivery as_dead_lettered(const Delivery& delivery, const Source& source, std::string_view queue, WallTime now,
                          FailureScratch& scratch);

}  // namespace retryd::core
