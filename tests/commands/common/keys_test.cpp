#include "commands/common/keys.h"

#include "support/catch.h"

namespace retryd::commands::keys_test {

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

}  // namespace retryd::commands::keys_test
