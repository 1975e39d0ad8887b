#include "core/json.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace retryd::core::json_test {
namespace {

std::string unescaped(std::string_view raw) {
    std::string decoded;
    decoded.reserve(raw.size());
    return std::string{unescape_json(raw, decoded).value_or("(wrong)")};
}

std::string from_base64(std::string_view encoded) {
    std::string decoded;
    decoded.reserve(encoded.size());
    return std::string{decode_base64(encoded, decoded).value_or("(wrong)")};
}

/// The names of the members, those that are texts with their value.
std::string members_of(std::string_view text) {
    std::string found;
    std::string decoded;
    decoded.reserve(text.size());
    Json json{text};
    const bool whole = json.each_member([&](std::string_view name, Json& value) {
        found.append(name);
        if (const auto read = value.text(decoded)) found.append("=").append(*read);
        found.append(" ");
    });
    return whole ? found : found + "(wrong)";
}

}  // namespace

TEST_CASE("members are read in their order, what is not read is skipped") {
    CHECK(members_of(R"({"a":"x","b":{"c":[1,{"d":"}"}]},"e":true,"f":null,"g":-1.5e3,"h":"y"})") ==
          "a=x b e f g h=y ");
    CHECK(members_of(R"( { "a" : "x" , "b" : [ ] } )") == "a=x b ");
    CHECK(members_of("{}").empty());
}

TEST_CASE("what is no JSON ends the reading, wherever it is cut") {
    const std::string whole = R"({"a":"x\"y","b":{"c":[1,2]},"d":"\u00e9"})";
    REQUIRE(members_of(whole) == "a=x\"y b d=\u00e9 ");
    for (std::size_t length = 0; length < whole.size(); ++length)
        CHECK(members_of(whole.substr(0, length)).ends_with("(wrong)"));
    for (const char* wrong : {"", "[]", "x", "{a:1}", R"({"a" 1})", R"({"a":})", R"({"a":1,})", R"({"a":"\x"})"})
        CHECK(members_of(wrong).ends_with("(wrong)"));
}

TEST_CASE("nesting without an end takes no stack") {
    CHECK(members_of(R"({"a":)" + std::string(1'000'000, '[')).ends_with("(wrong)"));
    CHECK(members_of(R"({"a":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}") == "a ");
}

TEST_CASE("escapes stand for characters") {
    CHECK(unescaped(R"(a\"\\\/\b\f\n\r\tz)") == "a\"\\/\b\f\n\r\tz");
    CHECK(unescaped(R"(\u0041\u00e9\u20ac\ud83d\ude00)") == "A\u00e9\u20ac\U0001f600");
    CHECK(unescaped(R"(\u0000)") == std::string(1, '\0'));
    for (const char* half : {R"(\ud83d)", R"(\ud83dx)", R"(\ude00)", R"(\ud83d\u0041)"})
        CHECK(unescaped(half).starts_with("\ufffd"));
    for (const char* wrong : {"\\", "\\u", "\\u12", "\\u12g4", "\\q"})
        CHECK(unescaped(wrong) == "(wrong)");
}

TEST_CASE("what does not fit is not decoded: views into the rest are out") {
    std::string none;
    CHECK_FALSE(unescape_json(std::string(100, 'x'), none));
    CHECK_FALSE(decode_base64(std::string(100, 'x'), none));
}

TEST_CASE("base64") {
    CHECK(from_base64("aGVsbG8=") == "hello");
    CHECK(from_base64("aGVsbG8") == "hello");
    CHECK(from_base64("+/8=") == "\xfb\xff");
    CHECK(from_base64("").empty());
    for (const char* wrong : {"a", "a-b=", "hello world", "abcde"})
        CHECK(from_base64(wrong) == "(wrong)");
}

}  // namespace retryd::core::json_test
