#include "core/safe_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/text.h"

namespace retryd::core {
namespace {

struct Range {
    char32_t first;
    char32_t last;
};

/// Cc, Zl, Zp and Default_Ignorable_Code_Point of Unicode 15, and the interlinear annotations (U+FFF9 to U+FFFB), which
/// cannot be seen either. In order. The page has the same list (http/page/index.html).
constexpr std::array unsafe_ranges{
    Range{0x0000, 0x001f},   Range{0x007f, 0x009f},   Range{0x00ad, 0x00ad},   Range{0x034f, 0x034f},
    Range{0x061c, 0x061c},   Range{0x115f, 0x1160},   Range{0x17b4, 0x17b5},   Range{0x180b, 0x180f},
    Range{0x200b, 0x200f},   Range{0x2028, 0x202e},   Range{0x2060, 0x206f},   Range{0x3164, 0x3164},
    Range{0xfe00, 0xfe0f},   Range{0xfeff, 0xfeff},   Range{0xffa0, 0xffa0},   Range{0xfff0, 0xfffb},
    Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a}, Range{0xe0000, 0xe0fff},
};

/// A character of the text, or a byte that is none.
struct Character {
    char32_t code = 0;
    std::size_t length = 1;
    bool valid = true;
};

/// Of a text that is not empty.
Character first_of(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) return {lead};
    const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (valid_utf8_length(text.substr(0, length)) != length) return {lead, 1, false};
    char32_t code = lead & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i)
        code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
    return {code, length};
}

constexpr char32_t zero_width_joiner = 0x200d;
constexpr char32_t emoji_presentation = 0xfe0f;

/// Arrows, signs and dingbats, and the planes of pictures: nothing that a name is spelled with.
bool is_picture(char32_t code) {
    return (code >= 0x2190 && code <= 0x2bff) || (code >= 0x1f000 && code <= 0x1faff);
}

/// Two unseen characters are a part of emoji: the one that joins two of them, and the one that colours the sign before
/// it. Elsewhere they would make two names look the same.
bool belongs_to_emoji(char32_t code, char32_t before, std::string_view behind) {
    if (code == emoji_presentation) return is_picture(before);
    if (code != zero_width_joiner || (!is_picture(before) && before != emoji_presentation) || behind.empty())
        return false;
    const Character next = first_of(behind);
    return next.valid && is_picture(next.code);
}

void append_number(std::string& out, const char* prefix, char32_t number, int digits) {
    constexpr std::string_view hex = "0123456789abcdef";
    out += prefix;
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        out += hex[(number >> static_cast<unsigned>(shift)) & 0xfU];
}

void append_escape(std::string& out, const Character& character) {
    if (!character.valid || character.code < 0x80) {
        append_number(out, "\\x", character.code, 2);
    } else if (character.code < 0x10000) {
        append_number(out, "\\u", character.code, 4);
    } else {
        append_number(out, "\\U", character.code, 8);
    }
}

/// JSON has 16 bits in an escape.
void append_json_escape(std::string& out, const Character& character) {
    if (character.code < 0x10000) return append_number(out, "\\u", character.code, 4);
    const char32_t rest = character.code - 0x10000;
    append_number(out, "\\u", 0xd800 + (rest >> 10U), 4);
    append_number(out, "\\u", 0xdc00 + (rest & 0x3ffU), 4);
}

/// The one walk over a text. `backslashed`: these come out with a backslash before them; `kept`: these as they are.
template <typename Append>
std::string escaped(std::string_view text, std::string_view backslashed, std::string_view kept, const Append& append) {
    std::string out;
    out.reserve(text.size());
    char32_t before = 0;
    while (!text.empty()) {
        const Character character = first_of(text);
        const std::string_view bytes = text.substr(0, character.length);
        text.remove_prefix(character.length);
        const bool ascii = character.valid && character.code < 0x80;
        const bool is_kept = ascii && kept.find(bytes.front()) != std::string_view::npos;
        const bool escape =
            !is_kept &&
            (!character.valid || (is_unsafe(character.code) && !belongs_to_emoji(character.code, before, text)));
        if (escape) {
            append(out, character);
        } else {
            if (ascii && backslashed.find(bytes.front()) != std::string_view::npos) out += '\\';
            out += bytes;
        }
        before = escape ? 0 : character.code;
    }
    return out;
}

}  // namespace

bool is_unsafe(char32_t character) {
    if (character >= 0x20 && character < 0x7f) return false;
    const auto* const range = std::find_if(unsafe_ranges.begin(), unsafe_ranges.end(),
                                           [&](const Range& candidate) { return character <= candidate.last; });
    return range != unsafe_ranges.end() && character >= range->first;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        text.remove_prefix(valid_utf8_length(text));
        if (!text.empty() && text.front() != '\0') return false;
        text.remove_prefix(text.empty() ? 0 : 1);
    }
    return true;
}

std::string safe_name(std::string_view name) {
    return escaped(name, "\\", "", append_escape);
}

std::string quoted(std::string_view name) {
    return '\'' + escaped(name, "\\'", "", append_escape) + '\'';
}

std::string safe_line(std::string_view text) {
    return escaped(text, "", "", append_escape);
}

std::string safe_lines(std::string_view text) {
    return escaped(text, "", "\n\t", append_escape);
}

std::string safe_json(std::string_view json) {
    // Line ends stand between its elements: within strings the serializer has escaped them.
    return escaped(json, "", "\n", append_json_escape);
}

bool is_safe(std::string_view text) {
    return safe_line(text) == text;
}

}  // namespace retryd::core
