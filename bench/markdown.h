// Tables of Markdown, and figures as they stand in them.
#pragma once

#include <string>
#include <vector>

namespace retryd::bench {

using Cells = std::vector<std::string>;

/// The first row is the head.
std::string markdown_table(const std::vector<Cells>& rows);

std::string whole(double value);                 // 26,200
std::string with_decimals(double value, int n);  // 9.8
std::string times(double ratio);                 // 1.30
std::string mebibytes(double kib);               // 11.2

}  // namespace retryd::bench
