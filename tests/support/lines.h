// Finding lines in what a program wrote.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace retryd::test {

/// The number of lines that contain all of these.
inline int lines_with(const std::string& output, const std::vector<std::string>& texts) {
    std::istringstream lines(output);
    int count = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto is_in = [&](const std::string& text) { return line.find(text) != std::string::npos; };
        count += std::all_of(texts.begin(), texts.end(), is_in) ? 1 : 0;
    }
    return count;
}

}  // namespace retryd::test
