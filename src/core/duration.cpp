#include "core/duration.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace retryd::core {
namespace {

struct Unit {
    std::string_view name;
    std::int64_t milliseconds;
};

// Larger first: the order in which they may follow each other.
constexpr std::array<Unit, 5> units{{{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

/// Takes a number off the front; nothing where there is none or it is past any duration we accept.
std::optional<std::int64_t> take_number(std::string_view& text) {
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || text.front() == '-' || number > longest_ttl.count()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return number;
}

/// Takes a unit off the front, one that stands at or after `from` in the list; its place in the list.
std::optional<std::size_t> take_unit(std::string_view& text, std::size_t from) {
    const std::string_view letters = text.substr(0, text.find_first_of("0123456789"));
    for (std::size_t i = from; i < units.size(); ++i) {
        if (units[i].name == letters) {
            text.remove_prefix(letters.size());
            return i;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<Milliseconds> parse_duration(std::string_view text) {
    if (text.empty()) return std::nullopt;
    std::int64_t total = 0;
    std::size_t next_unit = 0;
    while (!text.empty()) {
        const auto number = take_number(text);
        if (!number) return std::nullopt;
        const auto unit = take_unit(text, next_unit);
        if (!unit) return std::nullopt;
        // No overflow: both factors are bounded, and the total is checked at each step.
        if (*number > longest_ttl.count() / units[*unit].milliseconds) return std::nullopt;
        total += *number * units[*unit].milliseconds;
        if (total > longest_ttl.count()) return std::nullopt;
        next_unit = *unit + 1;
    }
    return Milliseconds{total};
}

std::string format_duration(Milliseconds duration) {
    if (duration == Milliseconds::zero()) return "0ms";
    std::string text;
    std::int64_t rest = duration.count();
    for (const Unit& unit : units) {
        const std::int64_t count = rest / unit.milliseconds;
        rest %= unit.milliseconds;
        if (count != 0) text.append(std::to_string(count)).append(unit.name);
    }
    return text;
}

}  // namespace retryd::core
