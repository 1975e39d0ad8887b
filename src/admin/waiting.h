// What a message on a rung tells about itself, and what it becomes when it need not wait any longer: home, as the rung
// would have sent it, or parked.
#pragma once

#include <string_view>

#include "admin/parked.h"
#include "core/compose.h"

namespace retryd::admin {

/// Why it is parked: the operator asked for it.
inline constexpr std::string_view parked_by_hand = "by-hand";

/// As read_parked, of a message on a rung: `reason` is that of its last death, `at` its first one. Its work queue is
/// known with a proof alone; what has none stays, and goes home in its time.
Parked read_waiting(const core::Table& headers, const core::ProofKeys& keys);

/// `context` is compose_context_of(parked). The result holds views into all arguments.
core::Message compose_parked_by_hand(const core::Message& message, const core::ComposeContext& context,
                                     core::WallTime now, core::ComposeScratch& scratch);

}  // namespace retryd::admin
