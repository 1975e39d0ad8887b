// docs/configuration.md is made from the description of the keys, and checked in.
#include "config/keys.h"
#include "files.h"

namespace retryd::packaging {

TEST_CASE("docs/configuration.md is what the description of the keys gives now") {
    const bool same = text_of(RETRYD_PROJECT "/docs/configuration.md") == text_of(RETRYD_PAGES "/configuration.md");
    INFO("to make it anew: cp " RETRYD_PAGES "/configuration.md " RETRYD_PROJECT "/docs/");
    CHECK(same);
}

TEST_CASE("docs/configuration.md has every key with its default and its meaning") {
    const std::string document = text_of(RETRYD_PAGES "/configuration.md");
    CHECK(document.find("@TABLE") == std::string::npos);
    for (const config::KeyInfo& key : config::all_keys()) {
        std::string path = key.path;
        replace_all(path, ".*", ".NAME");
        std::string meaning = key.meaning;
        replace_all(meaning, "*", "\\*");
        INFO(path);
        const std::size_t row = document.find("\n| `" + path + "` | ");
        const bool heading = document.find("\n## " + path + "\n\n" + meaning) != std::string::npos;
        REQUIRE((heading || row != std::string::npos));
        if (heading) continue;
        const std::string told = document.substr(row, document.find('\n', row + 1) - row);
        CHECK(told.ends_with("| " + meaning + " |"));
        if (!key.fallback.empty()) CHECK(told.find("| `" + key.fallback + "` |") != std::string::npos);
    }
}

}  // namespace retryd::packaging
