// Texts for people: counts, times and ages, names, bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace retryd::commands {

/// `1 queue`, `2 queues`.
inline std::string counted(std::size_t number, const std::string& singular, const std::string& plural) {
    return std::to_string(number) + " " + (number == 1 ? singular : plural);
}

/// A name, made safe for a terminal; `(unknown)` if empty.
std::string or_unknown(std::string_view name);

/// At most `longest` bytes of the text, followed by … if it was cut.
std::string shortened(std::string_view text, std::size_t longest);

/// 16 bytes on each line: offset, bytes, and printable characters.
std::string hex_dump(std::string_view bytes);

std::string base64(std::string_view bytes);
/// Nothing if it is not base64.
std::optional<std::string> from_base64(std::string_view text);

/// 2026-03-01T12:00:00Z; the number itself beyond the year 9999.
std::string utc(std::uint64_t seconds);

/// `3d4h`, `12m5s`: the two largest units; `0s` for a time in the future.
std::string age(std::uint64_t seconds, core::WallTime now);

// ── Columns that are as wide as their widest cell ──

/// Rows may differ in length. Width counts characters, not bytes.
using Rows = std::vector<std::vector<std::string>>;

/// Rows are indented, cells padded and two blanks apart; no blanks at the end of a line.
void print_table(const Rows& rows, const std::string& indent, std::ostream& out);

/// Prints a line and makes it safe: names in it may contain anything.
void print_line(const std::string& text, const std::string& indent, std::ostream& out);

}  // namespace retryd::commands
