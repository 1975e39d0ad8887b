// What YAML allows and forbids.
#include "loading.h"

namespace retryd::config::tree_test {

TEST_CASE("what is not YAML is reported where it stops being YAML") {
    CHECK(problems_of("broker: uri: amqp://h/\n") ==
          "f:1:12: this is not YAML (illegal map value); expected YAML: look at indentation, brackets and quotes, on "
          "this "
          "line and the one before\n");
}

TEST_CASE("a tab as indentation is named") {
    CHECK(problems_of("broker:\n\turi: amqp://h/\n") ==
          "f:2:5: this is not YAML (illegal map value); expected spaces, since YAML forbids tabs here\n");
}

TEST_CASE("a variable without quotes inside braces is named") {
    CHECK(problems_of("broker: {password: ${SECRET}}\n") ==
          "f:1:21: this is not YAML (end of map flow not found); expected quotes around a ${...} that stands inside {} "
          "or "
          "[]\n");
}

TEST_CASE("a quote that is never closed is reported where it opens") {
    CHECK(problems_of("broker:\n  password: \"geheim\nqueues: []\n") ==
          "f:2:13: the quote that opens here is never closed; expected a closing quote\n");
    CHECK(problems_of("broker:\n  password: &p 'it''s\nqueues: []\n") ==
          "f:2:13: the quote that opens here is never closed; expected a closing quote\n");
}

TEST_CASE("quotes that are closed are not reported, whatever stands inside") {
    CHECK(settings_of("broker: {username: bob, password: \"a\\\"b\"}\n" + smallest).broker.endpoints[0].password ==
          "a\"b");
    CHECK(settings_of("broker: {username: bob, password: 'a''b'}\n" + smallest).broker.endpoints[0].password == "a'b");
    CHECK(settings_of("broker: {username: bob, password: a'b}\n" + smallest).broker.endpoints[0].password == "a'b");
}

TEST_CASE("a second document, a tag and a key that is no word are reported") {
    CHECK(problems_of("log: {level: !!str info}\n? [a]\n: b\n" + smallest + "---\na: b\n") ==
          "f:1:14: a YAML tag (a word beginning with !) has no meaning here; expected a value without one\n"
          "f:2:3: a key is missing or is not a plain word; expected `name: value`\n"
          "f:6:1: a second document begins here; expected one document in the file\n");
}

TEST_CASE("a token behind the end of the file's map is reported once, and reading ends there") {
    CHECK(problems_of("    : x\n, y\n") ==
          "f:1:5: a key is missing or is not a plain word; expected `name: value`\n"
          "f:2:1: what begins here belongs to nothing above it; expected a key of the outermost map\n");
}

TEST_CASE("bytes that are not UTF-8 are reported where they stand") {
    CHECK(problems_of("# ä\nbroker: {username: \"b\xff\"}\n") ==
          "f:2:22: a byte here is not UTF-8 text; expected the whole file in UTF-8\n");
    CHECK(problems_of(std::string("q\0u\0", 4)) ==
          "f:1:2: a byte here is not UTF-8 text; expected the whole file in UTF-8\n");
}

TEST_CASE("an empty item is reported at its dash") {
    CHECK(problems_of("ladders:\n  s:\n    delays:\n      - 5s\n      -\nqueues: [{match: a, ladder: s}]\n") ==
          "f:5:7: ladders.s.delays[1]: has no value; expected a delay from 1ms to 3650d, such as 30s, or 30s x3 for "
          "three attempts\n");
}

TEST_CASE("a byte order mark and carriage returns do no harm") {
    CHECK(problems_of("\xef\xbb\xbflog: {level: loud}\r\nladders: {s: {delays: [1s]}}\r\n"
                      "queues: [{match: a, ladder: t}]\r\n") ==
          "f:1:14: log.level: \"loud\" is not one of the choices; expected debug, info, warning or error\n"
          "f:3:29: queues[0].ladder: \"t\" is not one of the ladders; expected s\n");
}

TEST_CASE("anchors and aliases work") {
    const Settings settings = settings_of(
        "ladders:\n  slow: &slow {delays: [1h]}\n  same: *slow\nqueues: [{match: a, ladder: same}, {match: b, ladder: "
        "slow}]\n");
    CHECK(settings.policy.entries[0].ladder.name == "same");
    CHECK(settings.policy.entries[0].ladder.steps == std::vector<core::Milliseconds>{std::chrono::hours{1}});
}

TEST_CASE("aliases that double again and again are refused without being followed") {
    std::string text = "a0: &a0 [x]\n";
    for (int i = 1; i < 100; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before + "]\n";
    }
    CHECK(problems_of(text) ==
          "f: the file unfolds to more than 50000 values; expected fewer (look at its aliases, `*name`)\n");
}

TEST_CASE("a file may have fifty thousand values") {
    const auto problem = [](std::size_t items) {
        std::string text = "a: [";
        for (std::size_t i = 0; i < items; ++i)
            text += "x,";
        return problems_of(text + "]\n");
    };
    CHECK(problem(49'998).find("unfolds") == std::string::npos);  // with the list and the map
    CHECK(problem(49'999).find("unfolds") != std::string::npos);
}

TEST_CASE("an alias inside its own anchor is refused") {
    CHECK(
        problems_of("ladders: &l {s: *l}\nqueues: [{match: a, ladder: s}]\n") ==
        "f:1:14: ladders.s: has no delays; expected delays such as [5s, 30s, 2m], or a formula of first and attempts\n"
        "f:1:17: an alias stands inside its own anchor; expected it after the anchored value\n");
}

TEST_CASE("what is nested too deep is a problem, not a crash") {
    CHECK_FALSE(problems_of(std::string(20'000, '[')).empty());
    std::string chain = "a0: &a0 x\n";
    for (int i = 1; i < 20'000; ++i)
        chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
    CHECK_FALSE(problems_of(chain).empty());
}

}  // namespace retryd::config::tree_test
