#include "config/scalars.h"

#include <algorithm>
#include <utility>

namespace retryd::config {
namespace {

using Complaint = std::optional<std::string>;

}  // namespace

Scalar secret(Scalar scalar) {
    scalar.secret = true;
    return scalar;
}

Scalar required(Scalar scalar) {
    scalar.required = true;
    return scalar;
}

Scalar presence_of(Presence presence) {
    Scalar scalar;
    scalar.required = presence == Presence::required;
    scalar.may_be_null = !scalar.required;
    scalar.expected = scalar.required ? "a list of at least one entry" : "a list of maps of keys and values";
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
    scalar.pattern = detail::something;
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
    scalar.pattern = detail::something;
    scalar.take = [&target](const std::string& text, const Place& place) -> Complaint {
        if (text.empty()) return "is empty";
        target.push_back({text, place, true});
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
