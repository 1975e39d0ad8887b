// The options of `retryd waiting`.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "commands/waiting/waiting.h"

namespace CLI {
class App;
}

namespace retryd::commands {

/// Three commands for what waits on rungs.
class WaitingCommands {
  public:
    /// Keeps references into itself: it stays where it is until the command line is read.
    void add_to(CLI::App& app);

    bool parsed() const;
    /// Runs the one that was asked for. `options`: those before the command; `--config` and `--json` behind it win.
    int run(const ReportOptions& options, std::ostream& out, std::ostream& err) const;

  private:
    CLI::App* add_command(const std::string& name, const std::string& what);
    void add_selectors(CLI::App& command);

    CLI::App* waiting_ = nullptr;
    CLI::App* list_ = nullptr;
    CLI::App* send_ = nullptr;
    CLI::App* park_ = nullptr;

    std::string config_path_;
    bool json_ = false;
    WaitingOptions options_;
    std::vector<std::string> headers_;
    std::string older_than_;
    std::string newer_than_;
    std::size_t first_ = 0;
    std::string rate_ = "50";
};

}  // namespace retryd::commands
