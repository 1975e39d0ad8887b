// That docs/architecture.md and CONTRIBUTING.md name files and functions that are there.
#include "layering/architecture.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "support/catch.h"

namespace retryd::layering::architecture_test {
namespace {

using Lines = std::vector<std::string>;

const std::filesystem::path root{RETRYD_SOURCE_DIR};

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

Lines missing_from(const std::string& document) {
    Lines missing;
    for (const std::string& file : files_named_in(text_of(root / document))) {
        const bool there = std::filesystem::exists(root / "src" / file) || std::filesystem::exists(root / file);
        if (!there) missing.push_back(document + ": " + file + " is not there");
    }
    return missing;
}

}  // namespace

TEST_CASE("the files that the documents for developers name are there") {
    REQUIRE(files_named_in(text_of(root / "docs/architecture.md")).size() > 20);
    CHECK(missing_from("docs/architecture.md") == Lines{});
    CHECK(missing_from("CONTRIBUTING.md") == Lines{});
}

TEST_CASE("the way of a message names functions that are there, in at most thirteen files") {
    const std::vector<Step> way = way_of_a_message(text_of(root / "docs/architecture.md"));
    REQUIRE(way.size() >= 12);
    CHECK(not_on_the_way(way, read_tree(root / "src")) == Lines{});
    std::set<std::string> files;
    for (const Step& step : way)
        files.insert(step.file);
    CHECK(files.size() <= 14);
}

TEST_CASE("a file or a function that is not there is found") {
    const std::vector<Step> way = way_of_a_message(
        "## The way\n\n1. `a/a.cpp`: `A::go` goes\n2. `a/a.cpp`: `A::stay` stays\n3. `a/b.cpp`: `go` is gone\n");
    REQUIRE(way.size() == 3);
    const Sources sources{{"a/a.cpp", parse("void A::go(int far) const {\n    stay();\n    A::stay(1);\n}\n")}};
    CHECK(not_on_the_way(way, sources) == Lines{"a/a.cpp does not define A::stay", "a/b.cpp is not there"});
    CHECK(files_named_in("see `a/a.cpp`, `a/b.h`; `c.cpp` and a/d.h are none") == Lines{"a/a.cpp", "a/b.h"});
}

}  // namespace retryd::layering::architecture_test
