// The real `retryd run` as a child process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/folder.h"
#include "support/lines.h"
#include "support/process.h"

namespace retryd::test {

/// Several runs of one daemon over one configuration file, their output in one log. What it wrote is shown when the
/// test case fails.
class Daemon {
  public:
    Daemon();
    ~Daemon();  // kills it

    void start(const std::string& yaml);
    /// Only writes the file, for commands that read it.
    void write(const std::string& yaml) const;
    /// Replaces the file, then sends SIGHUP.
    void reload(const std::string& yaml);
    /// The file that start(), write() and reload() write.
    std::string config_file() const { return folder_.file("retryd.yaml"); }
    /// SIGTERM; the exit code, or nothing if it has not ended within the time.
    std::optional<int> terminate(milliseconds within = patience);
    void kill();  // SIGKILL, and gone when this returns
    bool running() { return process_ != nullptr && process_->running(); }
    /// The exit code of a run that ends by itself.
    std::optional<int> wait(milliseconds within) { return process_->wait(within); }
    void signal(int number) { process_->signal(number); }

    /// Its memory at this moment, in KiB.
    long resident_kib() const;

    int threads() const;

    std::string log() const;
    /// The number of lines that contain all of these.
    int lines_with(const std::vector<std::string>& texts) const { return test::lines_with(log(), texts); }
    bool await_log(const std::string& text, milliseconds within = patience) const;
    /// How often the broker has ended the connection because it was too busy to start a quorum queue in time (541).
    /// What was under way then comes a second time, and retryd connects again.
    int ended_by_a_busy_broker() const { return lines_with({"the connection", "Cannot declare quorum queue"}); }

  private:
    TemporaryFolder folder_;
    std::unique_ptr<Process> process_;
};

}  // namespace retryd::test
