// What a message costs, without a clock. Prints compiler and processor, then for each case its name, messages,
// allocations and how many those should be; under callgrind it leaves a dump for each, which has its name, and from
// which count.py reads the instructions. Exit code 1 where a case does not allocate exactly what it should.
#include <valgrind/callgrind.h>

#include <iostream>
#include <string>

#include "core/allocations.h"
#include "instructions/cases.h"

namespace retryd::instructions {
namespace {

constexpr std::size_t messages = 1000;

void run(const Case& counted) {
    for (std::size_t done = 0; done < messages; done += counted.messages)
        counted.run();
}

/// The instructions differ between compilers and processors.
std::string machine() {
#if defined(__clang__)
    std::string name = "clang-" + std::to_string(__clang_major__);
#else
    std::string name = "gcc-" + std::to_string(__GNUC__);
#endif
#if defined(__x86_64__)
    return name + "-x86_64";
#elif defined(__aarch64__)
    return name + "-aarch64";
#else
    return name + "-other";
#endif
}

/// Whether it allocates what it should.
bool count(const Case& counted) {
    run(counted);  // to warm up
    const std::size_t before = test::allocations();
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
    run(counted);
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(counted.name.c_str());
    const std::size_t allocated = test::allocations() - before;
    std::cout << counted.name << ' ' << messages << ' ' << allocated << ' ' << counted.allocations << '\n';
    return allocated == counted.allocations;
}

}  // namespace
}  // namespace retryd::instructions

int main() {
    using namespace retryd::instructions;
    std::cout << "# " << machine() << '\n';
    bool as_expected = true;
    for (const auto& cases : {pure_cases(), relay_cases()}) {
        for (const Case& counted : cases)
            as_expected = count(counted) && as_expected;
    }
    return as_expected ? 0 : 1;
}
