// The fuzzer's bytes, taken from the front as choices. When they are used up every choice is 0 and every text empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace retryd::fuzz {

class Bytes {
  public:
    explicit Bytes(std::string_view input) : left_(input) {}

    bool empty() const { return left_.empty(); }

    std::uint8_t byte() {
        if (left_.empty()) return 0;
        const auto value = static_cast<std::uint8_t>(left_.front());
        left_.remove_prefix(1);
        return value;
    }

    /// 0 to most.
    std::size_t number(std::size_t most) { return byte() % (most + 1); }

    std::uint64_t eight() {
        std::uint64_t value = 0;
        for (int i = 0; i < 8; ++i)
            value = value << 8U | byte();
        return value;
    }

    std::string_view text(std::size_t length) {
        const std::string_view taken = left_.substr(0, length);
        left_.remove_prefix(taken.size());
        return taken;
    }

    /// Up to the first `end`, which is taken too.
    std::string_view text_until(char end) {
        const std::string_view taken = text(std::min(left_.find(end), left_.size()));
        text(1);
        return taken;
    }

    std::string_view rest() { return text(left_.size()); }

    template <typename T>
    const T& one_of(std::span<const T> choices) {
        return choices[number(choices.size() - 1)];
    }

  private:
    std::string_view left_;
};

}  // namespace retryd::fuzz
