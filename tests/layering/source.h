// The sources of retryd as text: what each file includes and what its code says.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retryd::layering {

struct Include {
    std::string name;  // as it stands between the quotes or brackets
    int line = 0;
};

struct Source {
    std::vector<Include> includes;
    std::string code;  // comments and the insides of literals blanked, line breaks kept
};

/// Whether it can be part of an identifier.
bool is_word(char c);

/// By path below src, with forward slashes: `core/decide.cpp`; `main.cpp`.
using Sources = std::map<std::string, Source>;

Source parse(std::string_view text);

/// Every .h and .cpp below a folder.
Sources read_tree(const std::filesystem::path& root);

/// The part before the first slash; empty for main.cpp.
std::string folder_of(std::string_view path);

}  // namespace retryd::layering
