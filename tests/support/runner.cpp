// Apart from main(), for programs that use what the tests share and have a main() of their own.
#include "support/runner.h"

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

namespace retryd::test {

int run_tests(int argc, char* argv[]) {
    return Catch::Session().run(argc, argv);
}

}  // namespace retryd::test
