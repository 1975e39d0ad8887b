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

TEST_CASE("desk request: a hold and a release name one queue, and nothing that is none") {
    for (const std::string action : {"queue hold", "queue release"}) {
        const auto fault = [&](const Json& request) { return read_request(action, request.dump()).fault; };
        CAPTURE(action);
        for (const char* const name : {"email", "a b", "\x1b[31m'\"<b>", "größe", "../x", "{queue}", "retryd.errors"}) {
            CHECK(fault({{"queue", name}}).empty());
            CHECK(read_request(action, Json{{"queue", name}}.dump()).work_queue == name);
        }
        const std::string pattern =
            "queue: 'web.*' is a pattern and no queue, so nothing was done. Name one work queue; of "
            "those that a pattern matches each is held, and released, by itself";
        CHECK(fault({{"queue", "web.*"}}) == pattern);
        CHECK(fault({{"queue", "web.?"}}).find("is a pattern and no queue") != std::string::npos);
        const std::string name = "queue: expected the name of a work queue: 1 to 255 bytes, without line breaks or NUL";
        CHECK(fault(Json::object()) == name);
        for (const std::string& wrong :
             {std::string{}, std::string{"a\nb"}, std::string{"a\rb"}, std::string{"a\0b", 3}})
            CHECK(fault({{"queue", wrong}}) == name);
        CHECK(fault({{"queue", std::string(256, 'a')}}) == "queue: expected at most 255 bytes");
        for (const Json& wrong : {Json(1), Json(true), Json::array({"email"}), Json::object()})
            CHECK(fault({{"queue", wrong}}) == "queue: expected a text");
        CHECK(fault({{"queue", "email"}, {"all", true}}) == "unknown key 'all'");
        CHECK(read_request(action, "{\"queue\":\"\xff\"}").fault == "the body is no JSON object");
        const auto task = read_desk_task(action, R"({"queue":"email"})");
        CHECK(task.changes);
        CHECK(task.queue == "email");
        CHECK(task.place == retryd::admin::DeskTask::Place::holding);
    }
}
