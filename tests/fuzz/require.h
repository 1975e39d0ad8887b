// How a fuzz target says that a promise is broken.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace retryd::fuzz {

/// Caught by nobody but the test runner: for libFuzzer it is a crash.
class Broken : public std::logic_error {
  public:
    using std::logic_error::logic_error;
};

inline void require(bool holds, const char* promise) {
    if (!holds) throw Broken(promise);
}

inline void require(bool holds, const std::string& promise) {
    if (!holds) throw Broken(promise);
}

/// A password: no text may contain it.
inline constexpr std::string_view secret = "Geheim-7391";

}  // namespace retryd::fuzz
