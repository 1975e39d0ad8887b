// The command line of `retryd parked`: four commands over what is parked.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "commands/common/report.h"
#include "commands/parked/list_and_show.h"
#include "commands/parked/replay_and_drop.h"

namespace CLI {
class App;
}

namespace retryd::commands {

class ParkedCommands {
  public:
    /// Keeps references into itself: it stays where it is until the command line is read.
    void add_to(CLI::App& app);

    bool parsed() const;
    /// Runs the one that was asked for. `options`: those before the command; `--config` and `--json` behind it win.
    int run(const ReportOptions& options, std::ostream& out, std::ostream& err) const;

  private:
    void add_list(CLI::App& parked);
    void add_show(CLI::App& parked);
    void add_replay(CLI::App& parked);
    void add_drop(CLI::App& parked);
    void add_selectors(CLI::App& command);
    void add_first(CLI::App& command);
    ParkedOptions options_for(const ReportOptions& before) const;

    CLI::App* parked_ = nullptr;
    CLI::App* list_ = nullptr;
    CLI::App* show_ = nullptr;
    CLI::App* replay_ = nullptr;
    CLI::App* drop_ = nullptr;

    std::string config_path_;
    bool json_ = false;
    ParkedOptions parked_options_;
    std::vector<std::string> headers_;
    std::string older_than_;
    std::string newer_than_;
    ShowOptions show_options_;
    ParkedRunOptions replay_options_;
    ParkedRunOptions drop_options_;
    std::size_t first_ = 0;
    std::string rate_ = "50";
    std::string stop_after_ = "10";
};

}  // namespace retryd::commands
