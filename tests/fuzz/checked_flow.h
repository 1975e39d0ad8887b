// What the relay does with a message from the error queue, without queues and confirms: read its deaths, decide,
// compose, encode. Every promise is checked on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/compose.h"
#include "core/message.h"
#include "core/policy.h"
#include "fuzz/encoded.h"

namespace retryd::fuzz {

inline constexpr std::string_view connection_user = "retryd";
inline constexpr std::string_view error_queue = "retryd.errors";

/// Ladders of both kinds, with and without jitter and max_age; `with_rest`: also an entry for all other queues.
core::Policy policy_of(bool with_rest);
/// The longest ladder in it: no message is retried more often.
inline constexpr int longest_ladder = 6;

/// A message that goes to a rung, and what was known of it.
struct Retried {
    std::string work_queue;
    std::int64_t attempt = 0;
    core::Properties properties;  // as they come back from the broker; valid until the next call
};

/// Throws Broken where a promise does not hold.
class CheckedFlow {
  public:
    explicit CheckedFlow(core::Policy policy) : policy_(std::move(policy)) {}

    /// Nothing where it is parked, dropped, returned or too large for a frame. `random` is uniform in [0, 1).
    std::optional<Retried> handle(const core::Message& message, double random);

  private:
    void check_detour(const core::Message& message, const core::ComposeContext& context, const core::Decision& decision,
                      const core::Entry* entry, double random);
    core::Message compose(const core::Message& message, const core::ComposeContext& context,
                          const core::Decision& decision);
    void send_home_from_rung(const core::Message& message, std::string_view work_queue);
    std::optional<core::Properties> publish(const core::Message& composed);

    core::Policy policy_;
    core::ComposeScratch scratch_;
    WireRoundTrip wire_;
};

}  // namespace retryd::fuzz
