// A program at a terminal.
#pragma once

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "support/await.h"
#include "support/catch.h"

namespace retryd::test {

/// A program at a terminal of six lines.
class AtTerminal {
  public:
    explicit AtTerminal(const std::string& command) {
        winsize size{};
        size.ws_row = 6;
        size.ws_col = 200;
        pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
        if (pid_ == 0) {
            execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
            _exit(127);
        }
        REQUIRE(pid_ > 0);
        REQUIRE(fcntl(terminal_, F_SETFL, O_NONBLOCK) == 0);
    }
    ~AtTerminal() {
        if (pid_ > 0 && !ended_) {
            ::kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        close(terminal_);
    }
    AtTerminal(const AtTerminal&) = delete;
    AtTerminal& operator=(const AtTerminal&) = delete;

    void type(const std::string& keys) {
        shown_.clear();
        REQUIRE(write(terminal_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
    }
    void send(int signal) { REQUIRE(::kill(pid_, signal) == 0); }
    /// What was shown since the last keys, as far as shows() has read it.
    const std::string& shown() const { return shown_; }

    /// Whether that is shown, now or soon.
    bool shows(const std::string& text) {
        return await([&] {
            char bytes[4096];
            for (ssize_t size = 0; (size = read(terminal_, bytes, sizeof bytes)) > 0;)
                shown_.append(bytes, static_cast<std::size_t>(size));
            return shown_.find(text) != std::string::npos;
        });
    }
    /// Whether each key is given as it is typed, and none is shown.
    bool gives_keys() const {
        termios now{};
        return tcgetattr(terminal_, &now) == 0 && (now.c_lflag & (ICANON | ECHO)) == 0;
    }
    bool is_stopped() {
        return await([&] {
            int status = 0;
            return waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_ && WIFSTOPPED(status);
        });
    }
    /// The exit code; negative where a signal ended it.
    int code() {
        int status = 0;
        ended_ = await([&] { return waitpid(pid_, &status, WNOHANG) == pid_; });
        REQUIRE(ended_);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

  private:
    int terminal_ = -1;
    pid_t pid_ = -1;
    bool ended_ = false;
    std::string shown_;
};

}  // namespace retryd::test
