// docs/guarantees.md as it says what is tested: a grid of faults, and the tests and reasons that its cells name.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layering/rules.h"

namespace retryd::layering {

/// `- **12** [a_test.cpp](../tests/x/a_test.cpp): `name of a case`, `name of a section in it``
struct Citation {
    std::string code;
    std::string path;  // as linked, relative to the document
    std::string test_case;
    std::vector<std::string> sections;
};

struct Grid {
    std::vector<std::string> arrows;               // heads of the columns
    std::vector<std::vector<std::string>> faults;  // rows: the name, then a cell for each arrow
    std::vector<Citation> citations;
    std::set<std::string> reasons;  // their letters: `- **a** because …`
};

/// The table whose first head is `fault`, and every list item that begins with a code.
Grid read_grid(std::string_view document);

/// The names that a macro of Catch2 gives in a source: `TEST_CASE`, `SECTION`.
std::set<std::string> named_by(std::string_view macro, std::string_view source);

/// Cells that are empty or name nothing, codes that no cell needs, tests that are not where the document says.
/// `read` gives the text of a linked file, empty where there is none.
Violations rotten(const Grid& grid, const std::function<std::string(const std::string& path)>& read);

}  // namespace retryd::layering
