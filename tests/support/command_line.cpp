#include "support/command_line.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/environment.h"
#include "support/failure_log.h"
#include "support/shell.h"

namespace retryd::test {

namespace {

std::string take(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    std::filesystem::remove(file);
    return text.str();
}

}  // namespace

CommandResult run_retryd(const std::string& arguments) {
    const auto errors = std::filesystem::temp_directory_path() / ("retryd-test-" + std::to_string(::getpid()) + ".err");
    const ShellResult ran =
        run_shell(shell_word(retryd_binary()) + " " + arguments + " 2>" + shell_word(errors.string()) + " </dev/null");
    const CommandResult result{ran.code, ran.out, take(errors)};
    keep_for_failure("retryd " + arguments,
                     result.out + result.err + "ended with " + std::to_string(result.code) + "\n");
    return result;
}

}  // namespace retryd::test
