// What else has to be true of a package.
#include "../commands/command_line.h"
#include "files.h"

namespace retryd::packaging::shipped_test {

TEST_CASE("the configuration that is installed is right, and holds no password") {
    const std::string path = RETRYD_PROJECT "/packaging/retryd.yaml";
    const commands::Outcome outcome = commands::run({"check", "-c", path.c_str()});
    CHECK(outcome.err == "");
    CHECK(outcome.code == 0);
    CHECK(text_of(path).find("password:") == std::string::npos);
}

TEST_CASE("the newest entry of the CHANGELOG is this version") {
    const std::string changes = text_of(RETRYD_PROJECT "/CHANGELOG.md");
    const std::size_t newest = changes.find("\n## ");
    REQUIRE(newest != std::string::npos);
    CHECK(changes.substr(newest + 1, changes.find(' ', newest + 4) - newest - 1) == "## " RETRYD_VERSION);
}

}  // namespace retryd::packaging::shipped_test
