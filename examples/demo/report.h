// The end of the play: what became of each mail, what was set aside, and whether all was as promised.
#pragma once

#include <vector>

#include "chronicle.h"
#include "core/owned_message.h"
#include "screen.h"

namespace retryd::demo {

void print_ways(const Chronicle& chronicle, const Screen& screen);
void print_parked(const core::Message& message, const Screen& screen);

/// The last line. True if nothing went wrong.
bool print_verdict(Chronicle& chronicle, int exit_code_of_retryd, const Screen& screen);

}  // namespace retryd::demo
