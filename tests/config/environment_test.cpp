// ${NAME} in values, and that no secret is ever shown.
#include "config/environment.h"

#include "loading.h"

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

TEST_CASE("what is no variable is reported without the text in the braces") {
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
