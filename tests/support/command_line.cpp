#include "support/command_line.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/environment.h"
#include "support/failure_log.h"

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
    const std::string command = retryd_binary() + " " + arguments + " 2>" + errors.string() + " </dev/null";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot run: " + command);
    CommandResult result;
    char buffer[4096];
    while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
        result.out.append(buffer, count);
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
    result.err = take(errors);
    keep_for_failure("retryd " + arguments,
                     result.out + result.err + "ended with " + std::to_string(result.code) + "\n");
    return result;
}

}  // namespace retryd::test
