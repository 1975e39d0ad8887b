// Columns that are as wide as their widest cell.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace retryd::commands {

/// Rows may differ in length. Width counts characters, not bytes.
using Rows = std::vector<std::vector<std::string>>;

/// Each row indented, its cells padded and two blanks apart; nothing at the end of a line.
void print_table(const Rows& rows, const std::string& indent, std::ostream& out);

/// One line with names in it, which may hold anything.
void print_line(const std::string& text, const std::string& indent, std::ostream& out);

}  // namespace retryd::commands
