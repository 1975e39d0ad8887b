// Texts that explain a failed test case, such as the logs of child processes. After a passed one they are not printed.
#pragma once

#include <string>

namespace retryd::test {

/// Printed to stderr when the running test case ends with a failed assertion; forgotten otherwise.
void keep_for_failure(const std::string& title, const std::string& text);

}  // namespace retryd::test
