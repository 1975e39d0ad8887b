// What is asked of the desk: strict, and harmless whatever is sent.
#include "commands/desk/desk_request.h"

#include <string>

#include "commands/desk/desk.h"
#include "support/catch.h"

using namespace retryd::commands;

namespace {

const std::string handle(32, 'a');

Json drop_of(int messages) {
    Json request{{"from", "email.parked"}, {"messages", Json::array()}};
    for (int i = 0; i < messages; ++i)
        request["messages"].push_back(handle);
    return request;
}

}  // namespace

TEST_CASE("desk request: a body that nests deep is refused while it is read, and not copied level by level") {
    for (const char* const open : {"[", R"({"a":)"}) {
        std::string deep = R"({"from":"email.parked","message":")" + handle + R"(","headers":)";
        for (int i = 0; i < 300'000; ++i)
            deep += open;
        CHECK(read_request("parked edit", deep).fault == "the body nests too deep");
        CHECK(read_desk_task("parked edit", deep).fault_code == "bad_request");
    }
}

TEST_CASE("desk request: what is no JSON, or has a key that nobody knows, is told") {
    for (const char* const body : {"[]", "1", "{", "nonsense", "\"a\"", "{\"all\":true}}"}) {
        CAPTURE(body);
        CHECK(read_request("parked drop", body).fault == "the body is no JSON object");
    }
    CHECK(read_request("parked drop", R"({"all":true,"yes":true})").fault == "unknown key 'yes'");
    CHECK(read_request("parked replay", R"({"all":true,"expected":1})").fault == "unknown key 'expected'");
    CHECK(read_request("parked drop", "{}").fault_code == "select");
}

TEST_CASE("desk request: how many may be dropped is a number") {
    CHECK(read_request("parked drop", R"({"all":true,"expected":3})").expected == 3);
    CHECK_FALSE(read_request("parked drop", R"({"all":true})").expected);
    for (const char* const wrong : {"-1", "\"3\"", "1.5", "true", "99999999999999999999"})
        CHECK(read_request("parked drop", std::string{R"({"all":true,"expected":)"} + wrong + "}").fault != "");
}

TEST_CASE("desk request: chosen messages are counted where runs are listed, and all named in the audit") {
    const DeskRequest request = read_request("parked drop", drop_of(25).dump());
    CHECK(request.fault.empty());
    CHECK(request.shown["messages_count"] == 25);
    CHECK_FALSE(request.shown.contains("messages"));
    CHECK(request.audited["messages"].size() == 25);
}

TEST_CASE("desk request: no content of a message is shown or goes into the audit") {
    const Json edit{{"from", "email.parked"},
                    {"message", handle},
                    {"body", "secret"},
                    {"headers", {{"a", "secret"}}},
                    {"properties", {{"type", "secret"}}}};
    const DeskRequest request = read_request("parked edit", edit.dump());
    CHECK(request.fault.empty());
    CHECK(request.shown.dump().find("secret") == std::string::npos);
    CHECK(request.audited.dump().find("secret") == std::string::npos);
}
