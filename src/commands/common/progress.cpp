#include "commands/common/progress.h"

#include <unistd.h>

#include <algorithm>
#include <ostream>

namespace retryd::commands {

void ProgressBar::show(std::size_t done, const std::string& note) {
    const auto now = std::chrono::steady_clock::now();
    if (terminal_ ? shown_ && now < due_ : now < due_) return;
    const std::string counts =
        doing_ + " " + std::to_string(done) + " of " + std::to_string(all_) + (note.empty() ? "" : ", " + note);
    if (terminal_) {
        err_ << "\r\x1b[K" << bar_of(done, all_) << "  " << counts << std::flush;
        due_ = now + std::chrono::milliseconds(100);
    } else {
        err_ << "retryd: " << counts << std::endl;
        due_ = now + std::chrono::seconds(10);
    }
    shown_ = true;
}

void ProgressBar::clear() {
    if (terminal_ && shown_) err_ << "\r\x1b[K" << std::flush;
}

std::string bar_of(std::size_t done, std::size_t all) {
    constexpr std::size_t width = 30;
    const std::size_t part = all == 0 ? 0 : std::min(done, all);
    const std::size_t filled = all == 0 ? 0 : part * width / all;
    std::string percent = std::to_string(all == 0 ? 0 : part * 100 / all);
    percent.insert(0, 3 - percent.size(), ' ');
    return "[" + std::string(filled, '#') + std::string(width - filled, ' ') + "] " + percent + " %";
}

bool standard_error_is_terminal() {
    return isatty(STDERR_FILENO) == 1;
}

}  // namespace retryd::commands
