// The types of values that are numbers, or as plain: yes or no.
#include <charconv>
#include <string>
#include <string_view>

#include "config/scalars.h"

namespace retryd::config {
namespace {

using Complaint = std::optional<std::string>;

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A whole number within its bounds, or the complaint.
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
    scalar.fallback = target ? "true" : "false";
    scalar.pattern = "^(true|false)$";
    scalar.take = [&target](const std::string& text, const Place&) -> Complaint {
        if (text != "true" && text != "false") return "is not a boolean";
        target = text == "true";
        return std::nullopt;
    };
    return scalar;
}

Scalar integer(std::uint16_t& target, std::uint16_t least) {
    const Range range{least, 65535};
    Scalar scalar = whole_number(range);
    scalar.fallback = std::to_string(target);
    scalar.take = [&target, range](const std::string& text, const Place&) {
        int value = target;
        Complaint complaint = read_integer(text, range, value);
        target = static_cast<std::uint16_t>(value);
        return complaint;
    };
    return scalar;
}

Scalar integer(Given<int>& target, Range range) {
    Scalar scalar = whole_number(range);
    scalar.take = [&target, range](const std::string& text, const Place& place) {
        Complaint complaint = read_integer(text, range, target.value);
        if (!complaint) target = {target.value, place, true};
        return complaint;
    };
    return scalar;
}

Scalar decimal(Given<double>& target, Range range) {
    Scalar scalar;
    scalar.type = Type::decimal;
    scalar.expected = "a number" + range_words(range) + ", such as 2 or 1.5";
    scalar.fallback = std::to_string(static_cast<int>(target.value));  // our only default is a whole number
    scalar.pattern = "^(0|[1-9][0-9]*)([.][0-9]+)?$";
    scalar.range = range;
    scalar.take = [&target, range](const std::string& text, const Place& place) {
        Complaint complaint = read_decimal(text, range, target.value);
        if (!complaint) target = {target.value, place, true};
        return complaint;
    };
    return scalar;
}

Scalar percent(Given<int>& target, Range range) {
    Scalar scalar;
    scalar.type = Type::percent;
    scalar.expected = "a percentage" + range_words(range, "%") + ", such as 20%";
    scalar.pattern = "^[1-9][0-9]*%$";
    scalar.take = [&target, range](const std::string& text, const Place& place) -> Complaint {
        if (is_number(text)) return "has no %";
        if (!text.ends_with('%')) return "is not a percentage";
        Complaint complaint = read_integer(std::string_view{text}.substr(0, text.size() - 1), range, target.value);
        if (!complaint) target = {target.value, place, true};
        return complaint;
    };
    return scalar;
}

}  // namespace retryd::config
