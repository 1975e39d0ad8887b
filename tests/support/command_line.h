// The real `retryd` as a command: what it prints and how it ends.
#pragma once

#include <string>
#include <vector>

#include "support/lines.h"

namespace retryd::test {

struct CommandResult {
    int code = -1;
    std::string out;  // standard output
    std::string err;

    /// Whether a line of `out` contains all of these.
    bool says(const std::vector<std::string>& texts) const { return lines_with(out, texts) > 0; }
};

/// Runs `retryd ARGUMENTS`, which are split as a shell does, to its end.
CommandResult run_retryd(const std::string& arguments);

}  // namespace retryd::test
