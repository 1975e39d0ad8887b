// That docs/guarantees.md tells the truth about the tests: every cell has a test or a reason, every test is there.
#include "layering/citations.h"

#include <fstream>
#include <iterator>

#include "support/catch.h"

namespace retryd::layering::citations_test {
namespace {

using Lines = std::vector<std::string>;

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string lines(const Violations& violations) {
    std::string text;
    for (const std::string& violation : violations)
        text += violation + '\n';
    return text;
}

/// Of a document with two arrows and one fault, and of one source in which there is one case.
Violations rotten_with(const std::string& row, const std::string& items) {
    const std::string document = "| fault | publish | ack |\n|---|---|---|\n" + row + "\n\n" + items + "\n";
    return rotten(read_grid(document), [](const std::string& path) {
        return path == "../tests/a_test.cpp" ? "TEST_CASE(\"a name \"\n    \"of two\") { SECTION(\"one\") {} }" : "";
    });
}

const std::string there = "- **1** [a_test.cpp](../tests/a_test.cpp): `a name of two`, `one`\n";

}  // namespace

TEST_CASE("a grid of which each cell names a test that is there, or a reason, is sound") {
    CHECK(lines(rotten_with("| cut | 1 | a 1 |", there + "- **a** for a reason")) == "");
}

TEST_CASE("a cell that is empty, missing or names what nobody explains is found") {
    CHECK(rotten_with("| cut | 1 |  |", there) == Lines{"cut at ack: empty"});
    CHECK(rotten_with("| cut | 1 |", there) == Lines{"cut: not a cell for each arrow"});
    CHECK(rotten_with("| cut | 1 | 2 b |", there) == Lines{"cut at ack: what is 2?", "cut at ack: what is b?"});
}

TEST_CASE("a test or reason that no cell needs is found") {
    CHECK(rotten_with("| cut | 1 | 1 |", there + "- **a** for a reason") == Lines{"a: no cell needs it"});
}

TEST_CASE("a file, a case or a section that is not there is found") {
    const auto with = [](const std::string& item) { return rotten_with("| cut | 1 | 1 |", "- **1** [x]" + item); };
    CHECK(with("(../tests/b_test.cpp): `a name of two`") == Lines{"1: ../tests/b_test.cpp is not there"});
    CHECK(with("(../tests/a_test.cpp): `a name`") == Lines{"1: ../tests/a_test.cpp has no test case 'a name'"});
    CHECK(with("(../tests/a_test.cpp)") == Lines{"1: ../tests/a_test.cpp has no test case ''"});
    CHECK(with("(../tests/a_test.cpp): `a name of two`, `two`") ==
          Lines{"1: ../tests/a_test.cpp has no section 'two'"});
}

TEST_CASE("what docs/guarantees.md says is tested is tested: 9 arrows, 17 faults, and every case is in the sources") {
    const std::filesystem::path docs = std::filesystem::path{RETRYD_SOURCE_DIR} / "docs";
    const Grid grid = read_grid(text_of(docs / "guarantees.md"));
    CHECK(grid.arrows.size() == 9);
    CHECK(grid.faults.size() == 17);
    CHECK(lines(rotten(grid, [&](const std::string& path) { return text_of(docs / path); })) == "");
}

}  // namespace retryd::layering::citations_test
