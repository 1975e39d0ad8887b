// What is promised of a message that is published again.
#pragma once

#include "core/compose.h"

namespace retryd::fuzz {

enum class Composed { retried, parked, returned };

/// `was` came out of the error queue, `composed` goes to the broker.
void check_composed(const core::Message& was, const core::ComposeContext& story, const core::Message& composed,
                    Composed how);

}  // namespace retryd::fuzz
