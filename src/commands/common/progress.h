// How an action that lasts hears that it is to end, and tells how far it is: at a terminal by signals and a bar, at the
// desk of the daemon otherwise.
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

/// What tells a run to end in order.
struct StopSign {
    std::function<bool()> pending;
    int fd = -1;  // readable once it is pending; -1: pending() is asked often
};

/// One step after the other: begin(), show() often, end().
class Progress {
  public:
    virtual ~Progress() = default;
    /// `doing`: what is counted: "replayed". `all`: how many there are.
    virtual void begin(const std::string& queue, const std::string& doing, std::size_t all) = 0;
    /// `note`: what else is to be known: "3 failed".
    virtual void show(std::size_t done, const std::string& note) = 0;
    virtual void end() = 0;
};

/// Ends the step that it has begun.
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

/// A command in the foreground: Ctrl-C ends it in order, from construction on, and a bar shows how far it is.
class Foreground : public Progress {
  public:
    /// `err`: where the bar is.
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
