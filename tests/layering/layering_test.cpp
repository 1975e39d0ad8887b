// The rules on the sources as they are.
#include "layering/rules.h"
#include "support/catch.h"

namespace retryd::layering::layering_test {
namespace {

const Sources& tree() {
    static const Sources sources = read_tree(std::filesystem::path{RETRYD_SOURCE_DIR} / "src");
    return sources;
}

std::string lines(const Violations& violations) {
    std::string text;
    for (const std::string& violation : violations)
        text += violation + '\n';
    return text;
}

}  // namespace

TEST_CASE("the sources are read, so that the rules below have something to look at") {
    CHECK(tree().count("main.cpp") == 1);
    for (const char* folder : {"core", "relay", "admin", "config", "amqp", "http", "telemetry", "commands", "daemon"}) {
        CAPTURE(folder);
        const auto first = tree().lower_bound(std::string{folder} + '/');
        REQUIRE(first != tree().end());
        CHECK(folder_of(first->first) == folder);
    }
    REQUIRE(tree().count("core/decide.h") == 1);
    CHECK(tree().at("core/decide.h").includes.size() >= 3);
}

TEST_CASE("includes point down only") {
    CHECK(lines(points_up_or_sideways(tree())) == "");
}

TEST_CASE("each library stays at home") {
    CHECK(lines(library_away_from_home(tree())) == "");
}

TEST_CASE("core, relay and admin are pure") {
    CHECK(lines(impure(tree())) == "");
}

TEST_CASE("no header includes itself by way of others") {
    CHECK(lines(cycles(tree())) == "");
}

}  // namespace retryd::layering::layering_test
