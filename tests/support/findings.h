// Runs the programs `holds` of tests/operations and tests/containers, which check files that are not code.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>

#include "support/catch.h"

namespace retryd {

/// What `HOLDS PROJECT` finds, by the names of its checks, which run all together: to start Python takes longer than
/// most of them.
inline std::map<std::string, std::string> findings_of(const std::string& holds, const std::string& project) {
    const std::string command = holds + " " + project + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string text;
    std::array<char, 4096> part{};
    while (const std::size_t size = fread(part.data(), 1, part.size(), pipe))
        text.append(part.data(), size);
    const int status = pclose(pipe);
    INFO(text);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);

    std::map<std::string, std::string> found;
    std::string* of_check = nullptr;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("== ")) {
            of_check = &found[line.substr(3)];
        } else {
            REQUIRE(of_check != nullptr);
            of_check->append(line).append("\n");
        }
    }
    return found;
}

}  // namespace retryd
