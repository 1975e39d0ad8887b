#include "commands/common/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream>

#include "core/safe_text.h"
#include "core/text.h"

namespace retryd::commands {

namespace {

template <typename... Values>
std::string formatted(const char* format, Values... values) {
    std::array<char, 64> buffer{};
    const int length = std::snprintf(buffer.data(), buffer.size(), format, values...);
    return {buffer.data(), static_cast<std::size_t>(length)};
}

}  // namespace

std::string or_unknown(std::string_view name) {
    return name.empty() ? "(unknown)" : core::safe_name(name);
}

std::string shortened(std::string_view text, std::size_t longest) {
    const std::string_view cut = core::utf8_prefix(text, longest);
    return std::string{cut} + (cut.size() < text.size() ? "…" : "");
}

std::string hex_dump(std::string_view bytes) {
    constexpr std::size_t a_line = 16;
    std::string dump;
    for (std::size_t at = 0; at < bytes.size(); at += a_line) {
        const std::string_view line = bytes.substr(at, a_line);
        dump += formatted("%08zx ", at);
        std::string plain;
        for (std::size_t i = 0; i < a_line; ++i) {
            const bool there = i < line.size();
            const auto byte = there ? static_cast<unsigned char>(line[i]) : 0U;
            dump += there ? formatted(" %02x", static_cast<unsigned>(byte)) : "   ";
            if (there) plain += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : '.';
        }
        dump += "  |" + plain + "|\n";
    }
    return dump;
}

std::optional<std::string> from_base64(std::string_view text) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (text.size() % 4 != 0) return std::nullopt;
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
        ++padding;
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char digit : text.substr(0, text.size() - padding)) {
        const auto value = digits.find(digit);
        if (value == std::string_view::npos) return std::nullopt;
        bits = (bits << 6U) | static_cast<std::uint32_t>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xffU);
    }
    return bytes;
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t group = 0;
        const std::size_t taken = std::min<std::size_t>(3, bytes.size() - at);
        for (std::size_t i = 0; i < 3; ++i)
            group = group << 8U | (i < taken ? static_cast<unsigned char>(bytes[at + i]) : 0U);
        for (std::size_t i = 0; i < 4; ++i)
            text += i <= taken ? digits[group >> (18 - 6 * i) & 0x3fU] : '=';
    }
    return text;
}

std::string utc(std::uint64_t seconds) {
    constexpr std::uint64_t latest = 253'402'300'799;
    if (seconds > latest) return std::to_string(seconds);
    const std::chrono::sys_seconds time{std::chrono::seconds{static_cast<std::int64_t>(seconds)}};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{time - day};
    return formatted("%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                     static_cast<int>(clock.seconds().count()));
}

std::string age(std::uint64_t seconds, core::WallTime now) {
    struct Unit {
        std::int64_t seconds;
        const char* name;
    };
    constexpr std::array units{Unit{86'400, "d"}, Unit{3'600, "h"}, Unit{60, "m"}, Unit{1, "s"}};
    const auto today = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    const auto then = static_cast<std::int64_t>(std::min<std::uint64_t>(seconds, 253'402'300'799));
    std::int64_t left = std::max<std::int64_t>(0, today - then);
    std::string text;
    int parts = 0;
    for (const Unit& unit : units) {
        const std::int64_t number = left / unit.seconds;
        left %= unit.seconds;
        if (number == 0 && parts == 0) continue;
        if (number > 0) text += std::to_string(number) + unit.name;
        if (++parts == 2) break;
    }
    return text.empty() ? "0s" : text;
}

namespace {

/// Counts code points, which is good enough here: no character is two columns wide.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

Rows safe(Rows rows) {
    for (auto& row : rows) {
        for (std::string& cell : row)
            cell = core::safe_line(cell);
    }
    return rows;
}

std::vector<std::size_t> widths(const Rows& rows) {
    std::vector<std::size_t> widest;
    for (const auto& row : rows) {
        widest.resize(std::max(widest.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widest[i] = std::max(widest[i], width(row[i]));
    }
    return widest;
}

}  // namespace

void print_table(const Rows& any_rows, const std::string& indent, std::ostream& out) {
    const Rows rows = safe(any_rows);
    const auto widest = widths(rows);
    for (const auto& row : rows) {
        out << indent;
        for (std::size_t i = 0; i < row.size(); ++i) {
            out << row[i];
            if (i + 1 < row.size()) out << std::string(widest[i] - width(row[i]) + 2, ' ');
        }
        out << '\n';
    }
}

void print_line(const std::string& text, const std::string& indent, std::ostream& out) {
    print_table({{text}}, indent, out);
}

}  // namespace retryd::commands
