// The fuzz targets with the inputs that are kept: the seeds, and every input that once broke a promise.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "config/keys.h"
#include "config/load.h"
#include "config/tree.h"
#include "fuzz/checked_settings.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"
#include "support/catch.h"

namespace retryd::fuzz::fuzz_test {
namespace {

namespace fs = std::filesystem;

const fs::path inputs{RETRYD_FUZZ_INPUTS};

std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    if (!fs::exists(folder)) return files;
    for (const auto& entry : fs::directory_iterator{folder})
        files.push_back(entry.path());
    return files;
}

std::string contents_of(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    REQUIRE(file);
    return {std::istreambuf_iterator<char>{file}, {}};
}

void check_all_in(const Target& target, const fs::path& folder) {
    for (const fs::path& path : files_in(folder / target.name)) {
        CAPTURE(path.string());
        const std::string input = contents_of(path);
        CHECK_NOTHROW(target.run(input));
    }
}

/// The paths of all keys below `node`, as config::all_keys() writes them.
void add_paths(const config::Node& node, const std::string& path, std::set<std::string>& paths) {
    paths.insert(path);
    for (const config::Child& child : node.children) {
        const std::string name = path == "ladders" ? "*" : child.key;
        if (node.kind == config::NodeKind::list) {
            add_paths(*child.node, path + "[]", paths);
        } else {
            add_paths(*child.node, path.empty() ? name : path + '.' + name, paths);
        }
    }
}

}  // namespace

TEST_CASE("fuzz: every target has seeds, and they keep all promises") {
    for (const Target& target : targets) {
        CAPTURE(target.name);
        CHECK_FALSE(files_in(inputs / "corpus" / target.name).empty());
        check_all_in(target, inputs / "corpus");
    }
}

TEST_CASE("fuzz: the dictionary has every key of the configuration") {
    const std::string dictionary = contents_of(inputs / "dictionaries" / "configuration.dict");
    for (const config::KeyInfo& key : config::all_keys()) {
        CAPTURE(key.path);
        const std::string name = key.path.substr(key.path.rfind('.') + 1);  // the whole path where there is no dot
        CHECK(dictionary.find('"' + name + ": \"\n") != std::string::npos);
    }
}

TEST_CASE("fuzz: the corpus uses every key of the configuration, in files that are right") {
    std::set<std::string> used;
    for (const char* name : {"everything", "everything-else"}) {
        const std::string text = contents_of(inputs / "corpus" / "configuration" / name);
        const auto loaded = config::load(text, env());
        const auto* wrong = std::get_if<config::Problems>(&loaded);
        CHECK((wrong == nullptr ? "" : config::format(*wrong, name)) == "");
        config::Problems problems;
        const config::Tree tree = config::parse_tree(text, problems);
        REQUIRE(tree.root.node != nullptr);
        add_paths(*tree.root.node, "", used);
    }
    for (const config::KeyInfo& key : config::all_keys()) {
        CAPTURE(key.path);
        CHECK(used.contains(key.path));
    }
}

TEST_CASE("fuzz: the examples keep all promises of a configuration") {
    const std::vector<fs::path> examples = files_in(RETRYD_EXAMPLES);
    CHECK_FALSE(examples.empty());
    for (const fs::path& path : examples) {
        CAPTURE(path.string());
        CHECK_NOTHROW(configuration(contents_of(path)));
    }
}

TEST_CASE("fuzz: what the fuzzer has found does not come back") {
    for (const Target& target : targets)
        check_all_in(target, inputs / "found");
}

TEST_CASE("fuzz: nothing at all is input too") {
    for (const Target& target : targets) {
        CAPTURE(target.name);
        CHECK_NOTHROW(target.run(""));
    }
}

TEST_CASE("fuzz: what is found belongs to a target") {
    for (const char* folder : {"corpus", "found"}) {
        for (const fs::path& path : files_in(inputs / folder)) {
            CAPTURE(path.string());
            const auto same = [&](const Target& target) { return path.filename() == target.name; };
            CHECK(std::any_of(targets.begin(), targets.end(), same));
        }
    }
}

}  // namespace retryd::fuzz::fuzz_test
