// The page shows names as all of retryd does. It has a list of unsafe characters of its own, since it is another
// language.
#include <cstdio>
#include <string>
#include <vector>

#include "core/safe_text.h"
#include "http/page.h"
#include "support/catch.h"

namespace retryd::http::page_names_test {
namespace {

/// As the page's regular expression may have it.
std::vector<std::string> spellings(char32_t code) {
    std::vector<std::string> all;
    for (const char* format : {"\\\\x%02x", "\\\\u%04x", "\\\\u{%x}"}) {
        char text[16];
        std::snprintf(text, sizeof text, format, static_cast<unsigned>(code));
        all.emplace_back(text);
    }
    if (code == 0) all.emplace_back("\\\\0");
    return all;
}

bool is_named(char32_t code) {
    for (const std::string& spelling : spellings(code))
        if (page().find(spelling) != std::string_view::npos) return true;
    return false;
}

}  // namespace

TEST_CASE("page: every range of unsafe characters begins and ends in the page's list, too") {
    int ranges = 0;
    for (char32_t code = 0; code < 0x110000; ++code) {
        const bool begins = core::is_unsafe(code) && (code == 0 || !core::is_unsafe(code - 1));
        const bool ends = core::is_unsafe(code) && !core::is_unsafe(code + 1);
        ranges += begins ? 1 : 0;
        if (!begins && !ends) continue;
        CAPTURE(static_cast<unsigned>(code));
        CHECK(is_named(code));
    }
    CHECK(ranges > 10);
}

}  // namespace retryd::http::page_names_test
