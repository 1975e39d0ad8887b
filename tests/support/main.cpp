#include "support/runner.h"

int main(int argc, char* argv[]) {
    return retryd::test::run_tests(argc, argv);
}
