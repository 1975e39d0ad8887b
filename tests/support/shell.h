// A command of the shell, run to its end.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace retryd::test {

struct ShellResult {
    int code = -1;  // stays so where a signal has ended it
    std::string out;
};

/// As one word of a command, whatever is in it: the path of a clone may have a space.
inline std::string shell_word(const std::string& text) {
    std::string word = "'";
    for (const char c : text)
        word += c == '\'' ? std::string{"'\\''"} : std::string{c};
    return word + "'";
}

inline ShellResult run_shell(const std::string& command) {
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot run: " + command);
    ShellResult result;
    std::array<char, 4096> part{};
    while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe))
        result.out.append(part.data(), size);
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
    return result;
}

}  // namespace retryd::test
