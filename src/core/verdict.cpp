#include "core/verdict.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>

#include "core/duration.h"

namespace retryd::core {
namespace {

constexpr std::int64_t most_seconds = std::chrono::floor<std::chrono::seconds>(longest_ttl).count();

std::optional<Milliseconds> of_seconds(std::int64_t seconds) {
    if (seconds < 0) return std::nullopt;
    return std::chrono::seconds{std::min(seconds, most_seconds)};
}

/// Digits alone are seconds, as in the HTTP header Retry-After.
std::optional<Milliseconds> of_text(std::string_view text) {
    std::int64_t seconds = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    const bool whole = rest == text.data() + text.size() && !text.empty();
    return error == std::errc{} && whole ? of_seconds(seconds) : parse_duration(text);
}

}  // namespace

Verdict read_verdict(const Table& headers) {
    Verdict verdict;
    verdict.never = text_of(find(headers, verdict_header::retry)) == "never";
    const Value* const after = find(headers, verdict_header::retry_after);
    if (const auto seconds = integer_of(after)) {
        verdict.after = of_seconds(*seconds);
    } else if (const auto text = text_of(after)) {
        verdict.after = of_text(*text);
    }
    return verdict;
}

}  // namespace retryd::core
