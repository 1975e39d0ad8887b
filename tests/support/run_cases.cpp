// Catch2 2 is compiled here. Apart from main(): a program that only has helpers which use Catch2 has a main() of its
// own.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

namespace retryd::test {

int run_cases(int argc, char* argv[]) {
    return Catch::Session().run(argc, argv);
}

}  // namespace retryd::test
