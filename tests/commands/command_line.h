// Runs retryd's command line and keeps what it prints; files that last as long as a test.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "commands/cli.h"
#include "support/catch.h"

namespace retryd::commands {

struct Outcome {
    int code = 0;
    std::string out;
    std::string err;
    std::vector<std::string> runs;  // the configurations with which `run` was started
};

inline Outcome run(std::vector<const char*> arguments, bool colour = false) {
    Outcome outcome;
    const Actions actions{"1.2.3", [&](const std::string& path) {
                              outcome.runs.push_back(path);
                              return 42;
                          }};
    arguments.insert(arguments.begin(), "retryd");
    std::ostringstream out;
    std::ostringstream err;
    outcome.code = run_command_line(static_cast<int>(arguments.size()), arguments.data(), actions, out, err, colour);
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
}

class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& text) {
        const int fd = mkstemp(path_.data());
        REQUIRE(fd >= 0);
        close(fd);
        std::ofstream{path_} << text;
    }
    ~TemporaryFile() { std::remove(path_.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    const std::string& path() const { return path_; }

  private:
    std::string path_ = std::filesystem::temp_directory_path() / "retryd-test-XXXXXX";
};

}  // namespace retryd::commands
