// What the commands do on a terminal and not elsewhere: bold headings, a progress bar, a screen that is redrawn in
// place.
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

/// Takes the keys out of `bytes`, and leaves there what has come of one that has not come as a whole.
std::vector<Key> keys_in(std::string& bytes);

/// The line to begin with after that key, where it was `first` and `shown` of `lines` are on the screen.
std::size_t scrolled(std::size_t first, Key key, std::size_t lines, std::size_t shown);

/// While it lives, standard input gives each key as it is typed and shows none. Ctrl-C and the like stay signals.
/// Nothing of that where standard input is no terminal, or not ours at the moment.
class Keyboard {
  public:
    explicit Keyboard(bool wanted);
    ~Keyboard() { release(); }
    Keyboard(const Keyboard&) = delete;
    Keyboard& operator=(const Keyboard&) = delete;

    /// Readable when a key was typed; -1 where there is no keyboard.
    int fd() const { return fd_; }
    /// What was typed since the last call. To be called when fd() is readable: without a key then, the terminal is
    /// gone.
    std::vector<Key> read();

    /// As the terminal was before, until take().
    void release() const;
    void take();

    /// For a signal handler that ends the process.
    static void release_at_once();

  private:
    int fd_ = -1;
    std::string bytes_;
};

/// Text in bold where there is colour, as it is elsewhere.
class Bold {
  public:
    explicit Bold(bool colour) : on_(colour ? "\x1b[1m" : ""), off_(colour ? "\x1b[0m" : "") {}
    std::string operator()(const std::string& text) const { return on_ + text + off_; }

  private:
    std::string on_;
    std::string off_;
};

/// Text in the colours of a traffic light where there is colour, as it is elsewhere.
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

/// How many a second of late, and how long the rest takes at that pace.
class Pace {
  public:
    using Time = std::chrono::steady_clock::time_point;

    explicit Pace(Time now) : older_{now, 0}, newer_{now, 0} {}
    /// `1200/s, 3m20s left`; empty as long as that is not known.
    std::string text(std::size_t done, std::size_t all, Time now);

  private:
    struct Mark {
        Time at;
        std::size_t done;
    };
    Mark older_;
    Mark newer_;
};

/// How far a long command is, and at which pace: a bar on a terminal, a line every ten seconds elsewhere.
class ProgressBar {
  public:
    /// `doing`: what is counted: "replayed".
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
    Pace pace_{std::chrono::steady_clock::now()};
    std::chrono::steady_clock::time_point due_ = std::chrono::steady_clock::now() + std::chrono::seconds(10);
};

/// `[#########           ]  45 %`
std::string bar_of(std::size_t done, std::size_t all);

bool standard_error_is_terminal();
bool standard_output_is_terminal();

/// In place: on the terminal's alternate screen, and the usual one is back when this ends. Else one text after the
/// other.
class Screen {
  public:
    /// `in_place` only where `out` is standard output.
    Screen(bool in_place, std::ostream& out);
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    void show(const std::string& text);
    /// Waits for that time, in which keys scroll what is shown. False once it is to end: a signal has come, or the key
    /// q. A signal that stops the process leaves the screen until it goes on.
    bool stay(const system::Signals& signals, core::Milliseconds time);

    /// A signal handler that ends the process at once, with 0 and the usual screen.
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
    std::size_t first_ = 0;  // line that is on the screen
};

/// How many of so many lines a screen of that height shows: the cursor takes one, and so does what tells of the rest.
std::size_t lines_on_screen(std::size_t lines, std::size_t height);

/// What redraws a screen of that height without flicker, from that line on: lines that do not fit are counted instead,
/// with the keys that scroll where there are `keys`.
std::string redrawn(const std::string& text, std::size_t height, std::size_t first = 0, bool keys = false);

}  // namespace retryd::commands
