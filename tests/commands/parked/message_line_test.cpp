#include "commands/parked/message_line.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "commands/parked/any_message.h"
#include "support/catch.h"

// A message as a line of JSON, and back, exact.

namespace retryd::commands::message_line_test {
namespace {

using any_message::AnyMessage;
using any_message::same;
using core::Kind;
using core::Value;

}  // namespace

TEST_CASE("any message comes back from its line as it was") {
    for (std::uint32_t seed = 0; seed < 3'000; ++seed) {
        INFO(seed);
        AnyMessage any(seed);
        const core::Message message = any.make();
        const std::string line = line_of_message("email.parked", message);
        REQUIRE(line.find('\n') == std::string::npos);
        MessageLine read;
        REQUIRE(read.read(line) == "");
        REQUIRE(read.queue() == "email.parked");
        REQUIRE(same(read.message(), message));
    }
}

TEST_CASE("what is not finite keeps its bits") {
    const core::Field fields[] = {
        {"nan", {Kind::float64, std::bit_cast<double>(std::uint64_t{0x7ff8'0000'0000'0abc})}},
        {"low", {Kind::float32, -std::numeric_limits<float>::infinity()}},
    };
    core::Message message;
    message.properties.headers = core::Table{fields, 2};
    MessageLine read;
    REQUIRE(read.read(line_of_message("q", message)) == "");
    const core::Table headers = read.message().properties.header_table();
    REQUIRE(headers.size() == 2);
    CHECK(std::bit_cast<std::uint64_t>(std::get<double>(headers.first[0].value.data)) == 0x7ff8'0000'0000'0abc);
    CHECK(std::get<float>(headers.first[1].value.data) == -std::numeric_limits<float>::infinity());
}

TEST_CASE("a line that ends anywhere in the middle is no message") {
    AnyMessage any(7);
    const std::string line = line_of_message("email.parked", any.make());
    MessageLine read;
    for (std::size_t length = 0; length < line.size(); ++length)
        REQUIRE(read.read(line.substr(0, length)) != "");
}

TEST_CASE("a line of another form is no message, and why is said") {
    MessageLine read;
    CHECK(read.read("[]") != "");
    CHECK(read.read(R"({"body":"x"})") == "it has no `queue`");
    CHECK(read.read(R"({"queue":"q"})") == "it has no `body`");
    CHECK(read.read(R"({"queue":1,"body":"x"})") != "");
    CHECK(read.read(R"({"queue":"q","body":"x","headers":{}})") != "");
    CHECK(read.read(R"({"queue":"q","body":"x","headers":[{"name":"a","type":"int8","value":300}]})").find("300") !=
          std::string::npos);
    CHECK(read.read(R"({"queue":"q","body":"x","headers":[{"name":"a","type":"void","value":null}]})") == "");
    CHECK(read.read(R"({"queue":"q","body_base64":"a"})") != "");
    std::string deep = "{\"name\":\"a\",\"type\":\"long\",\"value\":1}";
    for (int i = 0; i < 200; ++i)
        deep = "{\"name\":\"a\",\"type\":\"table\",\"value\":[" + deep + "]}";
    CHECK(read.read("{\"queue\":\"q\",\"body\":\"\",\"headers\":[" + deep + "]}").find("too deep") !=
          std::string::npos);
}

}  // namespace retryd::commands::message_line_test
