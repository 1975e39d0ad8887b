#include "commands/common/terminal.h"

#include <sstream>

#include "support/catch.h"

namespace retryd::commands::terminal_test {

using Keys = std::vector<Key>;

TEST_CASE("keys: each is known by what terminals send") {
    std::string bytes = "\x1b[A\x1bOB\x1b[5~\x1b[6~ \x1b[H\x1b[4~xq";
    CHECK(keys_in(bytes) == Keys{Key::up, Key::down, Key::page_up, Key::page_down, Key::page_down, Key::home, Key::end,
                                 Key::other, Key::quit});
    CHECK(bytes.empty());
}

TEST_CASE("keys: one that comes in pieces is one, and what nobody knows is one, too") {
    std::string bytes = "\x1b";
    CHECK(keys_in(bytes).empty());
    bytes += "[";
    CHECK(keys_in(bytes).empty());
    bytes += "6~\x1b[1;5C\x1bx";
    CHECK(keys_in(bytes) == Keys{Key::page_down, Key::other, Key::other, Key::other});
    bytes = "\x1b[" + std::string(40, '1');
    CHECK(keys_in(bytes) == Keys{Key::other});
    CHECK(bytes.empty());
}

TEST_CASE("keys: what they scroll stays within the text") {
    CHECK(scrolled(0, Key::up, 100, 20) == 0);
    CHECK(scrolled(5, Key::up, 100, 20) == 4);
    CHECK(scrolled(5, Key::down, 100, 20) == 6);
    CHECK(scrolled(80, Key::down, 100, 20) == 80);
    CHECK(scrolled(5, Key::page_down, 100, 20) == 24);
    CHECK(scrolled(5, Key::page_up, 100, 20) == 0);
    CHECK(scrolled(50, Key::home, 100, 20) == 0);
    CHECK(scrolled(0, Key::end, 100, 20) == 80);
    CHECK(scrolled(80, Key::other, 30, 20) == 10);  // there is less of it now
    CHECK(scrolled(80, Key::down, 10, 20) == 0);
    CHECK(scrolled(0, Key::page_down, 3, 0) == 1);
}

TEST_CASE("a screen is drawn over the last one, and says how much of it does not fit") {
    CHECK(redrawn("a\nb\n", 3) == "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
    CHECK(redrawn("a\nb\nc\n", 3) == "\x1b[Ha\x1b[K\n… 2 more lines\x1b[K\n\x1b[J");
    const auto keys = [](const std::string& lines) {
        return "\x1b[K\n… lines " + lines + " of 3 (arrows, PgUp, PgDn, Home, End; q ends)\x1b[K\n\x1b[J";
    };
    CHECK(redrawn("a\nb\nc\n", 3, 1, true) == "\x1b[Hb" + keys("2 to 2"));
    CHECK(redrawn("a\nb\nc\n", 3, 7, true) == "\x1b[Hc" + keys("3 to 3"));
    CHECK(redrawn("a\nb\n", 3, 1, true) == "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
    CHECK(redrawn("", 1, 5, true) == "\x1b[H\x1b[J");
}

TEST_CASE("a bar is as full as the work is done, and empty where there is none") {
    CHECK(bar_of(1, 2) == "[###############               ]  50 %");
    CHECK(bar_of(3, 2) == "[##############################] 100 %");
    CHECK(bar_of(0, 0) == "[                              ]   0 %");
}

TEST_CASE("the pace is that of the last seconds, and the time that is left follows from it") {
    const Pace::Time start{};
    const auto after = [&](int milliseconds) { return start + std::chrono::milliseconds(milliseconds); };
    Pace pace(start);
    CHECK(pace.text(900, 1'000'000, after(900)).empty());  // too early to say
    CHECK(pace.text(4'800, 1'000'000, after(4'000)) == "1200/s, 13m50s left");
    CHECK(pace.text(12'000, 1'000'000, after(10'000)) == "1200/s, 13m44s left");
    // Then it is blocked for a while, and slower after that.
    CHECK(pace.text(12'000, 1'000'000, after(20'000)).empty());
    CHECK(pace.text(12'015, 12'030, after(25'000)) == "3.0/s, 6s left");
    CHECK(pace.text(12'030, 12'030, after(26'000)) == "5.0/s");
}

TEST_CASE("a progress bar says what is done, how much of it, and what fails: a bar at a terminal, lines elsewhere") {
    std::ostringstream terminal;
    {
        ProgressBar bar(terminal, true, 10, "replayed");
        bar.show(5, "3 failed");
        CHECK(terminal.str() == "\r\x1b[K[###############               ]  50 %  replayed 5 of 10, 3 failed");
        terminal.str("");
        bar.show(6, "");  // too soon to be seen
        CHECK(terminal.str().empty());
    }
    CHECK(terminal.str() == "\r\x1b[K");
    std::ostringstream elsewhere;
    ProgressBar(elsewhere, false, 10, "replayed").show(5, "3 failed");
    CHECK(elsewhere.str().empty());  // a line every ten seconds
}

}  // namespace retryd::commands::terminal_test
