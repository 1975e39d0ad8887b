// What is shipped, as the tests look at it.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "support/catch.h"

namespace retryd::packaging {

inline std::string text_of(const std::string& path) {
    std::ifstream file{path};
    REQUIRE(file.is_open());
    return {std::istreambuf_iterator<char>{file}, {}};
}

inline void replace_all(std::string& text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
}

/// A manual page as it reads: without fonts, its hyphens hyphens.
inline std::string page(const std::string& name) {
    std::string text = text_of(std::string{RETRYD_PAGES} + '/' + name);
    for (const char* font : {"\\fB", "\\fI", "\\fR"})
        replace_all(text, font, "");
    replace_all(text, "\\-", "-");
    return text;
}

}  // namespace retryd::packaging
