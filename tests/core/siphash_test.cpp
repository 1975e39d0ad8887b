#include "core/siphash.h"

#include <array>
#include <string>
#include <utility>

#include "support/catch.h"

namespace retryd::core::siphash_test {

TEST_CASE("siphash: the vectors of its authors") {
    constexpr SipKey key{0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL};
    std::string text;
    for (char c = 0; c < 63; ++c)
        text += c;
    const std::array<std::pair<std::size_t, std::uint64_t>, 8> expected{{{0, 0x726fdb47dd0e0e31ULL},
                                                                         {1, 0x74f839c593dc67fdULL},
                                                                         {7, 0xab0200f58b01d137ULL},
                                                                         {8, 0x93f5f5799a932462ULL},
                                                                         {9, 0x9e0082df0ba9e4b0ULL},
                                                                         {15, 0xa129ca6149be45e5ULL},
                                                                         {16, 0x3f2acc7f57c29bdbULL},
                                                                         {63, 0x958a324ceb064572ULL}}};
    for (const auto& [length, hash] : expected) {
        CAPTURE(length);
        CHECK(siphash(key, text.substr(0, length)) == hash);
    }
}

}  // namespace retryd::core::siphash_test
