#include "config/size.h"

#include <array>
#include <charconv>

namespace retryd::config {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t bytes;
};

// In the order in which a size tries them on; KB is read, never written.
constexpr std::array<Unit, 8> units{{{"GiB", 1ULL << 30U},
                                     {"GB", 1'000'000'000},
                                     {"MiB", 1ULL << 20U},
                                     {"MB", 1'000'000},
                                     {"KiB", 1ULL << 10U},
                                     {"kB", 1'000},
                                     {"B", 1},
                                     {"KB", 1'000}}};

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    const std::string_view letters = text.substr(static_cast<std::size_t>(rest - text.data()));
    for (const Unit& unit : units) {
        if (unit.name != letters) continue;
        if (number > largest_size / unit.bytes) return std::nullopt;
        return number * unit.bytes;
    }
    return std::nullopt;
}

std::string format_size(std::uint64_t bytes) {
    for (const Unit& unit : units) {
        if (bytes >= unit.bytes && bytes % unit.bytes == 0) return std::to_string(bytes / unit.bytes).append(unit.name);
    }
    return "0B";
}

}  // namespace retryd::config
