// `retryd status --watch` at a terminal: more lines than it has, keys, and the terminal afterwards.
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>

#include "support/await.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/scenario.h"
#include "support/shell.h"

using namespace retryd::test;

namespace {

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

constexpr const char* usual_screen = "\x1b[?1049l";

}  // namespace

TEST_CASE("status --watch: keys scroll where there are more lines than the terminal has, and q ends it",
          "[one-version]") {
    Scenario s;
    for (const char* queue : {"a", "b", "c", "d"})
        s.retry(s.work_queue(queue), {"1h"});
    s.daemon.write(s.config.yaml());
    AtTerminal watch(shell_word(retryd_binary()) + " status --watch --interval 1h -c " + s.daemon.config_file());
    REQUIRE(watch.shows("lines 1 to 4 of "));
    CHECK(watch.gives_keys());
    watch.type("\x1b[B");
    CHECK(watch.shows("lines 2 to 5 of "));
    watch.type("\x1b[6~");
    CHECK(watch.shows("lines 5 to 8 of "));
    watch.type("\x1b[A");
    CHECK(watch.shows("lines 4 to 7 of "));
    watch.type("\x1b[5~\x1b[5~");
    CHECK(watch.shows("lines 1 to 4 of "));
    watch.type("q");
    CHECK(watch.shows(usual_screen));
    CHECK(watch.code() == 0);
    CHECK_FALSE(watch.gives_keys());
}

TEST_CASE("status --watch: whatever ends or stops it, the terminal is as it was", "[one-version]") {
    Scenario s;
    s.retry(s.work_queue("a"), {"1h"});
    s.daemon.write(s.config.yaml());
    const std::string command =
        shell_word(retryd_binary()) + " status --watch --interval 1h -c " + s.daemon.config_file();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        CAPTURE(signal);
        AtTerminal watch(command);
        REQUIRE(watch.shows("\x1b[J"));
        watch.send(signal);
        CHECK(watch.shows(usual_screen));
        CHECK(watch.code() == 0);
        CHECK_FALSE(watch.gives_keys());
    }
    AtTerminal watch(command);
    REQUIRE(watch.shows("\x1b[J"));
    watch.type("\x1a");  // Ctrl-Z
    CHECK(watch.shows(usual_screen));
    REQUIRE(watch.is_stopped());
    CHECK_FALSE(watch.gives_keys());
    watch.send(SIGCONT);
    CHECK(watch.shows("\x1b[?1049h"));
    CHECK(await([&] { return watch.gives_keys(); }));
    watch.type("q");
    CHECK(watch.code() == 0);
}
