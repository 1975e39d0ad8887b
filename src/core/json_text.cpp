#include "core/json_text.h"

namespace retryd::core {
namespace {

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

}  // namespace

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
