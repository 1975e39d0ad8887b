#include "config/load.h"

#include "loading.h"

// ${NAME} in values.

namespace retryd::config::environment_test {
namespace {

const World world{{{"NAME", "value"}, {"EMPTY", ""}, {"NESTED", "${NAME}"}, {"PASSWORD", "geheim"}}, {}};

std::string expanded(const std::string& text) {
    const Expansion result = expand(text, env(world).environment);
    return result.complaint.empty() ? result.text : "! " + result.complaint;
}

}  // namespace

TEST_CASE("variables are put in their places") {
    CHECK(expanded("a${NAME}b${NAME}") == "avaluebvalue");
    CHECK(expanded("${EMPTY}") == "");
    CHECK(expanded("") == "");
}

TEST_CASE("a default stands in for a variable that is unset or empty") {
    CHECK(expanded("${NAME:-other}") == "value");
    CHECK(expanded("${EMPTY:-other}") == "other");
    CHECK(expanded("${UNSET:-other}") == "other");
    CHECK(expanded("${UNSET:-}") == "");
    CHECK(expanded("${UNSET:-a:-b}") == "a:-b");
}

TEST_CASE("what comes from the environment is not looked at again") {
    CHECK(expanded("${NESTED}") == "${NAME}");
}

TEST_CASE("a dollar is only special before a brace, and two of them make it plain") {
    CHECK(expanded("pa$$word$") == "pa$$word$");
    CHECK(expanded("$NAME") == "$NAME");
    CHECK(expanded("$${NAME}") == "${NAME}");
    CHECK(expanded("$$$${NAME}") == "$$${NAME}");
}

TEST_CASE("a variable that is not set is named") {
    CHECK(
        problems_of("broker:\n  uri: ${RABBIT_URI}\n  username: ${USER_OF_RABBIT}\n" + smallest, world) ==
        "f:2:8: broker.uri: the environment variable RABBIT_URI is not set; expected it to be set, or a default as in "
        "${RABBIT_URI:-default}\n"
        "f:3:13: broker.username: the environment variable USER_OF_RABBIT is not set; expected it to be set, or a "
        "default as in ${USER_OF_RABBIT:-default}\n");
}

TEST_CASE("what is no variable is told without what stands in the braces") {
    CHECK(expanded("${}") ==
          "! ${...} holds no name of an environment variable; expected ${NAME}, ${NAME:-default}, or $${ for a literal "
          "${");
    CHECK(expanded("${1A}") == expanded("${}"));
    CHECK(expanded("${a b}") == expanded("${}"));
    CHECK(expanded("x${NAME") == "! ${ is never closed; expected ${NAME}, or $${ for a literal ${");
}

TEST_CASE("of a wrong value from the environment only the variable is shown") {
    CHECK(
        problems_of("shutdown_timeout: ${PASSWORD}\n" + smallest, world) ==
        "f:1:19: shutdown_timeout: \"${PASSWORD}\", taken from the environment, is not a duration; expected a duration "
        "from 0ms to 1h, such as 10s\n");
}

TEST_CASE("any single value may come from the environment") {
    const Settings settings = settings_of(
        "broker: {uri: \"amqp://${HOST:-h}/\", tls: {verify_peer: \"${VERIFY:-false}\"}}\n"
        "errors: {prefetch: \"${PREFETCH:-7}\"}\n" +
            smallest,
        world);
    CHECK(settings.broker.endpoints[0].host == "h");
    CHECK_FALSE(settings.broker.tls.verify_peer);
    CHECK(settings.prefetch.messages == 7);
}

TEST_CASE("no secret is ever in a problem's text") {
    const std::string files[] = {
        "broker: {uri: \"amqp://bob:geheim@h:x/\"}\n",
        "broker: {uri: \"amqp://bob:geheim\"}\n",
        "broker: {uri: \"amqp://geheim/x@h\"}\n",
        "broker: {uri: [\"amqp://bob:geheim@h/\"]}\n",
        "broker: {uris: \"amqp://bob:geheim@h/\"}\n",
        "broker: {uris: [\"amqp://bob:geheim@h/?x\"]}\n",
        "broker: {uris: [{\"amqp://bob:geheim@h/\": x}]}\n",
        "broker: \"amqp://bob:geheim@h/\"\n",
        "broker: {password: geheim, password_file: p}\n",
        "broker: {password: [geheim]}\n",
        "broker: {password: {geheim: geheim}}\n",
        "broker: {password: \"${geheim\"}\n",
        "broker: {passwort: geheim}\n",
        "broker: {password: half,geheim}\n",
        "broker: {uri: \"amqp://bob:${PASSWORD}@h:x/\"}\n",
        "broker: {heartbeat: \"${PASSWORD}\"}\n",
        "broker: {password: geheim\n",
        "broker: {password: \"geheim\n",
        "broker: {password: !geheim x}\n",
        "broker:\n  password: geheim: x\n",
        "broker:\n  password: @geheim\n",
    };
    for (const std::string& file : files) {
        const std::string text = problems_of(file + smallest, world);
        CAPTURE(file, text);
        CHECK_FALSE(text.empty());
        CHECK(text.find("geheim") == std::string::npos);
    }
}

}  // namespace retryd::config::environment_test

// What YAML itself gives occasion for.

namespace retryd::config::yaml_test {

TEST_CASE("what is not YAML is told where it stops to be") {
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

TEST_CASE("a quote that is never closed is told where it opens") {
    CHECK(problems_of("broker:\n  password: \"geheim\nqueues: []\n") ==
          "f:2:13: the quote that opens here is never closed; expected a closing quote\n");
    CHECK(problems_of("broker:\n  password: &p 'it''s\nqueues: []\n") ==
          "f:2:13: the quote that opens here is never closed; expected a closing quote\n");
}

TEST_CASE("quotes that are closed are not told, whatever stands inside") {
    CHECK(settings_of("broker: {username: bob, password: \"a\\\"b\"}\n" + smallest).broker.endpoints[0].password ==
          "a\"b");
    CHECK(settings_of("broker: {username: bob, password: 'a''b'}\n" + smallest).broker.endpoints[0].password == "a'b");
    CHECK(settings_of("broker: {username: bob, password: a'b}\n" + smallest).broker.endpoints[0].password == "a'b");
}

TEST_CASE("a second document, a tag and a key that is no word are told") {
    CHECK(problems_of("log: {level: !!str info}\n? [a]\n: b\n" + smallest + "---\na: b\n") ==
          "f:1:14: a YAML tag (a word beginning with !) has no meaning here; expected a value without one\n"
          "f:2:3: a key is missing or is not a plain word; expected `name: value`\n"
          "f:6:1: a second document begins here; expected one document in the file\n");
}

TEST_CASE("a token behind the end of the file's map is told once, and reading ends there") {
    CHECK(problems_of("    : x\n, y\n") ==
          "f:1:5: a key is missing or is not a plain word; expected `name: value`\n"
          "f:2:1: what begins here belongs to nothing above it; expected a key of the outermost map\n");
}

TEST_CASE("bytes that are not UTF-8 are told where they stand") {
    CHECK(problems_of("# ä\nbroker: {username: \"b\xff\"}\n") ==
          "f:2:22: a byte here is not UTF-8 text; expected the whole file in UTF-8\n");
    CHECK(problems_of(std::string("q\0u\0", 4)) ==
          "f:1:2: a byte here is not UTF-8 text; expected the whole file in UTF-8\n");
}

TEST_CASE("an empty item is told at its dash") {
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

}  // namespace retryd::config::yaml_test
