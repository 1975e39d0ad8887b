// Runs the programs `holds` of tests/operations and tests/containers, which check files that are not code.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "support/catch.h"

namespace retryd {

/// The output of `HOLDS CHECK PROJECT`; one line where it failed without output.
inline std::string findings(const std::string& holds, const std::string& check, const std::string& project) {
    const std::string command = holds + " " + check + " " + project + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string text;
    std::array<char, 4096> part{};
    while (const std::size_t size = fread(part.data(), 1, part.size(), pipe))
        text.append(part.data(), size);
    const int status = pclose(pipe);
    const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return good || !text.empty() ? text : "'" + command + "' failed and said nothing";
}

}  // namespace retryd
