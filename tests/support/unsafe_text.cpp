#include "support/unsafe_text.h"

#include <algorithm>
#include <cstdint>

namespace retryd::test {

namespace {

/// The character that begins there and its length; 0 where it is no UTF-8.
std::size_t decode(std::string_view text, std::uint32_t& code) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) return 0;
    if (length > text.size()) return 0;
    code = length == 1 ? lead : lead & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        const auto next = static_cast<unsigned char>(text[i]);
        if (next < 0x80 || next > 0xbf) return 0;
        code = code << 6U | (next & 0x3fU);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    return overlong || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : length;
}

bool is_unsafe(std::uint32_t code) {
    const bool obeyed = (code < 0x20 && code != '\n') || (code >= 0x7f && code < 0xa0);
    const bool turns = code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                       (code >= 0x2066 && code <= 0x2069);
    const bool ends_line = code == 0x2028 || code == 0x2029;
    const bool unseen = code == 0xad || code == 0x200b || code == 0x2060 || code == 0xfeff || code >= 0xe0000;
    return obeyed || turns || ends_line || unseen;
}

std::string shown(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string line;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
            line += c;
        } else {
            line.append("<").append({digits[byte >> 4U], digits[byte & 0xfU]}).append(">");
        }
    }
    return line;
}

}  // namespace

std::optional<std::string> unsafe_part(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        std::uint32_t code = 0;
        const std::size_t length = decode(text.substr(at), code);
        if (length == 0 || is_unsafe(code)) {
            const std::size_t begin = at < 40 ? 0 : at - 40;
            return shown(text.substr(begin, 80));
        }
        at += length;
    }
    return std::nullopt;
}

}  // namespace retryd::test
