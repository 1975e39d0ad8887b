// Commands that hold few messages at a time.
#pragma once

#include <cstdlib>

namespace retryd::test {

/// So many messages one consumer holds, in all commands that the test starts meanwhile.
struct Window {
    explicit Window(const char* messages) { setenv("RETRYD_TEST_WINDOW", messages, 1); }
    ~Window() { unsetenv("RETRYD_TEST_WINDOW"); }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
};

}  // namespace retryd::test
