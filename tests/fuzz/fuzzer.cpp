// libFuzzer's entry into one target, whose name the build gives.
#include <cstddef>
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    retryd::fuzz::RETRYD_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
    return 0;
}
