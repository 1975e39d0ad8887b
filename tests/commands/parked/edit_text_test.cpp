#include "commands/parked/edit_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include "admin/edit.h"
#include "commands/parked/any_message.h"
#include "core/safe_text.h"
#include "support/catch.h"

// A parked message as the text that an editor opens, and back.

namespace retryd::commands::edit_text_test {
namespace {

using any_message::AnyMessage;

core::Message with_body(std::string_view body) {
    core::Message message;
    message.body = body;
    return message;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// The body that is left where the text of a message with `body` comes back with `from` in the place of `to`.
std::string edited_body(std::string_view body, const std::string& from, const std::string& to) {
    std::string text = text_for_editor(with_body(body), "");
    const auto at = text.rfind(from);
    REQUIRE(at != std::string::npos);
    EditedText read;
    REQUIRE(read.read(text.replace(at, from.size(), to)) == "");
    return std::string{read.message().body};
}

std::string problem_of(const std::string& text) {
    EditedText read;
    return read.read(text);
}

const std::string body_line = "----- body, as it is -----\n";

}  // namespace

TEST_CASE("any message that nobody changes comes back as it was") {
    for (std::uint32_t seed = 0; seed < 2'000; ++seed) {
        INFO(seed);
        AnyMessage any(seed);
        const core::Message message = any.make();
        const std::string text = text_for_editor(message, "one\ntwo");
        REQUIRE(text.starts_with("// one\n// two\n{\n"));
        EditedText read;
        REQUIRE(read.read(text) == "");
        REQUIRE(admin::changed_fields(message, read.message()).empty());
    }
}

TEST_CASE("every body comes back as it was, whatever is in it") {
    const std::string_view zero("\0", 1);
    for (const std::string& body : {std::string{},
                                    std::string{"\n"},
                                    std::string{"a"},
                                    std::string{"a\n"},
                                    std::string{"a\n\n\n"},
                                    std::string{"a\r\nb\r\n"},
                                    std::string{zero},
                                    std::string{"\xff\xfe"},
                                    std::string{"\x1b[2J"},
                                    std::string{"----- body, JSON\n{}"},
                                    std::string{"// {\"body\": 1}"},
                                    std::string{"\xe2\x80\xae"
                                                "abc"},
                                    std::string{R"({"a": 1,"b":[1.0,1e400,12345678901234567890123]})"},
                                    std::string{R"({"a":"\u0000 \" "})"},
                                    std::string{R"({"a":1,"a":2})"},
                                    std::string{"[]"},
                                    std::string{"{}"},
                                    std::string{"[[[]]]"},
                                    std::string(200'000, '['),
                                    "[" + std::string(70'000, ' ') + "1]",
                                    std::string(100'000, '\0')}) {
        INFO(core::safe_name(body.substr(0, 40)));
        EditedText read;
        REQUIRE(read.read(text_for_editor(with_body(body), "")) == "");
        CHECK(read.message().body == body);
    }
}

TEST_CASE("a body that is JSON is set out for the person, and goes without blanks as it came") {
    const std::string text = text_for_editor(with_body(R"({"order":17,"items":[1,2]})"), "");
    CHECK(has(text, "  \"order\": 17,\n"));
    CHECK(edited_body(R"({"order":17,"items":[1,2]})", "17", "18") == R"({"order":18,"items":[1,2]})");
    CHECK(edited_body("{\"order\" : 17}", "17", "18") == "{\"order\" : 18}");
    CHECK(edited_body("plain text", "plain", "other") == "other text");
    CHECK(edited_body("one\x1btwo three", "\\u001b", " ") == "one two three");
}

TEST_CASE("headers and properties come back as they were written") {
    EditedText read;
    REQUIRE(read.read("// a comment\n{ // another one\n\"properties\": {\"type\": \"order\", \"priority\": 3},\n"
                      "\"headers\": [{\"name\": \"a\", \"type\": \"long\", \"value\": 7}]}\n" +
                      body_line + "x\n") == "");
    CHECK(read.message().properties.type == "order");
    CHECK(read.message().properties.priority == 3);
    CHECK(integer_of(find(read.message().properties.header_table(), "a")) == 7);
    CHECK(read.message().body == "x");
    REQUIRE(read.read("{}\n" + body_line) == "");
    CHECK(read.message().body.empty());
    REQUIRE(read.read("{}\n" + body_line + "no line end") == "");
    CHECK(read.message().body == "no line end");
    REQUIRE(read.read(R"({"body_base64": "AAE="})") == "");
    CHECK(read.message().body == std::string_view("\0\1", 2));
}

TEST_CASE("retryd's own headers are not shown to be changed, and not taken") {
    const core::Field fields[] = {{"retryd-queue", core::Value::of_longstr("email")},
                                  {"tenant", core::Value::of_longstr("acme")}};
    core::Message message = with_body("x");
    message.properties.headers = core::Table{fields, 2};
    const std::string text = text_for_editor(message, "");
    CHECK_FALSE(has(text, "retryd-queue"));
    CHECK(has(text, R"({"name":"tenant","type":"longstr","value":"acme"})"));
    CHECK(has(problem_of(R"({"headers":[{"name":"retryd-attempt","type":"long","value":1}],"body":""})"),
              "'retryd-attempt' is retryd's or the broker's own"));
    CHECK(has(problem_of(R"({"headers":[{"name":"x-death","type":"long","value":1}],"body":""})"), "'x-death'"));
}

TEST_CASE("what is no message any more is told, with the line where that is known") {
    CHECK(has(problem_of("// one\n{\n\"headers\": [],,\n}\n" + body_line), "line 3"));
    CHECK(has(problem_of("{\"headers\": []"), "parse error"));
    CHECK(has(problem_of("[]\n" + body_line), "is no object"));
    CHECK(has(problem_of("{}"), "so is the body"));
    CHECK(has(problem_of("{\"body\": \"x\"}\n" + body_line + "y"), "two bodies"));
    CHECK(has(problem_of("{\"header\": []}\n" + body_line), "nothing in the object is called 'header'"));
    CHECK(has(problem_of("{\"properties\": {\"Type\": \"x\"}}\n" + body_line), "'Type'"));
    CHECK(has(problem_of("{\"properties\": []}\n" + body_line), "`properties` is no object"));
    CHECK(has(problem_of("{\"properties\": {\"type\": \"x\", \"type\": \"y\"}}\n" + body_line), "'type' twice"));
    CHECK(has(problem_of("{\"properties\": {\"priority\": 256}}\n" + body_line), "256"));
    CHECK(has(problem_of("{\"properties\": {\"type\": \"" + std::string(256, 'x') + "\"}}\n" + body_line), "255"));
    CHECK(
        has(problem_of("{\"headers\": [{\"name\": \"a\", \"typ\": \"long\", \"value\": 1}]}\n" + body_line), "'typ'"));
    CHECK(
        has(problem_of("{\"headers\": [{\"name\": \"a\", \"type\": \"lang\", \"value\": 1}]}\n" + body_line), "type"));
    CHECK(has(problem_of("{}\n" + body_line + "caf\xe9"), "no UTF-8 text from its byte 4"));
    CHECK(has(problem_of("{}\n----- body, JSON\n{\"a\": }"), "no JSON any more"));
    CHECK(has(problem_of("{\"headers\": \"\xff\"}\n" + body_line), "parse error"));
}

TEST_CASE("what nests deeper than any header is refused, however deep") {
    for (const int depth : {300, 1'000'000}) {
        const auto levels = static_cast<std::size_t>(depth);
        CHECK(has(problem_of("{\"headers\": " + std::string(levels, '[')), "too deep"));
        CHECK(
            has(problem_of("{\"headers\": " + std::string(levels, '[') + std::string(levels, ']') + "}\n" + body_line),
                "too deep"));
    }
}

TEST_CASE("a text that ends anywhere is no message, or one with a shorter body") {
    AnyMessage any(7);
    core::Message message = any.make();
    message.body = "the body";
    const std::string text = text_for_editor(message, "c");
    const auto body = text.find(body_line) + body_line.size();
    for (std::size_t length = 0; length < text.size(); ++length) {
        EditedText read;
        const bool message_left = read.read(text.substr(0, length)).empty();
        if (message_left) {
            CHECK(length >= text.find("----- body") + std::string_view{"----- body"}.size());
            CHECK(read.message().body.size() <= (length > body ? length - body : 0));
        }
    }
}

TEST_CASE("compact_json leaves every token as it is") {
    CHECK(compact_json(" { \"a b\" : [ 1 , 2.50 ] } ") == R"({"a b":[1,2.50]})");
    CHECK(compact_json(R"( "a \" b \\" )") == R"("a \" b \\")");
    CHECK_FALSE(compact_json("{\"a\": }"));
}

}  // namespace retryd::commands::edit_text_test
