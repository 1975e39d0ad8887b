// One message on its way, for the tests of compose: as it comes out of the error queue, and what becomes of it.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/compose.h"
#include "core/headers.h"

namespace retryd::core::test {

/// The user that retryd is connected as.
inline constexpr std::string_view connection_user = "retryd";

class ComposeScene {
  public:
    Headers headers;
    Message message;

    /// Gives the message these headers.
    void arrives_with(std::vector<Field> fields);

    /// The same, after an x-death with this one entry.
    void died(const DeathEntry& entry, std::vector<Field> fields = {});

    /// As the relay reads it from the message.
    ComposeContext context() const;

    /// Composed for the rung of this attempt; valid as long as the scene.
    Message retried(std::int64_t attempt = 1);
    Message parked(const Park& park = {ParkReason::attempts_exhausted, 1},
                   WallTime now = WallTime{std::chrono::seconds{1'800'000'000}});

    /// The message comes back from its rung and dies again: what was composed last, with a new x-death in front.
    void dies_again(const DeathEntry& entry);

  private:
    std::deque<ComposeScratch> scratches_;  // one for each composed message
    Message composed_;
};

/// A header of a message, described; `(absent)` where there is none.
std::string header_of(const Message& message, std::string_view name);
/// All headers of a message, described.
std::string headers_of(const Message& message);
std::string names_of_headers(const Message& message);

}  // namespace retryd::core::test
