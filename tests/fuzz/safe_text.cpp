// What is shown of a text of a stranger's, whatever its bytes: safe, unambiguous, and as it was where it was safe.
#include "core/safe_text.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/require.h"
#include "fuzz/targets.h"
#include "telemetry/safe_json.h"

namespace retryd::fuzz {
namespace {

/// The characters that no exit may let through, by their UTF-8 and apart from the table of core's.
bool has_unsafe_bytes(std::string_view text, std::string_view kept) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto at = [&](std::size_t offset) {
            return i + offset < text.size() ? static_cast<unsigned char>(text[i + offset]) : 0U;
        };
        if ((at(0) < 0x20 || at(0) == 0x7f) && kept.find(text[i]) == std::string_view::npos) return true;
        if (at(0) == 0xc2 && at(1) < 0xa0) return true;  // C1
        if (at(0) == 0xe2 && at(1) == 0x80 && (at(2) == 0x8b || at(2) == 0x8e || at(2) == 0x8f)) return true;
        if (at(0) == 0xe2 && at(1) == 0x80 && at(2) >= 0xa8 && at(2) <= 0xae) return true;  // U+2028 to U+202E
        if (at(0) == 0xe2 && at(1) == 0x81 && at(2) >= 0xa0 && at(2) <= 0xaf) return true;  // U+2060 to U+206F
        if (at(0) == 0xef && at(1) == 0xbb && at(2) == 0xbf) return true;                   // U+FEFF
    }
    return !core::is_utf8(text);
}

void append_utf8(std::string& text, std::uint32_t code) {
    const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80U | ((code >> shift) & 0x3fU)); };
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xc0U | code >> 6U), tail(0);
    } else if (code < 0x10000) {
        text += static_cast<char>(0xe0U | code >> 12U), tail(6), tail(0);
    } else {
        text += static_cast<char>(0xf0U | code >> 18U), tail(12), tail(6), tail(0);
    }
}

/// As the shell reads it in $'…'.
std::string read_back(std::string_view shown) {
    std::string name;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        if (shown[i] != '\\') {
            name += shown[i];
            continue;
        }
        require(++i < shown.size(), "an escape has an end");
        const char kind = shown[i];
        const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
        if (digits == 0) {
            name += kind;
            continue;
        }
        require(i + digits < shown.size(), "an escape has all its digits");
        const auto code = static_cast<std::uint32_t>(std::stoul(std::string{shown.substr(i + 1, digits)}, nullptr, 16));
        if (kind == 'x') {
            name += static_cast<char>(code);
        } else {
            append_utf8(name, code);
        }
        i += digits;
    }
    return name;
}

}  // namespace

void safe_text(std::string_view input) {
    const std::string name = core::safe_name(input);
    require(!has_unsafe_bytes(name, ""), "a name is shown without what is unsafe");
    require(read_back(name) == input, "a name can be read back");
    const std::string quoted = core::quoted(input);
    require(!has_unsafe_bytes(quoted, ""), "a name in quotes is shown without what is unsafe");
    require(read_back(quoted.substr(1, quoted.size() - 2)) == input, "a name in quotes can be read back");

    const std::string line = core::safe_line(input);
    require(!has_unsafe_bytes(line, ""), "a line is safe");
    require(core::safe_line(line) == line, "a line that is safe stays as it is");
    require(core::is_safe(line) && core::is_safe(input) == (line == input), "safe is what stays as it is");
    require(!has_unsafe_bytes(core::safe_lines(input), "\n\t"), "lines are safe");

    const nlohmann::ordered_json json{{"text", input}, {"list", {input}}};
    const std::string written = telemetry::to_safe_json(json, 2);
    require(!has_unsafe_bytes(written, "\n"), "JSON is safe");
    const auto parsed = nlohmann::ordered_json::parse(written, nullptr, false);
    require(!parsed.is_discarded(), "it is JSON still");
    require(parsed.at("text") == (core::is_utf8(input) ? std::string{input} : name), "JSON has the exact text");
}

}  // namespace retryd::fuzz
