// SipHash-2-4 with 64 bits (Aumasson and Bernstein, 2012): a hash of short texts that nobody can compute without the
// key.
//
// Here because core uses no library. tests/core/siphash_test.cpp has the vectors of its authors.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace retryd::core {

/// 128 bits that are secret.
struct SipKey {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    bool operator==(const SipKey&) const = default;
};

class SipHash {
  public:
    explicit SipHash(const SipKey& key)
        : v0_(key.first ^ 0x736f6d6570736575ULL),
          v1_(key.second ^ 0x646f72616e646f6dULL),
          v2_(key.first ^ 0x6c7967656e657261ULL),
          v3_(key.second ^ 0x7465646279746573ULL) {}

    /// Eight bytes, the first of them the lowest.
    void word(std::uint64_t eight) {
        v3_ ^= eight;
        round();
        round();
        v0_ ^= eight;
    }

    /// `last` is the eighth and last part: by the definition what is left of the text, and its length in the top byte.
    std::uint64_t finish(std::uint64_t last) {
        word(last);
        v2_ ^= 0xff;
        for (int i = 0; i < 4; ++i)
            round();
        return v0_ ^ v1_ ^ v2_ ^ v3_;
    }

  private:
    void round() {
        v0_ += v1_;
        v1_ = std::rotl(v1_, 13) ^ v0_;
        v0_ = std::rotl(v0_, 32);
        v2_ += v3_;
        v3_ = std::rotl(v3_, 16) ^ v2_;
        v0_ += v3_;
        v3_ = std::rotl(v3_, 21) ^ v0_;
        v2_ += v1_;
        v1_ = std::rotl(v1_, 17) ^ v2_;
        v2_ = std::rotl(v2_, 32);
    }

    std::uint64_t v0_;
    std::uint64_t v1_;
    std::uint64_t v2_;
    std::uint64_t v3_;
};

/// Eight bytes, the first of them the lowest, on every machine.
inline std::uint64_t eight_bytes(const char* bytes) {
    std::uint64_t word = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&word, bytes, sizeof word);
    } else {
        for (std::size_t i = 0; i < sizeof word; ++i)
            word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return word;
}

inline std::uint64_t four_bytes(const char* bytes) {
    std::uint32_t word = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&word, bytes, sizeof word);
    } else {
        for (std::size_t i = 0; i < sizeof word; ++i)
            word |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return word;
}

/// The same of fewer than eight: of parts that overlap, for a loop would take longer.
inline std::uint64_t few_bytes(const char* bytes, std::size_t count) {
    if (count >= 4) return four_bytes(bytes) | four_bytes(bytes + count - 4) << (8 * (count - 4));
    if (count == 0) return 0;
    const auto at = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i); };
    return at(0) | at(count / 2) | at(count - 1);
}

/// Of one text, as its authors define it.
inline std::uint64_t siphash(const SipKey& key, std::string_view text) {
    SipHash hash(key);
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8)
        hash.word(eight_bytes(text.data() + at));
    return hash.finish(few_bytes(text.data() + at, text.size() - at) | std::uint64_t{text.size() & 0xffU} << 56U);
}

}  // namespace retryd::core
