// What a command's exit code tells a script (sysexits.h where there is a number for it).
#pragma once

namespace retryd::commands::exit_code {

inline constexpr int fine = 0;
inline constexpr int failed = 1;           // the broker refused, or cannot be reached
inline constexpr int something_to_do = 2;  // found by looking
inline constexpr int wrong_usage = 64;
inline constexpr int wrong_configuration = 78;

}  // namespace retryd::commands::exit_code
