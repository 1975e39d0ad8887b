#include "core/json.h"

#include <algorithm>
#include <charconv>

namespace retryd::core {
namespace {

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_part_of_number(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/// Where the text that begins before `from` ends; npos where it does not.
std::size_t closing_quote(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '"') return at;
        if (text[at] == '\\') ++at;
    }
    return std::string_view::npos;
}

std::optional<std::uint32_t> four_digits(std::string_view text) {
    std::uint32_t number = 0;
    if (text.size() < 4) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + 4, number, 16);
    if (error != std::errc{} || end != text.data() + 4) return std::nullopt;
    return number;
}

void append_utf8(std::uint32_t point, std::string& to) {
    const auto byte = [&](std::uint32_t bits) { to.push_back(static_cast<char>(bits)); };
    if (point < 0x80) return byte(point);
    if (point < 0x800) {
        byte(0xc0U | point >> 6U);
    } else {
        if (point < 0x10000) {
            byte(0xe0U | point >> 12U);
        } else {
            byte(0xf0U | point >> 18U);
            byte(0x80U | (point >> 12U & 0x3fU));
        }
        byte(0x80U | (point >> 6U & 0x3fU));
    }
    byte(0x80U | (point & 0x3fU));
}

/// After `\u`: takes its digits, and those of a second half. Half a character stands for U+FFFD, as everywhere.
std::optional<std::uint32_t> take_code_point(std::string_view& rest) {
    constexpr std::uint32_t unknown = 0xfffd;
    const auto first = four_digits(rest);
    if (!first) return std::nullopt;
    rest.remove_prefix(4);
    if (*first < 0xd800 || *first > 0xdfff) return first;
    const auto second = rest.starts_with("\\u") ? four_digits(rest.substr(2)) : std::nullopt;
    if (*first > 0xdbff || !second || *second < 0xdc00 || *second > 0xdfff) return unknown;
    rest.remove_prefix(6);
    return 0x10000 + ((*first - 0xd800) << 10U) + (*second - 0xdc00);
}

/// The character that a letter after a backslash stands for.
std::optional<char> escaped_character(char letter) {
    switch (letter) {
        case '"':
        case '\\':
        case '/':
            return letter;
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return std::nullopt;
    }
}

/// The six bits of a digit of base64; 64 for what is none.
std::uint32_t base64_bits(char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<std::uint32_t>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a') + 26;
    if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

}  // namespace

std::optional<std::string_view> unescape_json(std::string_view raw, std::string& decoded) {
    if (decoded.capacity() - decoded.size() < raw.size()) return std::nullopt;  // it never gets longer
    const std::size_t begin = decoded.size();
    while (!raw.empty()) {
        const std::size_t plain = std::min(raw.find('\\'), raw.size());
        decoded.append(raw.substr(0, plain));
        raw.remove_prefix(plain);
        if (raw.empty()) break;
        if (raw.size() < 2) return std::nullopt;
        const char letter = raw[1];
        raw.remove_prefix(2);
        if (letter == 'u') {
            const auto point = take_code_point(raw);
            if (!point) return std::nullopt;
            append_utf8(*point, decoded);
        } else if (const auto character = escaped_character(letter)) {
            decoded.push_back(*character);
        } else {
            return std::nullopt;
        }
    }
    return std::string_view{decoded}.substr(begin);
}

std::optional<std::string_view> decode_base64(std::string_view encoded, std::string& decoded) {
    while (encoded.ends_with('='))
        encoded.remove_suffix(1);
    if (encoded.size() % 4 == 1 || decoded.capacity() - decoded.size() < encoded.size()) return std::nullopt;
    const std::size_t begin = decoded.size();
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : encoded) {
        const std::uint32_t six = base64_bits(c);
        if (six > 63) {
            decoded.resize(begin);
            return std::nullopt;
        }
        bits = bits << 6U | six;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        decoded.push_back(static_cast<char>(bits >> count & 0xffU));
    }
    return std::string_view{decoded}.substr(begin);
}

void Json::space() {
    while (!rest_.empty() && is_space(rest_.front()))
        rest_.remove_prefix(1);
}

bool Json::fail() {
    failed_ = true;
    rest_ = {};
    return false;
}

bool Json::take(char c) {
    space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
}

char Json::next() {
    space();
    return rest_.empty() ? '\0' : rest_.front();
}

std::optional<std::string_view> Json::raw_text() {
    if (next() != '"') return std::nullopt;
    const std::string_view after = rest_.substr(1);
    const std::size_t end = closing_quote(after);
    if (end == std::string_view::npos) {
        fail();
        return std::nullopt;
    }
    rest_ = after.substr(end + 1);
    return after.substr(0, end);
}

std::optional<std::string_view> Json::text(std::string& decoded) {
    const auto raw = raw_text();
    if (!raw || raw->find('\\') == std::string_view::npos) return raw;
    const auto unescaped = unescape_json(*raw, decoded);
    if (!unescaped) fail();
    return unescaped;
}

std::optional<std::string_view> Json::raw_number() {
    if (const char c = next(); c != '-' && (c < '0' || c > '9')) return std::nullopt;
    const auto* const end = std::find_if_not(rest_.begin(), rest_.end(), is_part_of_number);
    const auto length = static_cast<std::size_t>(end - rest_.begin());
    const std::string_view number = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return number;
}

std::optional<std::int64_t> Json::integer() {
    const auto number = raw_number();
    std::int64_t value = 0;
    if (!number) return std::nullopt;
    const auto [end, error] = std::from_chars(number->data(), number->data() + number->size(), value);
    if (error != std::errc{} || end != number->data() + number->size()) return std::nullopt;
    return value;
}

std::optional<bool> Json::boolean() {
    space();
    for (const std::string_view word : {"true", "false"}) {
        if (!rest_.starts_with(word)) continue;
        rest_.remove_prefix(word.size());
        return word == "true";
    }
    return std::nullopt;
}

bool Json::null() {
    constexpr std::string_view word = "null";
    space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
}

void Json::skip() {
    std::size_t depth = 0;
    do {
        const char c = next();
        if (c == '\0') {
            fail();
        } else if (c == '"') {
            raw_text();
        } else {
            rest_.remove_prefix(1);
            if (c == '{' || c == '[') ++depth;
            if ((c == '}' || c == ']') && depth > 0) --depth;
            const auto ends_word = [](char d) { return is_space(d) || std::string_view{",:{}[]\""}.find(d) < 7; };
            if (!ends_word(c))
                rest_.remove_prefix(
                    static_cast<std::size_t>(std::find_if(rest_.begin(), rest_.end(), ends_word) - rest_.begin()));
        }
    } while (!failed_ && depth > 0);
}

}  // namespace retryd::core
