// The types a single value can have. Each function binds a target, whose present value is the default.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reader.h"
#include "config/settings.h"
#include "core/policy.h"
#include "core/time.h"

namespace retryd::config {

// Sizes in bytes as operators write them: 64MiB, 10MB, 512B.

/// The largest size that is taken: 1 TiB.
inline constexpr std::uint64_t largest_size = 1ULL << 40U;

/// A whole number directly followed by its unit: B, kB or KB, MB, GB (powers of 1000), KiB, MiB, GiB (of 1024).
/// Nothing for anything else, or past largest_size.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// The shortest exact spelling: parse_size(format_size(n)) == n.
std::string format_size(std::uint64_t bytes);

// One item of a ladder's delays: `30s`, or `30s x3` for three attempts on the same rung.

/// A ladder has at most this many attempts.
inline constexpr int longest_ladder = 1000;

struct Steps {
    core::Milliseconds delay{};
    int times = 1;  // 1 to longest_ladder
};

/// Nothing where it is neither. Whether the delay is possible is not asked here.
std::optional<Steps> parse_steps(std::string_view text);

/// A value from one of a few words: the word and what it stands for.
template <class T>
using Choices = std::initializer_list<std::pair<std::string_view, T>>;

/// Any text but an empty one.
Scalar text(Given<std::string>& target, std::string expected);
/// Any text, an empty one included.
Scalar any_text(Given<std::string>& target, std::string expected);
/// Appends to a list.
Scalar each_text(std::vector<Given<std::string>>& target, std::string expected);

Scalar boolean(bool& target);
/// Decimal, without sign, leading zeros or a prefix.
Scalar integer(std::uint16_t& target, std::uint16_t least);
/// Without a default.
Scalar integer(Given<int>& target, Range range);
/// Digits, and maybe a point and digits.
Scalar decimal(Given<double>& target, Range range);
/// A whole number and a %; without a default.
Scalar percent(Given<int>& target, Range range);
Scalar duration(core::Milliseconds& target, core::Milliseconds least, core::Milliseconds most);
Scalar duration(Given<core::Milliseconds>& target, core::Milliseconds least, core::Milliseconds most);
/// Without a default; `example` is one that an operator may well mean.
Scalar duration(Given<core::Milliseconds>& target, core::Milliseconds least, core::Milliseconds most,
                core::Milliseconds example);
/// Whole seconds only.
Scalar seconds(std::chrono::seconds& target, std::chrono::seconds least, std::chrono::seconds most);
Scalar size(std::uint64_t& target);
/// A ladder's delays, `30s x3` unrolled; takes one item at a time.
Scalar each_step(Given<std::vector<core::Milliseconds>>& target);
/// Where RabbitMQ's management API is; stored without a / at its end.
Scalar management_url(Given<std::string>& target);
/// HOST:PORT.
Scalar listen_address(std::optional<Http>& target);

/// Names that retryd declares.
Scalar exchange_name(Given<std::string>& target);
Scalar queue_name(Given<std::string>& target);
/// A queue's name in which `{queue}` may stand for the work queue.
Scalar queue_template(Given<std::string>& target);
/// A queue's name or a glob.
Scalar queue_pattern(Given<std::string>& target);
/// An exchange of somebody else's.
Scalar foreign_exchange(Given<std::string>& target);
Scalar routing_key(Given<std::string>& target);
/// A routing key in which `{queue}` may stand for the work queue.
Scalar routing_key_template(Given<std::string>& target);

namespace detail {
/// The pattern of a text that is not empty.
inline constexpr std::string_view something = "[\\s\\S]";
/// The place of `text` in `words`.
std::optional<std::size_t> find_word(const std::vector<std::string>& words, const std::string& text);
std::string join_words(const std::vector<std::string>& words);
}  // namespace detail

template <class T>
Scalar choice(Given<T>& target, Choices<T> choices) {
    std::vector<std::string> words;
    std::vector<T> values;
    Scalar scalar;
    scalar.type = Type::choice;
    for (const auto& [word, value] : choices) {
        words.emplace_back(word);
        values.push_back(value);
        if (value == target.value) scalar.fallback = word;
    }
    scalar.expected = detail::join_words(words);
    scalar.choices = words;
    scalar.take = [&target, words, values](const std::string& text, const Place& place) -> std::optional<std::string> {
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
    scalar.take = [&target, read, take = scalar.take](const std::string& text, const Place& place) {
        auto complaint = take(text, place);
        if (!complaint) target = read->value;
        return complaint;
    };
    return scalar;
}

}  // namespace retryd::config
