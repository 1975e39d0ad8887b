#include "roff.h"

#include <map>

namespace retryd::manual {
namespace {

const std::map<char, std::string_view> glyphs{{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                                              {'^', "\\(ha"}, {'~', "\\(ti"}, {'"', "\\(dq"}};

std::string escaped(char character) {
    const auto glyph = glyphs.find(character);
    return glyph == glyphs.end() ? std::string(1, character) : std::string{glyph->second};
}

/// Some encodings of a terminal have no ellipsis.
std::string without_ellipsis(std::string text) {
    constexpr std::string_view ellipsis = "…";
    for (std::size_t at = text.find(ellipsis); at != std::string::npos; at = text.find(ellipsis, at))
        text.replace(at, ellipsis.size(), "...");
    return text;
}

}  // namespace

std::string roff(std::string_view text) {
    std::string result;
    bool quoted = false;
    for (const char character : without_ellipsis(std::string{text})) {
        if (character == '`') {
            result += quoted ? "\\fR" : "\\fB";
            quoted = !quoted;
        } else {
            result += escaped(character);
        }
    }
    return result.starts_with('.') ? "\\&" + result : result;
}

std::string bold(std::string_view text) {
    return "\\fB" + roff(text) + "\\fR";
}

std::string italic(std::string_view text) {
    return "\\fI" + roff(text) + "\\fR";
}

std::string sentence(std::string text) {
    if (!text.ends_with('.')) text += '.';
    return text;
}

}  // namespace retryd::manual
