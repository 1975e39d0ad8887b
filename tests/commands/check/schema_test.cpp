// The JSON Schema: the file that is shipped, and its agreement with the reader.
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>

#include "commands/check/check.h"
#include "commands/check/schema_cases.h"
#include "commands/command_line.h"
#include "config/load.h"
#include "support/folder.h"
#include "support/shell.h"

namespace retryd::commands::schema_test {
namespace {

std::string contents(const std::string& path) {
    std::ifstream file{path};
    REQUIRE(file);
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// What a validator says of each file, in their order: "good" or "bad: why".
std::vector<std::string> validate(const std::vector<SchemaCase>& cases) {
    const test::TemporaryFolder folder;
    std::string command = test::shell_word(RETRYD_SCHEMA_AGREES) + " " + test::shell_word(RETRYD_SCHEMA);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::string path = folder.file(std::to_string(i) + ".yaml");
        std::ofstream{path} << cases[i].text;
        command.append(" ").append(test::shell_word(path));
    }
    const test::ShellResult said = test::run_shell(command + " 2>&1");
    std::istringstream lines{said.out};
    INFO(lines.str());
    INFO("needs Debian's python3-jsonschema and python3-yaml");
    REQUIRE(said.code == 0);
    std::vector<std::string> verdicts;
    for (std::string line; std::getline(lines, line);)
        verdicts.push_back(line.substr(line.find(' ') + 1));
    REQUIRE(verdicts.size() == cases.size());
    return verdicts;
}

std::string read(const std::string& text) {
    const auto loaded = config::load(text, config::process_environment());
    const auto* problems = std::get_if<config::Problems>(&loaded);
    return problems == nullptr ? "good" : "bad: " + config::format(*problems, "file");
}

void check_agreement(const std::vector<SchemaCase>& cases) {
    const auto verdicts = validate(cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::string reader = read(cases[i].text);
        CAPTURE(cases[i].what, cases[i].text, verdicts[i], reader);
        CHECK(cases[i].good == (verdicts[i] == "good"));
        CHECK(cases[i].good == (reader == "good"));
    }
}

}  // namespace

TEST_CASE("the shipped schema is the one that is printed") {
    std::ostringstream printed;
    print_schema(printed);
    const bool same = printed.str() == contents(RETRYD_SCHEMA);
    INFO("config/retryd.schema.json is out of date: cmake --build " RETRYD_BUILD " --target generated");
    CHECK(same);
}

TEST_CASE("what the reader takes, the schema takes") {
    std::vector<SchemaCase> cases = good_cases();
    cases.push_back({"the reference", true, contents(RETRYD_REFERENCE)});
    for (const auto& file : std::filesystem::directory_iterator{RETRYD_EXAMPLES})
        cases.push_back({file.path(), true, contents(file.path())});
    check_agreement(cases);
}

TEST_CASE("what the schema can tell to be wrong, the reader finds wrong too") {
    check_agreement(broken_cases());
}

TEST_CASE("every shipped configuration names its schema to editors") {
    CHECK(contents(RETRYD_REFERENCE).starts_with("# yaml-language-server: $schema=retryd.schema.json\n"));
    for (const auto& file : std::filesystem::directory_iterator{RETRYD_EXAMPLES}) {
        CAPTURE(file.path());
        CHECK(contents(file.path()).starts_with("# yaml-language-server: $schema=../retryd.schema.json\n"));
    }
}

}  // namespace retryd::commands::schema_test
