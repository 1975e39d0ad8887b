// `retryd run` in a stress run: started, killed, stopped, reloaded; and started again when it ends by itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/process.h"

namespace retryd::stress {

class Sidecar {
  public:
    /// Its file and its log are FOLDER/NAME.yaml and FOLDER/NAME.log.
    Sidecar(std::string folder, std::string name);

    /// The configuration for the next start.
    void write(const std::string& yaml) const;
    void start();
    void kill();
    /// SIGTERM. It has to end with 0, within a minute: how soon is shown elsewhere, on machines that are not so busy.
    void terminate();
    void reload(const std::string& yaml);
    bool started() const { return process_ != nullptr; }
    pid_t pid() const { return process_ ? process_->pid() : -1; }

    /// To be called from time to time: starts it again when it has ended by itself.
    void restart_if_ended();
    /// Each end by itself, and each stop that went wrong.
    const std::vector<std::string>& failures() const { return failures_; }

    const std::string& log_file() const { return log_; }

  private:
    std::string name_;
    std::string config_;
    std::string log_;
    std::unique_ptr<test::Process> process_;
    std::vector<std::string> failures_;
};

}  // namespace retryd::stress
