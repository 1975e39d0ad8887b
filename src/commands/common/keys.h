// What is typed at a terminal while a text is shown there that is longer than the screen.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <vector>

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

}  // namespace retryd::commands
