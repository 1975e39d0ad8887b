// `retryd status --watch` at a terminal: more lines than it has, keys, and the terminal afterwards.
#include <csignal>

#include "support/at_terminal.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/scenario.h"
#include "support/shell.h"

using namespace retryd::test;

namespace {

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
    CHECK(await([&] { return watch.gives_keys(); }));
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
