#include "config/scalars.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "core/duration.h"

namespace retryd::config {

Scalar secret(Scalar scalar) {
    scalar.secret = true;
    return scalar;
}

Scalar required(Scalar scalar) {
    scalar.required = true;
    return scalar;
}

Scalar with_example(Scalar scalar, std::string value) {
    scalar.example = std::move(value);
    return scalar;
}

Scalar with_default(Scalar scalar, std::string value) {
    scalar.default_value = std::move(value);
    return scalar;
}

namespace {

/// Puts a value into its place, if `parse` does not complain about the text.
template <class T, class Parse>
auto setter(T& target, Parse parse) {
    return [&target, parse](const std::string& text, const Place&) { return parse(text, target); };
}

template <class T, class Parse>
auto setter(Given<T>& target, Parse parse) {
    return [&target, parse](const std::string& text, const Place& place) {
        Complaint complaint = parse(text, target.value);
        if (!complaint) {
            target.place = place;
            target.given = true;
        }
        return complaint;
    };
}

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

// Texts.

Scalar any_text(Given<std::string>& target, std::string expected) {
    Scalar scalar;
    scalar.expected = std::move(expected);
    scalar.default_value = target.value;
    scalar.may_be_null = target.value.empty();
    scalar.set = setter(target, [](const std::string& text, std::string& to) -> Complaint {
        to = text;
        return std::nullopt;
    });
    return scalar;
}

Scalar text(Given<std::string>& target, std::string expected) {
    Scalar scalar = any_text(target, std::move(expected));
    scalar.pattern = detail::not_empty;
    scalar.set = setter(target, [](const std::string& text, std::string& to) -> Complaint {
        if (text.empty()) return "is empty";
        to = text;
        return std::nullopt;
    });
    return scalar;
}

Scalar each_text(std::vector<Given<std::string>>& target, std::string expected) {
    Scalar scalar;
    scalar.expected = std::move(expected);
    scalar.pattern = detail::not_empty;
    scalar.set = [&target](const std::string& text, const Place& place) -> Complaint {
        if (text.empty()) return "is empty";
        target.push_back({text, place, true});
        return std::nullopt;
    };
    return scalar;
}

// Booleans and numbers.

namespace {

/// A whole number within its bounds.
Complaint read_integer(std::string_view text, Range range, int& to) {
    if (!is_number(text)) return "is not a whole number";
    if (text.size() > 1 && text.front() == '0') return "begins with a 0";
    int value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value > range.most) return "is too large";
    if (value < range.least) return "is too small";
    to = value;
    return std::nullopt;
}

/// The same for one that may have a fraction.
Complaint read_decimal(std::string_view text, Range range, double& to) {
    const std::size_t point = text.find('.');
    const bool fraction = point == std::string_view::npos || is_number(text.substr(point + 1));
    const std::string_view whole = text.substr(0, point);
    if (!is_number(whole) || !fraction) return "is not a number";
    if (whole.size() > 1 && whole.front() == '0') return "begins with a 0";
    double value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || value > range.most) return "is too large";
    if (value < range.least) return "is too small";
    to = value;
    return std::nullopt;
}

std::string range_words(Range range, std::string_view unit = "") {
    return " from " + std::to_string(range.least).append(unit) + " to " + std::to_string(range.most).append(unit);
}

Scalar whole_number(Range range) {
    Scalar scalar;
    scalar.type = Type::integer;
    scalar.expected = "a whole number" + range_words(range);
    scalar.pattern = "^(0|[1-9][0-9]*)$";
    scalar.range = range;
    return scalar;
}

}  // namespace

Scalar boolean(bool& target) {
    Scalar scalar;
    scalar.type = Type::boolean;
    scalar.expected = "true or false";
    scalar.default_value = target ? "true" : "false";
    scalar.pattern = "^(true|false)$";
    scalar.set = setter(target, [](const std::string& text, bool& to) -> Complaint {
        if (text != "true" && text != "false") return "is not a boolean";
        to = text == "true";
        return std::nullopt;
    });
    return scalar;
}

Scalar integer(std::uint16_t& target, Range range) {
    Scalar scalar = whole_number(range);
    scalar.default_value = std::to_string(target);
    scalar.set = setter(target, [range](const std::string& text, std::uint16_t& to) {
        int value = to;
        Complaint complaint = read_integer(text, range, value);
        to = static_cast<std::uint16_t>(value);
        return complaint;
    });
    return scalar;
}

Scalar integer(Given<int>& target, Range range) {
    Scalar scalar = whole_number(range);
    scalar.set = setter(target, [range](const std::string& text, int& to) { return read_integer(text, range, to); });
    return scalar;
}

Scalar decimal(Given<double>& target, Range range) {
    Scalar scalar;
    scalar.type = Type::decimal;
    scalar.expected = "a number" + range_words(range) + ", such as 2 or 1.5";
    scalar.default_value = std::to_string(static_cast<int>(target.value));
    scalar.pattern = "^(0|[1-9][0-9]*)([.][0-9]+)?$";
    scalar.range = range;
    scalar.set = setter(target, [range](const std::string& text, double& to) { return read_decimal(text, range, to); });
    return scalar;
}

Scalar percent(Given<int>& target, Range range) {
    Scalar scalar;
    scalar.type = Type::percent;
    const bool has_default = target.value != 0;
    const std::string shown = has_default ? std::to_string(target.value) + '%' : "20%";
    (has_default ? scalar.default_value : scalar.example) = shown;
    scalar.expected = "a percentage" + range_words(range, "%") + ", such as " + shown;
    scalar.pattern = "^[1-9][0-9]*%$";
    scalar.set = setter(target, [range](const std::string& text, int& to) -> Complaint {
        if (is_number(text)) return "has no %";
        if (!text.ends_with('%')) return "is not a percentage";
        return read_integer(std::string_view{text}.substr(0, text.size() - 1), range, to);
    });
    return scalar;
}

Scalar rate(Given<int>& target, Range range) {
    constexpr std::string_view unit = "/s";
    Scalar scalar;
    scalar.default_value = std::to_string(target.value).append(unit);
    scalar.expected = "messages a second" + range_words(range, unit) + ", such as " + scalar.default_value;
    scalar.pattern = "^[1-9][0-9]*/s$";
    scalar.set = setter(target, [range, unit](const std::string& text, int& to) -> Complaint {
        if (is_number(text)) return "has no /s";
        if (!text.ends_with(unit)) return "is not a rate";
        return read_integer(std::string_view{text}.substr(0, text.size() - unit.size()), range, to);
    });
    return scalar;
}

// Durations.

namespace {

/// core::parse_duration as a regular expression: at least one unit, larger before smaller.
const std::string duration_pattern = "(?=[0-9])([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?";

/// A duration within its bounds.
Complaint read_duration(const std::string& text, core::Milliseconds least, core::Milliseconds most,
                        core::Milliseconds& to) {
    const auto value = core::parse_duration(text);
    if (!value) return is_number(text) ? "has no unit" : "is not a duration";
    if (*value < least) return "is too short";
    if (*value > most) return "is too long";
    to = *value;
    return std::nullopt;
}

std::string range_words(core::Milliseconds least, core::Milliseconds most, core::Milliseconds example) {
    return " from " + core::format_duration(least) + " to " + core::format_duration(most) + ", such as " +
           core::format_duration(example);
}

Scalar any_duration(std::string expected) {
    Scalar scalar;
    scalar.type = Type::duration;
    scalar.expected = std::move(expected);
    scalar.pattern = "^" + duration_pattern + "$";
    return scalar;
}

/// Without default and example; `target` is a duration or a Given one.
template <class Target>
Scalar bounded_duration(Target& target, core::Milliseconds least, core::Milliseconds most, core::Milliseconds such_as) {
    Scalar scalar = any_duration("a duration" + range_words(least, most, such_as));
    scalar.set = setter(target, [least, most](const std::string& text, core::Milliseconds& to) {
        return read_duration(text, least, most, to);
    });
    return scalar;
}

}  // namespace

Scalar duration(core::Milliseconds& target, core::Milliseconds least, core::Milliseconds most) {
    return with_default(bounded_duration(target, least, most, target), core::format_duration(target));
}

Scalar duration(Given<core::Milliseconds>& target, core::Milliseconds least, core::Milliseconds most) {
    return with_default(bounded_duration(target, least, most, target.value), core::format_duration(target.value));
}

Scalar duration(Given<core::Milliseconds>& target, core::Milliseconds least, core::Milliseconds most,
                core::Milliseconds example) {
    return with_example(bounded_duration(target, least, most, example), core::format_duration(example));
}

Scalar seconds(std::chrono::seconds& target, std::chrono::seconds least, std::chrono::seconds most) {
    Scalar scalar = any_duration("a duration in whole seconds" + range_words(least, most, target));
    scalar.default_value = core::format_duration(target);
    scalar.set = setter(target, [least, most](const std::string& text, std::chrono::seconds& to) -> Complaint {
        core::Milliseconds value{};
        if (auto complaint = read_duration(text, least, most, value)) return complaint;
        if (value % std::chrono::seconds{1} != core::Milliseconds::zero()) return "is a fraction of a second";
        to = std::chrono::duration_cast<std::chrono::seconds>(value);
        return std::nullopt;
    });
    return scalar;
}

// The steps of a ladder.

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

Scalar each_step(Given<std::vector<core::Milliseconds>>& target) {
    Scalar scalar = any_duration("a delay from 1ms to " + core::format_duration(core::longest_ttl) +
                                 ", such as 30s, or 30s x3 for three attempts");
    scalar.pattern = "^" + duration_pattern + "( +x[1-9][0-9]*)?$";
    scalar.set = [&target](const std::string& text, const Place& place) -> Complaint {
        const auto steps = parse_steps(text);
        if (!steps) return is_number(text) ? "has no unit" : "is not a delay";
        if (steps->delay == core::Milliseconds::zero()) return "is too short";
        const auto times = static_cast<std::size_t>(steps->times);
        if (target.value.size() + times > static_cast<std::size_t>(longest_ladder)) {
            return "makes the ladder longer than " + std::to_string(longest_ladder) + " attempts";
        }
        if (!target.given) target.place = place;
        target.given = true;
        target.value.insert(target.value.end(), times, steps->delay);
        return std::nullopt;
    };
    return scalar;
}

// Sizes.

namespace {

struct Unit {
    std::string_view name;
    std::uint64_t bytes;
};

/// In the order in which format_size tries them. KB is only read.
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

Scalar size(std::uint64_t& target) {
    Scalar scalar;
    scalar.type = Type::size;
    scalar.expected = "a size in bytes from 1B to " + format_size(largest_size) + ", such as " + format_size(target);
    scalar.default_value = format_size(target);
    scalar.pattern = "^[0-9]+([kKMG]?B|[KMG]iB)$";
    scalar.set = setter(target, [](const std::string& text, std::uint64_t& to) -> Complaint {
        const auto value = parse_size(text);
        if (!value) return is_number(text) ? "has no unit" : "is not a size";
        if (*value == 0) return "is too small";
        to = *value;
        return std::nullopt;
    });
    return scalar;
}

// Choices.

namespace detail {

std::optional<std::size_t> find_word(const std::vector<std::string>& words, const std::string& text) {
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end()) return std::nullopt;
    return static_cast<std::size_t>(found - words.begin());
}

std::string join_words(const std::vector<std::string>& words) {
    std::string joined;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) joined.append(i + 1 == words.size() ? " or " : ", ");
        joined.append(words[i]);
    }
    return joined;
}

}  // namespace detail

}  // namespace retryd::config
