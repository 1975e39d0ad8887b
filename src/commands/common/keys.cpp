#include "commands/common/keys.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

namespace retryd::commands {

namespace {

struct KeyBytes {
    std::string_view bytes;
    Key key;
};
/// As terminals send them, and the letters that less has.
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

/// How many bytes the key takes that `bytes` begins with; 0: more of it has to come.
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
    const std::size_t page = std::max<std::size_t>(shown, 2) - 1;  // a line of the page before stays
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
    // A process in the background would be stopped by the attempt.
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

}  // namespace retryd::commands
