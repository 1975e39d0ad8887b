#include "config/scalars.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace retryd::config {
namespace {

using Complaint = std::optional<std::string>;

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Scalar secret(Scalar scalar) {
    scalar.secret = true;
    return scalar;
}

Scalar required(Scalar scalar) {
    scalar.required = true;
    return scalar;
}

Scalar any_text(Given<std::string>& target, std::string expected) {
    Scalar scalar;
    scalar.expected = std::move(expected);
    scalar.fallback = target.value;
    scalar.may_be_null = target.value.empty();
    scalar.take = [&target](const std::string& text, const Place& place) -> Complaint {
        target = {text, place, true};
        return std::nullopt;
    };
    return scalar;
}

Scalar text(Given<std::string>& target, std::string expected) {
    Scalar scalar = any_text(target, std::move(expected));
    scalar.take = [&target](const std::string& text, const Place& place) -> Complaint {
        if (text.empty()) return "is empty";
        target = {text, place, true};
        return std::nullopt;
    };
    return scalar;
}

Scalar each_text(std::vector<Given<std::string>>& target, std::string expected) {
    Scalar scalar;
    scalar.expected = std::move(expected);
    scalar.take = [&target](const std::string& text, const Place& place) -> Complaint {
        if (text.empty()) return "is empty";
        target.push_back({text, place, true});
        return std::nullopt;
    };
    return scalar;
}

Scalar boolean(bool& target) {
    Scalar scalar;
    scalar.type = Type::boolean;
    scalar.expected = "true or false";
    scalar.fallback = target ? "true" : "false";
    scalar.take = [&target](const std::string& text, const Place&) -> Complaint {
        if (text != "true" && text != "false") return "is not a boolean";
        target = text == "true";
        return std::nullopt;
    };
    return scalar;
}

Scalar integer(std::uint16_t& target, std::uint16_t least) {
    Scalar scalar;
    scalar.type = Type::integer;
    scalar.expected = "a whole number from " + std::to_string(least) + " to 65535";
    scalar.fallback = std::to_string(target);
    scalar.take = [&target, least](const std::string& text, const Place&) -> Complaint {
        if (!is_number(text)) return "is not a whole number";
        if (text.size() > 1 && text.front() == '0') return "begins with a 0";
        std::uint16_t value = 0;
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{}) return "is too large";
        if (value < least) return "is too small";
        target = value;
        return std::nullopt;
    };
    return scalar;
}

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
