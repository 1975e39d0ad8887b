#include "markdown.h"

#include <cmath>
#include <cstdio>

namespace retryd::bench {

std::string markdown_table(const std::vector<Cells>& rows) {
    std::string text;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (const std::string& cell : rows[i])
            text += "| " + cell + " ";
        text += "|\n";
        if (i > 0) continue;
        for (std::size_t column = 0; column < rows[0].size(); ++column)
            text += column == 0 ? "|---" : "|---:";
        text += "|\n";
    }
    return text;
}

std::string whole(double value) {
    std::string digits = std::to_string(std::llround(value));
    for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

std::string with_decimals(double value, int n) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", n, value);
    return text;
}

std::string times(double ratio) {
    return std::isfinite(ratio) ? with_decimals(ratio, 2) : "-";
}

std::string mebibytes(double kib) {
    return with_decimals(kib / 1024, 1);
}

}  // namespace retryd::bench
