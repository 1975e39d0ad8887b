// Other programs: the daemon on the stage, and the tools that are called for a moment.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace retryd::demo {

/// A running program. It ends with its object, and with the demo however that ends.
class Child {
  public:
    /// Standard output and error are appended to `output`; standard input comes from `input`. Throws
    /// std::runtime_error where it cannot be started.
    Child(const std::vector<std::string>& command, const std::string& output, const std::string& input = "/dev/null");
    ~Child();  // SIGKILL, if it still runs
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void signal(int number) const;

    /// The exit code, or 128 + signal; nothing while it runs.
    std::optional<int> exit_code();

    /// The same, waiting for it; nothing if it still runs when the time is over. Throws Interrupted.
    std::optional<int> wait(std::chrono::milliseconds time);

  private:
    pid_t pid_ = -1;
    std::optional<int> exit_code_;
};

/// Runs a command to its end and returns what it has written, which is in the file `output` too. Throws
/// std::runtime_error where it fails or takes more than a minute; Interrupted.
std::string run(const std::vector<std::string>& command, const std::string& output,
                const std::string& input = "/dev/null");

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

}  // namespace retryd::demo
