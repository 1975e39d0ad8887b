#include "core/utf8.h"

#include <algorithm>

namespace retryd::core {
namespace {

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

/// The length of the character that begins here; 0 where none can. Overlong forms and surrogates are let through:
/// they do no harm where text is only carried on.
std::size_t sequence_length(unsigned char lead) {
    if (lead == 0) return 0;
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead < 0xe0) return 2;
    if (lead >= 0xe0 && lead < 0xf0) return 3;
    if (lead >= 0xf0 && lead < 0xf5) return 4;
    return 0;
}

}  // namespace

std::size_t valid_utf8_length(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = sequence_length(static_cast<unsigned char>(text[at]));
        if (length == 0 || at + length > text.size()) return at;
        const std::string_view rest = text.substr(at + 1, length - 1);
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

}  // namespace retryd::core
