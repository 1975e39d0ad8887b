// What somebody at the desk is told who holds a work queue or releases what is held of it: why nothing was done, or
// what follows. Each says the cause, the consequence and the way out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/policy.h"
#include "core/time.h"

namespace retryd::daemon::hold_words {

/// `entry` is null, or may not hold.
std::string may_not_hold(const core::Policy& policy, const core::Entry* entry, const std::string& work_queue);
std::string too_many(std::size_t most);
std::string holds(const std::string& work_queue, const std::string& held_queue);
std::string holds_by_entry(const std::string& work_queue);
std::string holds_already(const std::string& work_queue, core::WallTime since);

std::string kept_by_entry(const std::string& work_queue);
std::string nothing_held(const std::string& work_queue);
std::string not_counted_yet(const std::string& work_queue);
std::string not_touched(const std::string& held_queue, const std::string& cause, const std::string& remedy);
std::string releases(const std::string& work_queue, const std::optional<std::uint64_t>& messages, double per_second,
                     bool may_relapse);
std::string releases_already(const std::string& work_queue, double per_second);

/// `14:02`, UTC.
std::string clock_of(core::WallTime time);
/// `12,400 messages`, or without a number where there is none.
std::string messages_in(const std::optional<std::uint64_t>& messages);
/// `50 a second`
std::string rate_text(double rate);

}  // namespace retryd::daemon::hold_words
