#include "core/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace retryd::core {

namespace {

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

/// The length of the character that begins here; 0 where none can.
std::size_t sequence_length(unsigned char lead) {
    if (lead == 0) return 0;
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead < 0xe0) return 2;
    if (lead >= 0xe0 && lead < 0xf0) return 3;
    if (lead >= 0xf0 && lead < 0xf5) return 4;
    return 0;
}

/// Longer than need be, a surrogate, or beyond U+10FFFF: the second byte tells. The broker ends the connection over
/// such a name (501: overlong ones tried on 3.8.9, 3.10.8, 4.0.5 and 4.3.6, the others on 4.3.6).
bool is_forbidden(unsigned char lead, unsigned char second) {
    switch (lead) {
        case 0xe0:
            return second < 0xa0;
        case 0xed:
            return second > 0x9f;
        case 0xf0:
            return second < 0x90;
        case 0xf4:
            return second > 0x8f;
        default:
            return false;
    }
}

constexpr std::string_view short_escaped = "\"\\\b\f\n\r\t";
constexpr std::string_view short_escapes = "\"\\bfnrt";

void append_escaped(std::string& json, char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t known = short_escaped.find(c);
    if (known != std::string_view::npos) {
        json.append(1, '\\').append(1, short_escapes[known]);
    } else if (byte < 0x20U) {
        json.append("\\u00").append(1, digits[byte >> 4U]).append(1, digits[byte & 0xfU]);
    } else {
        json += c;
    }
}

/// How much of the text is ASCII without NUL, eight bytes at once: nearly every name is nothing else.
std::size_t ascii_length(std::string_view text) {
    std::size_t at = 0;
    for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
        std::memcpy(&word, text.data() + at, sizeof word);
        if (((word | (word - 0x0101010101010101U)) & 0x8080808080808080U) != 0) break;  // a zero borrows
    }
    while (at < text.size() && text[at] != '\0' && static_cast<unsigned char>(text[at]) < 0x80U)
        ++at;
    return at;
}

}  // namespace

std::size_t valid_utf8_length(std::string_view text) {
    std::size_t at = ascii_length(text);
    while (at < text.size()) {
        const std::size_t length = sequence_length(static_cast<unsigned char>(text[at]));
        if (length == 0 || at + length > text.size()) return at;
        const std::string_view rest = text.substr(at + 1, length - 1);
        if (length > 2 && is_forbidden(static_cast<unsigned char>(text[at]), static_cast<unsigned char>(rest[0])))
            return at;
        if (!std::all_of(rest.begin(), rest.end(), is_continuation)) return at;
        at += length;
    }
    return at;
}

std::size_t characters(std::string_view text) {
    return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_continuation));
}

std::string_view utf8_prefix(std::string_view text, std::size_t longest) {
    if (text.size() <= longest) return text;
    while (longest > 0 && is_continuation(text[longest]))
        --longest;
    return text.substr(0, longest);
}

bool usable_queue_name(std::string_view name) {
    return !name.empty() && usable_routing_key(name) && name.find('\r') == std::string_view::npos &&
           name.find('\n') == std::string_view::npos;
}

bool usable_routing_key(std::string_view key) {
    return key.size() <= longest_short_string && valid_utf8_length(key) == key.size();
}

std::string json_string(std::string_view text) {
    std::string json = "\"";
    for (const char c : text)
        append_escaped(json, c);
    return json + '"';
}

std::string json_object(const Definition& definition) {
    std::string json = "{";
    for (const auto& [key, value] : definition) {
        if (json.size() > 1) json += ", ";
        json.append(json_string(key)).append(": ").append(value);
    }
    return json + '}';
}

}  // namespace retryd::core
