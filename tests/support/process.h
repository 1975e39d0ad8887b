// A child process whose output goes to a file and which never outlives its object.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "support/await.h"

namespace retryd::test {

class Process {
  public:
    /// Starts it at once; stdout and stderr are appended to `output_file`.
    Process(const std::vector<std::string>& command, const std::string& output_file);
    ~Process();  // SIGKILL, if it still runs
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    pid_t pid() const { return pid_; }
    void signal(int number) const;
    bool running();
    /// The exit code, or 128 + signal; nothing if it still runs when the time is over.
    std::optional<int> wait(milliseconds within);

  private:
    pid_t pid_ = -1;
    std::optional<int> exit_;
};

}  // namespace retryd::test
