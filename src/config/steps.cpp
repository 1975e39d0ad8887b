#include "config/steps.h"

#include <charconv>

#include "core/duration.h"

namespace retryd::config {
namespace {

std::optional<int> parse_times(std::string_view text) {
    int times = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), times);
    if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
    if (text.starts_with('0') || times < 1 || times > longest_ladder) return std::nullopt;
    return times;
}

}  // namespace

std::optional<Steps> parse_steps(std::string_view text) {
    Steps steps;
    const std::size_t blank = text.find(' ');
    const auto delay = core::parse_duration(text.substr(0, blank));
    if (!delay) return std::nullopt;
    steps.delay = *delay;
    if (blank == std::string_view::npos) return steps;

    const std::size_t x = text.find_first_not_of(' ', blank);
    if (x == std::string_view::npos || text[x] != 'x') return std::nullopt;
    const auto times = parse_times(text.substr(x + 1));
    if (!times) return std::nullopt;
    steps.times = *times;
    return steps;
}

}  // namespace retryd::config
