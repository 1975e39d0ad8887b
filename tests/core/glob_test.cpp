#include <string>
#include <string_view>

#include "core/names.h"
#include "support/catch.h"

namespace retryd::core::glob_test {
namespace {

/// The definition, taken literally: what a glob means, not how to match one fast.
bool matches_by_definition(std::string_view glob, std::string_view name) {
    if (glob.empty()) return name.empty();
    if (glob.front() == '*') {
        return matches_by_definition(glob.substr(1), name) ||
               (!name.empty() && matches_by_definition(glob, name.substr(1)));
    }
    if (name.empty() || (glob.front() != '?' && glob.front() != name.front())) return false;
    return matches_by_definition(glob.substr(1), name.substr(1));
}

/// The `index`-th string over `alphabet`, shortest first.
std::string nth_string(std::string_view alphabet, std::size_t index) {
    std::string made;
    for (; index > 0; index = (index - 1) / alphabet.size())
        made.push_back(alphabet[(index - 1) % alphabet.size()]);
    return made;
}

}  // namespace

TEST_CASE("a pattern without a star or question mark matches itself only") {
    CHECK(glob_matches("email", "email"));
    CHECK_FALSE(glob_matches("email", "emai"));
    CHECK_FALSE(glob_matches("email", "emails"));
    CHECK_FALSE(glob_matches("email", "Email"));
    CHECK_FALSE(glob_matches("email", ""));
    CHECK(glob_matches("a.b[c]{d}\\", "a.b[c]{d}\\"));
}

TEST_CASE("a star stands for any run of characters, the empty one and dots included") {
    CHECK(glob_matches("*", ""));
    CHECK(glob_matches("*", "anything.at.all"));
    CHECK(glob_matches("webhook.*", "webhook."));
    CHECK(glob_matches("webhook.*", "webhook.eu.west"));
    CHECK_FALSE(glob_matches("webhook.*", "webhook"));
    CHECK(glob_matches("*.retry", "a.retry.retry"));
    CHECK(glob_matches("a*b*c", "a-b-b-c"));
    CHECK_FALSE(glob_matches("a*b*c", "a-c-b"));
    CHECK(glob_matches("a**b", "ab"));
    CHECK(glob_matches("a***", "a"));
}

TEST_CASE("a question mark stands for one byte, never for none") {
    CHECK(glob_matches("shard-?", "shard-7"));
    CHECK_FALSE(glob_matches("shard-?", "shard-"));
    CHECK_FALSE(glob_matches("shard-?", "shard-77"));
    CHECK(glob_matches("?*", "x"));
    CHECK_FALSE(glob_matches("?*", ""));
    CHECK(glob_matches("*?", "xyz"));
    CHECK(glob_matches("caf??", "café"));
    CHECK_FALSE(glob_matches("caf?", "café"));
}

TEST_CASE("only the pattern given is read, whatever stands behind it") {
    const std::string_view star = "a*";
    CHECK_FALSE(glob_matches(star.substr(0, 1), "ab"));
    const std::string_view mark = "a?";
    CHECK_FALSE(glob_matches(mark.substr(0, 1), "ab"));
    const std::string_view name = "abc";
    CHECK(glob_matches("ab", name.substr(0, 2)));
    CHECK_FALSE(glob_matches("abc", name.substr(0, 2)));
}

TEST_CASE("every short pattern matches what its definition says") {
    std::string first_difference;
    for (std::size_t g = 0; g <= 1364 && first_difference.empty(); ++g) {  // all patterns of up to 5 of these four
        const std::string glob = nth_string("ab*?", g);
        for (std::size_t n = 0; n <= 62; ++n) {  // all names of up to 5 of these two
            const std::string name = nth_string("ab", n);
            if (glob_matches(glob, name) != matches_by_definition(glob, name)) first_difference = glob + " on " + name;
        }
    }
    CHECK(first_difference == "");
}

TEST_CASE("a pattern of many stars does not blow up") {
    std::string glob;
    for (int i = 0; i < 60; ++i)
        glob += "a*";
    const std::string name(255, 'a');
    CHECK(glob_matches(glob, name));
    CHECK_FALSE(glob_matches(glob + "b", name));
    CHECK_FALSE(glob_matches(std::string(250, '*') + "b", name));
    CHECK_FALSE(glob_matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*?b", name));
}

TEST_CASE("a glob is what has a star or a question mark") {
    CHECK(is_glob("*"));
    CHECK(is_glob("webhook.*"));
    CHECK(is_glob("shard-?"));
    CHECK_FALSE(is_glob("email"));
    CHECK_FALSE(is_glob(""));
    CHECK_FALSE(is_glob("a[b]"));
}

}  // namespace retryd::core::glob_test
