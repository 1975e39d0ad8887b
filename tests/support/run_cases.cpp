// Catch2 2 is compiled here, apart from main(): a program that uses only helpers which need Catch2 has its own main().
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
// Where a ": " in a test's name stands further right than this, Catch2 2 aborts when it is to print that it has failed.
#define CATCH_CONFIG_CONSOLE_WIDTH 200
#include <catch2/catch.hpp>
#endif

namespace retryd::test {

int run_cases(int argc, char* argv[]) {
    return Catch::Session().run(argc, argv);
}

}  // namespace retryd::test
