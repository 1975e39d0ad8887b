#include "commands/common/table.h"

#include <algorithm>
#include <ostream>

#include "core/safe_text.h"

namespace retryd::commands {

namespace {

/// Code points: good for names; nothing here is as wide as two.
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
