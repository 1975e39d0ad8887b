// Catch2's own run of all test cases that the command line asks for; its exit code.
#pragma once

namespace retryd::test {

int run_tests(int argc, char* argv[]);

}  // namespace retryd::test
