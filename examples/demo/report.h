// The end of the play: what became of each mail, and whether all was as promised.
#pragma once

#include "chronicle.h"
#include "screen.h"

namespace retryd::demo {

void print_ways(const Chronicle& chronicle, const Screen& screen);
/// The last line. True if nothing went wrong.
bool print_verdict(Chronicle& chronicle, int exit_code_of_retryd, const Screen& screen);

}  // namespace retryd::demo
