// Bytes that cannot be guessed.
#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace retryd::system {

/// From the kernel. Throws std::system_error.
inline void fill_with_random(char* into, std::size_t bytes) {
    for (std::size_t have = 0; have < bytes;) {
        const ssize_t got = getrandom(into + have, bytes - have, 0);
        if (got < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
        if (got > 0) have += static_cast<std::size_t>(got);
    }
}

inline std::uint64_t random_word() {
    std::uint64_t word = 0;
    fill_with_random(reinterpret_cast<char*>(&word), sizeof word);
    return word;
}

/// So many bytes as hex digits, two for each.
inline std::string random_hex(std::size_t bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string raw(bytes, '\0');
    fill_with_random(raw.data(), bytes);
    std::string hex;
    for (const char c : raw) {
        hex += digits[static_cast<unsigned char>(c) >> 4U];
        hex += digits[static_cast<unsigned char>(c) & 0xfU];
    }
    return hex;
}

}  // namespace retryd::system
