// The types of a single value of the file: what is taken, what is said of a wrong one, and what a schema and the manual
// say of all of them. The types of names and addresses are in name_scalars.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/problem.h"
#include "core/time.h"

namespace retryd::config {

enum class Type { text, boolean, integer, decimal, percent, duration, size, choice };

/// The bounds of a number, both included.
struct Range {
    int least = 0;
    int most = 0;
};

/// All that can be said of a value without reading one.
struct ScalarInfo {
    Type type = Type::text;
    std::string expected;       // "a duration from 1s to 10m, such as 20s": ends a complaint
    std::string default_value;  // as it would stand in the file; empty: none
    std::string example;        // as YAML; config/retryd.yaml shows it, commented out, and not the default
    bool required = false;      // its absence is a problem
    bool may_be_null = false;   // `key:` without a value is the same as no key
    std::string pattern;        // a regular expression (ECMA 262) that every right value matches; empty: any text
    std::vector<std::string> choices;  // of a choice
    std::optional<Range> range;        // of an integer or decimal
};

/// What is wrong with a value ("is not a duration"); nothing if it is right.
using Complaint = std::optional<std::string>;

/// One text of the file, and where it goes. Made by the functions below, each bound to a target that must live as long;
/// the target's present value is the default.
struct Scalar : ScalarInfo {
    bool secret = false;  // never to be shown
    /// Stores the value if it is right. `text` has its ${NAME} replaced.
    std::function<Complaint(const std::string& text, const Place& place)> set;
};

Scalar secret(Scalar scalar);
Scalar required(Scalar scalar);
/// `value` as YAML: with quotes where it needs them.
Scalar with_example(Scalar scalar, std::string value);
/// For a default that is not the target's initial value.
Scalar with_default(Scalar scalar, std::string value);

/// Any text but an empty one.
Scalar text(Given<std::string>& target, std::string expected);
/// Any text, an empty one included.
Scalar any_text(Given<std::string>& target, std::string expected);
/// An item of a list: appends it.
Scalar each_text(std::vector<Given<std::string>>& target, std::string expected);

Scalar boolean(bool& target);
/// Decimal, without sign, leading zeros or a prefix.
Scalar integer(std::uint16_t& target, Range range);
/// Without a default.
Scalar integer(Given<int>& target, Range range);
/// Digits, and maybe a point and digits. The default is a whole number.
Scalar decimal(Given<double>& target, Range range);
/// A whole number and a %; the default is the target's value, unless that is 0.
Scalar percent(Given<int>& target, Range range);

/// So many a second, as `50/s`. The default is the target's value.
Scalar rate(Given<int>& target, Range range);

Scalar duration(core::Milliseconds& target, core::Milliseconds least, core::Milliseconds most);
Scalar duration(Given<core::Milliseconds>& target, core::Milliseconds least, core::Milliseconds most);
/// Without a default.
Scalar duration(Given<core::Milliseconds>& target, core::Milliseconds least, core::Milliseconds most,
                core::Milliseconds example);
/// Whole seconds only.
Scalar seconds(std::chrono::seconds& target, std::chrono::seconds least, std::chrono::seconds most);

/// A ladder has at most this many attempts.
inline constexpr int longest_ladder = 1000;

struct Steps {
    core::Milliseconds delay{};
    int times = 1;  // 1 to longest_ladder
};

/// One item of a ladder's delays: `30s`, or `30s x3` for three attempts with that delay. Nothing for anything else.
/// Whether the delay is within its bounds is not checked.
std::optional<Steps> parse_steps(std::string_view text);

/// An item of a ladder's delays: appends its steps.
Scalar each_step(Given<std::vector<core::Milliseconds>>& target);

/// The largest size that is taken: 1 TiB.
inline constexpr std::uint64_t largest_size = 1ULL << 40U;

/// A whole number directly followed by its unit: B, kB or KB, MB, GB (powers of 1000), KiB, MiB, GiB (of 1024).
/// Nothing for anything else, or past largest_size.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// The shortest exact spelling: parse_size(format_size(n)) == n.
std::string format_size(std::uint64_t bytes);

Scalar size(std::uint64_t& target);

/// The words that may be chosen, and what each stands for.
template <class T>
using Choices = std::initializer_list<std::pair<std::string_view, T>>;

namespace detail {
/// The pattern of a text that is not empty.
inline constexpr std::string_view not_empty = "[\\s\\S]";
/// The place of `text` in `words`.
std::optional<std::size_t> find_word(const std::vector<std::string>& words, const std::string& text);
/// quorum or classic; retry, park or drop.
std::string join_words(const std::vector<std::string>& words);
}  // namespace detail

template <class T>
Scalar choice(Given<T>& target, Choices<T> choices) {
    std::vector<T> values;
    Scalar scalar;
    scalar.type = Type::choice;
    for (const auto& [word, value] : choices) {
        scalar.choices.emplace_back(word);
        values.push_back(value);
        if (value == target.value) scalar.default_value = word;
    }
    scalar.expected = detail::join_words(scalar.choices);
    scalar.set = [&target, words = scalar.choices, values](const std::string& text, const Place& place) -> Complaint {
        const auto found = detail::find_word(words, text);
        if (!found) return "is not one of the choices";
        target = {values[*found], place, true};
        return std::nullopt;
    };
    return scalar;
}

template <class T>
Scalar choice(T& target, Choices<T> choices) {
    const auto read = std::make_shared<Given<T>>(Given<T>{target, {}, false});
    Scalar scalar = choice(*read, choices);
    scalar.set = [&target, read, set = scalar.set](const std::string& text, const Place& place) {
        auto complaint = set(text, place);
        if (!complaint) target = read->value;
        return complaint;
    };
    return scalar;
}

}  // namespace retryd::config
