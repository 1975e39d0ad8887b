#include "core/hash.h"

namespace retryd::core {

std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3ULL;
    }
    return hash;
}

std::string hex(std::uint64_t number) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(16, '0');
    for (auto at = text.rbegin(); at != text.rend(); ++at, number >>= 4U)
        *at = digits[number & 0xfU];
    return text;
}

}  // namespace retryd::core
