// docs/configuration.md and config/retryd.yaml are generated from the description of the keys, and checked in.
#include "config/keys.h"
#include "files.h"

namespace retryd::packaging {
namespace {

void check_generated(const std::string& folder, const std::string& name) {
    const bool same = text_of(RETRYD_PROJECT "/" + folder + name) == text_of(RETRYD_PAGES "/" + name);
    INFO(folder << name << " is out of date: cmake --build " RETRYD_BUILD " --target generated");
    CHECK(same);
}

}  // namespace

TEST_CASE("docs/configuration.md is what the description of the keys gives now") {
    check_generated("docs/", "configuration.md");
}

TEST_CASE("config/retryd.yaml is what the description of the keys gives now") {
    check_generated("config/", "retryd.yaml");
}

TEST_CASE("docs/configuration.md has every key with its default and its description") {
    const std::string document = text_of(RETRYD_PAGES "/configuration.md");
    CHECK(document.find("@TABLE") == std::string::npos);
    for (const config::KeyInfo& key : config::all_keys()) {
        std::string path = key.path;
        replace_all(path, ".*", ".NAME");
        std::string description = key.description;
        replace_all(description, "*", "\\*");
        INFO(path);
        const std::size_t row = document.find("\n| `" + path + "` | ");
        const bool heading = document.find("\n## " + path + "\n\n" + description) != std::string::npos;
        REQUIRE((heading || row != std::string::npos));
        if (heading) continue;
        const std::string told = document.substr(row, document.find('\n', row + 1) - row);
        CHECK(told.ends_with("| " + description + " |"));
        if (!key.value.default_value.empty())
            CHECK(told.find("| `" + key.value.default_value + "` |") != std::string::npos);
    }
}

}  // namespace retryd::packaging
