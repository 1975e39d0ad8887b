// Runs the programs `holds` of tests/operations and tests/containers, which check files that are not code.
#pragma once

#include <map>
#include <sstream>
#include <string>

#include "support/catch.h"
#include "support/shell.h"

namespace retryd {

/// What `HOLDS PROJECT` finds, by the names of its checks, which run all together: to start Python takes longer than
/// most of them.
inline std::map<std::string, std::string> findings_of(const std::string& holds, const std::string& project) {
    const test::ShellResult said = test::run_shell(test::shell_word(holds) + " " + test::shell_word(project) + " 2>&1");
    INFO(said.out);
    REQUIRE(said.code == 0);

    std::map<std::string, std::string> found;
    std::string* of_check = nullptr;
    std::istringstream lines(said.out);
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
