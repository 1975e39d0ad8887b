#include "commands/common/terminal.h"

#include "support/catch.h"

namespace retryd::commands::terminal_test {

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

}  // namespace retryd::commands::terminal_test
