#include "commands/common/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ostream>
#include <string_view>
#include <vector>

#include "core/duration.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

struct KeyBytes {
    std::string_view bytes;
    Key key;
};
/// The sequences that terminals send, and the letters that less uses.
constexpr std::array known_keys{
    KeyBytes{"\x1b[A", Key::up},
    KeyBytes{"\x1bOA", Key::up},
    KeyBytes{"k", Key::up},
    KeyBytes{"\x1b[B", Key::down},
    KeyBytes{"\x1bOB", Key::down},
    KeyBytes{"j", Key::down},
    KeyBytes{"\n", Key::down},
    KeyBytes{"\r", Key::down},
    KeyBytes{"\x1b[5~", Key::page_up},
    KeyBytes{"b", Key::page_up},
    KeyBytes{"\x1b[6~", Key::page_down},
    KeyBytes{" ", Key::page_down},
    KeyBytes{"\x1b[H", Key::home},
    KeyBytes{"\x1bOH", Key::home},
    KeyBytes{"\x1b[1~", Key::home},
    KeyBytes{"g", Key::home},
    KeyBytes{"\x1b[F", Key::end},
    KeyBytes{"\x1bOF", Key::end},
    KeyBytes{"\x1b[4~", Key::end},
    KeyBytes{"G", Key::end},
    KeyBytes{"q", Key::quit},
};

/// The length in bytes of the key at the beginning of `bytes`; 0: it is incomplete.
std::size_t length_of_key(std::string_view bytes) {
    constexpr std::size_t longest = 16;
    if (bytes.front() != '\x1b') return 1;
    if (bytes.size() == 1) return 0;
    if (bytes[1] == 'O') return bytes.size() > 2 ? 3 : 0;
    if (bytes[1] != '[') return 1;
    for (std::size_t at = 2; at < bytes.size(); ++at) {
        if (bytes[at] >= '@' && bytes[at] <= '~') return at + 1;
    }
    return bytes.size() < longest ? 0 : bytes.size();
}

// For the signal handler.
termios before_keys{};
volatile std::sig_atomic_t keys_taken = 0;

}  // namespace

std::vector<Key> keys_in(std::string& bytes) {
    std::vector<Key> keys;
    std::string_view rest = bytes;
    while (!rest.empty()) {
        const std::size_t length = length_of_key(rest);
        if (length == 0) break;
        const auto known = std::find_if(known_keys.begin(), known_keys.end(),
                                        [&](const KeyBytes& each) { return each.bytes == rest.substr(0, length); });
        keys.push_back(known == known_keys.end() ? Key::other : known->key);
        rest.remove_prefix(length);
    }
    bytes.erase(0, bytes.size() - rest.size());
    return keys;
}

std::size_t scrolled(std::size_t first, Key key, std::size_t lines, std::size_t shown) {
    const std::size_t last = lines > shown ? lines - shown : 0;
    const std::size_t page = std::max<std::size_t>(shown, 2) - 1;  // one line of the previous page stays visible
    switch (key) {
        case Key::up:
            return std::min(last, first - std::min<std::size_t>(first, 1));
        case Key::down:
            return std::min(last, first + 1);
        case Key::page_up:
            return std::min(last, first - std::min(first, page));
        case Key::page_down:
            return std::min(last, first + page);
        case Key::home:
            return 0;
        case Key::end:
            return last;
        case Key::quit:
        case Key::other:
            break;
    }
    return std::min(last, first);
}

Keyboard::Keyboard(bool wanted) {
    // In the background the attempt would stop the process.
    const bool ours = wanted && isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp();
    if (!ours || tcgetattr(STDIN_FILENO, &before_keys) != 0) return;
    fd_ = STDIN_FILENO;
    take();
}

void Keyboard::take() {
    if (fd_ < 0) return;
    termios raw = before_keys;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    keys_taken = 1;
    tcsetattr(fd_, TCSADRAIN, &raw);
}

void Keyboard::release() const {
    release_at_once();
}

void Keyboard::release_at_once() {
    if (keys_taken == 0) return;
    keys_taken = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before_keys);
}

std::vector<Key> Keyboard::read() {
    std::array<char, 256> typed{};
    const ssize_t size = ::read(fd_, typed.data(), typed.size());
    if (size <= 0) {
        fd_ = -1;
        return {};
    }
    bytes_.append(typed.data(), static_cast<std::size_t>(size));
    return keys_in(bytes_);
}

/// Over the last five to ten seconds, so that a ramp or a blocked broker is soon forgotten.
std::string Pace::text(std::size_t done, std::size_t all, Time now) {
    using Seconds = std::chrono::duration<double>;
    constexpr std::chrono::seconds a_while{5};
    if (now - newer_.at >= a_while) {
        older_ = newer_;
        newer_ = {now, done};
    }
    const double time = std::chrono::duration_cast<Seconds>(now - older_.at).count();
    if (time < 1 || done <= older_.done) return "";
    const double rate = static_cast<double>(done - older_.done) / time;
    std::string text = rate < 10 ? std::to_string(rate).substr(0, 3) : std::to_string(static_cast<std::size_t>(rate));
    text += "/s";
    if (done >= all) return text;
    const auto left = static_cast<std::int64_t>(static_cast<double>(all - done) / rate) + 1;
    return text + ", " + core::format_duration(std::chrono::seconds(left)) + " left";
}

void ProgressBar::show(std::size_t done, const std::string& note) {
    const auto now = std::chrono::steady_clock::now();
    if (terminal_ ? shown_ && now < due_ : now < due_) return;
    const std::string pace = pace_.text(done, all_, now);
    const std::string counts = doing_ + " " + std::to_string(done) + " of " + std::to_string(all_) +
                               (pace.empty() ? "" : ", " + pace) + (note.empty() ? "" : ", " + note);
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

bool standard_output_is_terminal() {
    return isatty(STDOUT_FILENO) == 1;
}

namespace {

// Switches to the alternate screen, without cursor, cutting long lines instead of wrapping them; and back.
constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave_screen = "\x1b[?7h\x1b[?25h\x1b[?1049l";

volatile std::sig_atomic_t on_alternate_screen = 0;

std::size_t terminal_height() {
    constexpr std::size_t usual = 24;
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : usual;
}

}  // namespace

Screen::Screen(bool in_place, std::ostream& out) : in_place_(in_place), out_(out), keyboard_(in_place) {
    enter();
}

Screen::~Screen() {
    leave();
}

void Screen::enter() {
    on_alternate_screen = in_place_ ? 1 : 0;
    if (in_place_) out_ << enter_screen << std::flush;
}

void Screen::leave() {
    if (in_place_) out_ << leave_screen << std::flush;
    on_alternate_screen = 0;
}

void Screen::show(const std::string& text) {
    text_ = text;
    draw();
}

void Screen::draw() {
    out_ << (in_place_ ? redrawn(text_, terminal_height(), first_, keyboard_.fd() >= 0) : text_) << std::flush;
}

bool Screen::stay(const system::Signals& signals, core::Milliseconds time) {
    const core::SteadyTime until = system::steady_now() + time;
    for (;;) {
        const core::Milliseconds left = until - system::steady_now();
        if (left <= core::Milliseconds::zero()) return true;
        const int signal = signals.wait(left, keyboard_.fd());
        if (signal == SIGTSTP) {
            stop();
        } else if (signal != 0) {
            return false;
        }
        if (system::steady_now() >= until || keyboard_.fd() < 0) continue;
        const std::vector<Key> keys = signal == 0 ? keyboard_.read() : std::vector<Key>{};
        if (!std::all_of(keys.begin(), keys.end(), [this](Key key) { return obey(key); })) return false;
        if (!keys.empty()) draw();
    }
}

void Screen::stop() {
    leave();
    keyboard_.release();
    raise(SIGSTOP);
    keyboard_.take();
    enter();
    draw();
}

bool Screen::obey(Key key) {
    const auto lines = static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n'));
    first_ = scrolled(first_, key, lines, lines_on_screen(lines, terminal_height()));
    return key != Key::quit;
}

/// Calls only async-signal-safe functions.
void Screen::leave_and_exit(int) {
    Keyboard::release_at_once();
    if (on_alternate_screen != 0 && write(STDOUT_FILENO, leave_screen.data(), leave_screen.size()) < 0) _exit(1);
    _exit(0);
}

std::size_t lines_on_screen(std::size_t lines, std::size_t height) {
    return lines < height ? lines : height - std::min<std::size_t>(height, 2);
}

std::string redrawn(const std::string& text, std::size_t height, std::size_t first, bool keys) {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    const std::size_t shown = lines_on_screen(lines, height);
    const std::size_t from = std::min(first, lines - shown);
    std::string screen = "\x1b[H";
    std::size_t at = 0;
    for (std::size_t line = 0; line < from + shown; ++line) {
        const std::size_t end = text.find('\n', at);
        if (line >= from) screen.append(text, at, end - at).append("\x1b[K\n");
        at = end + 1;
    }
    if (shown < lines && keys) {
        screen += "… lines " + std::to_string(from + 1) + " to " + std::to_string(from + shown) + " of " +
                  std::to_string(lines) + " (arrows, PgUp, PgDn, Home, End; q ends)\x1b[K\n";
    } else if (shown < lines) {
        screen += "… " + std::to_string(lines - shown) + " more lines\x1b[K\n";
    }
    return screen + "\x1b[J";
}

}  // namespace retryd::commands
