// How a long action is stopped and shows its progress: by signals and a bar at a terminal, or through the daemon's
// desk.
#pragma once

#include <csignal>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "commands/common/terminal.h"
#include "system/signals.h"

namespace retryd::commands {

/// Tells a run to end cleanly.
struct StopSign {
    std::function<bool()> pending;
    int fd = -1;  // readable once a stop is pending; -1: pending() has to be called often
};

/// The progress of one step after the other: begin(), then show() often, then end().
class Progress {
  public:
    virtual ~Progress() = default;
    /// `doing`: what is counted, such as "replayed". `all`: how many there are.
    virtual void begin(const std::string& queue, const std::string& doing, std::size_t all) = 0;
    /// `note`: an additional remark, such as "3 failed".
    virtual void show(std::size_t done, const std::string& note) = 0;
    virtual void end() = 0;
};

/// Begins a step, and ends it when destroyed.
class ProgressStep {
  public:
    ProgressStep(Progress& progress, const std::string& queue, const std::string& doing, std::size_t all)
        : progress_(progress) {
        progress_.begin(queue, doing, all);
    }
    ~ProgressStep() { progress_.end(); }
    ProgressStep(const ProgressStep&) = delete;
    ProgressStep& operator=(const ProgressStep&) = delete;

    void show(std::size_t done, const std::string& note) { progress_.show(done, note); }

  private:
    Progress& progress_;
};

/// A command in the foreground: from construction on, Ctrl-C ends it cleanly, and a bar shows its progress.
class Foreground : public Progress {
  public:
    /// `err`: where the bar is drawn.
    explicit Foreground(std::ostream& err) : err_(err) {}

    StopSign stop() const {
        return {[this] { return signals_.pending(); }, signals_.fd()};
    }

    void begin(const std::string&, const std::string& doing, std::size_t all) override {
        bar_.emplace(err_, standard_error_is_terminal(), all, doing);
    }
    void show(std::size_t done, const std::string& note) override { bar_->show(done, note); }
    void end() override { bar_.reset(); }

  private:
    std::ostream& err_;
    const system::Signals signals_{SIGINT, SIGTERM};
    std::optional<ProgressBar> bar_;
};

}  // namespace retryd::commands
