// Output on a terminal: bold headings, a progress bar, a screen that is redrawn in place.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"
#include "system/signals.h"

namespace retryd::commands {

enum class Key { up, down, page_up, page_down, home, end, quit, other };

/// Takes complete keys from `bytes` and leaves an incomplete one there.
std::vector<Key> keys_in(std::string& bytes);

/// The first line to show after that key, if so far `shown` of `lines` were on the screen from `first` on.
std::size_t scrolled(std::size_t first, Key key, std::size_t lines, std::size_t shown);

/// While it exists, standard input delivers each key as it is typed, without echo. Ctrl-C and the like remain signals.
/// Does nothing if standard input is not a terminal, or we are in the background.
class Keyboard {
  public:
    explicit Keyboard(bool wanted);
    ~Keyboard() { release(); }
    Keyboard(const Keyboard&) = delete;
    Keyboard& operator=(const Keyboard&) = delete;

    /// Readable when a key was typed; -1 if there is no keyboard.
    int fd() const { return fd_; }
    /// The keys typed since the last call. Call when fd() is readable: if there is no key then, the terminal is gone.
    std::vector<Key> read();

    /// Restores the terminal until take().
    void release() const;
    void take();

    /// For a signal handler that ends the process.
    static void release_at_once();

  private:
    int fd_ = -1;
    std::string bytes_;
};

/// Makes text bold if colours are on.
class Bold {
  public:
    explicit Bold(bool colour) : on_(colour ? "\x1b[1m" : ""), off_(colour ? "\x1b[0m" : "") {}
    std::string operator()(const std::string& text) const { return on_ + text + off_; }

  private:
    std::string on_;
    std::string off_;
};

/// Makes text red, yellow or green if colours are on.
class Colours {
  public:
    explicit Colours(bool on) : on_(on) {}
    std::string problem(const std::string& text) const { return in("\x1b[1;31m", text); }
    std::string warning(const std::string& text) const { return in("\x1b[33m", text); }
    std::string fine(const std::string& text) const { return in("\x1b[32m", text); }

  private:
    std::string in(const char* colour, const std::string& text) const { return on_ ? colour + text + "\x1b[0m" : text; }

    bool on_;
};

/// The current pace, and how long the rest will take.
class Pace {
  public:
    using Time = std::chrono::steady_clock::time_point;

    explicit Pace(Time now) : older_{now, 0}, newer_{now, 0} {}
    /// `1200/s, 3m20s left`; empty while unknown.
    std::string text(std::size_t done, std::size_t all, Time now);

  private:
    struct Mark {
        Time at;
        std::size_t done;
    };
    Mark older_;
    Mark newer_;
};

/// The progress and pace of a long command: a bar on a terminal, otherwise a line every ten seconds.
class ProgressBar {
  public:
    /// `doing`: what is counted, such as "replayed".
    ProgressBar(std::ostream& err, bool terminal, std::size_t all, std::string doing)
        : err_(err), terminal_(terminal), all_(all), doing_(std::move(doing)) {}
    ~ProgressBar() { clear(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    /// `note`: an additional remark, such as "3 failed".
    void show(std::size_t done, const std::string& note);

  private:
    void clear();

    std::ostream& err_;
    bool terminal_;
    bool shown_ = false;
    std::size_t all_;
    std::string doing_;
    Pace pace_{std::chrono::steady_clock::now()};
    std::chrono::steady_clock::time_point due_ = std::chrono::steady_clock::now() + std::chrono::seconds(10);
};

/// `[#########           ]  45 %`
std::string bar_of(std::size_t done, std::size_t all);

bool standard_error_is_terminal();
bool standard_output_is_terminal();

/// Shows a text that is replaced again and again: in place on the terminal's alternate screen, which is left at the
/// end; otherwise one text after the other.
class Screen {
  public:
    /// `in_place` only if `out` is standard output.
    Screen(bool in_place, std::ostream& out);
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    void show(const std::string& text);
    /// Waits for that time while keys scroll the text. False if it should end: after a signal or the key q. A signal
    /// that suspends the process leaves the alternate screen until it is continued.
    bool stay(const system::Signals& signals, core::Milliseconds time);

    /// A signal handler that ends the process at once with exit code 0, back on the usual screen.
    static void leave_and_exit(int signal);

  private:
    void enter();
    void leave();
    void draw();
    void stop();
    bool obey(Key key);

    bool in_place_;
    std::ostream& out_;
    Keyboard keyboard_;
    std::string text_;
    std::size_t first_ = 0;  // line on the screen
};

/// How many of `lines` a screen of that height can show: the cursor needs a line, and so does the hint about the rest.
std::size_t lines_on_screen(std::size_t lines, std::size_t height);

/// The output that redraws a screen of that height without flicker, from line `first` on. Lines that do not fit are
/// counted, with a hint about the keys that scroll if `keys`.
std::string redrawn(const std::string& text, std::size_t height, std::size_t first = 0, bool keys = false);

}  // namespace retryd::commands
