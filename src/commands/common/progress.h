// How far a long command is: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>

namespace retryd::commands {

class ProgressBar {
  public:
    ProgressBar(std::ostream& err, bool terminal, std::size_t all, std::string doing)
        : err_(err), terminal_(terminal), all_(all), doing_(std::move(doing)) {}
    ~ProgressBar() { clear(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    /// `note`: what else is to be known: "3 failed".
    void show(std::size_t done, const std::string& note);

  private:
    void clear();

    std::ostream& err_;
    bool terminal_;
    bool shown_ = false;
    std::size_t all_;
    std::string doing_;
    std::chrono::steady_clock::time_point due_ = std::chrono::steady_clock::now() + std::chrono::seconds(10);
};

/// `[#########           ]  45 %`
std::string bar_of(std::size_t done, std::size_t all);

/// Whether standard error is one.
bool standard_error_is_terminal();

}  // namespace retryd::commands
