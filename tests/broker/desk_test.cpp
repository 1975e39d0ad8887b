// The desk of the real daemon on a real broker: sign in, look, replay, drop, edit, stop; and what is refused.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "broker/desk_scene.h"
#include "support/catch.h"
#include "support/parked_scene.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

using Json = nlohmann::json;
using DeskScene = AtDesk<ParkedScene>;

}  // namespace

TEST_CASE("desk: what is parked is listed, grouped and shown", "[one-version]") {
    DeskScene s;
    s.park(6);
    s.start();
    s.sign_in();
    const Json groups = s.result("parked/groups", {{"from", s.parking}});
    CHECK(groups["selected"] == 6);
    CHECK(groups["queues"][0]["groups"][0]["work_queue"] == s.work);
    const Json by = s.result("parked/groups", {{"from", s.parking}, {"by", "third"}})["queues"][0]["groups"];
    CHECK(by.size() == 2);
    const Json page = s.result("parked/messages", {{"from", s.parking}, {"after", 1}, {"limit", 2}});
    CHECK(page["more"] == true);
    REQUIRE(page["messages"].size() == 2);
    CHECK(page["messages"][0]["number"] == 2);
    const Json shown = s.result("parked/message", {{"from", s.parking}, {"message", page["messages"][1]["handle"]}});
    CHECK(shown["body_base64"] == "Mg==");
    CHECK(shown["body_is_utf8"] == true);
    CHECK(shown["work_queue"] == s.work);
    CHECK(s.await_depth(s.parking, 6));
}

TEST_CASE("desk: a group is replayed, chosen messages are dropped, and all of it is in the audit", "[one-version]") {
    DeskScene s;
    s.park(9);
    s.start();
    s.sign_in();
    const Json third{{"name", "third"}, {"value", "yes"}};
    const Json request{{"from", s.parking}, {"headers", {third}}, {"rate", "unlimited"}, {"stop_after", "never"}};
    Json dry = request;
    dry["dry_run"] = true;
    CHECK(s.result("parked/replay", dry)["selected"] == 3);
    CHECK(s.depth(s.work) == 0);
    const Json replayed = s.result("parked/replay", request);
    CHECK(replayed["done"] == 3);
    CHECK(s.drain(s.work, 3) == bodies(9, true));
    const Json rest = s.result("parked/messages", {{"from", s.parking}})["messages"];
    REQUIRE(rest.size() == 6);
    Json chosen{{"from", s.parking}, {"messages", {rest[0]["handle"], rest[5]["handle"]}}, {"expected", 2}};
    const Json run = s.ended(s.begin("parked/drop", chosen));
    CHECK(run["result"]["done"] == 2);
    CHECK(run["request"]["messages_count"] == 2);
    CHECK_FALSE(run["request"].contains("messages"));
    const auto lines = s.audit();
    REQUIRE(lines.size() >= 2);
    const Json last = Json::parse(lines.back());
    CHECK(last["action"] == "parked drop");
    CHECK(last["request"]["messages"] == chosen["messages"]);
    CHECK(last["event"] == "end");
    CHECK(last["messages"] == 2);
    CHECK(s.drain(s.parking, 4) == std::vector<std::string>{"2", "4", "5", "7"});
}

TEST_CASE("desk: what came after somebody had looked is not dropped with what he agreed to", "[one-version]") {
    DeskScene s;
    s.park(5);
    s.start();
    s.sign_in();
    for (const int agreed : {3, 0, 6}) {
        const Json request{{"from", s.parking}, {"all", true}, {"expected", agreed}};
        const Json run = s.ended(s.begin("parked/drop", request));
        CHECK(run["state"] == "failed");
        CHECK(run["error"].get<std::string>().find("there are now 5 messages of these") == 0);
    }
    CHECK(s.await_depth(s.parking, 5));
    CHECK(s.result("parked/drop", {{"from", s.parking}, {"all", true}, {"expected", 5}})["done"] == 5);
    const Json run = s.ended(s.begin("parked/drop", {{"from", s.parking}, {"all", true}, {"expected", 5}}));
    CHECK(run["state"] == "failed");
}

TEST_CASE("desk: an edited message goes home changed, and says so; without a change nothing is done", "[one-version]") {
    DeskScene s;
    s.park(1);
    s.start();
    s.sign_in();
    const Json message = s.result("parked/messages", {{"from", s.parking}})["messages"][0];
    Json edit{{"from", s.parking}, {"message", message["handle"]}, {"body", "0"}};
    CHECK(s.result("parked/edit", edit)["changed"].empty());
    edit["to"] = s.queue_name("other");
    const Json only_elsewhere = s.ended(s.begin("parked/edit", edit));
    CHECK(only_elsewhere["state"] == "failed");
    CHECK(s.await_depth(s.parking, 1));
    edit.erase("to");
    edit["body"] = "better";
    CHECK(s.result("parked/edit", edit)["changed"] == Json{"body"});
    const Received got = s.take(s.work);
    CHECK(got.body == "better");
    CHECK(text_header(got, "retryd-edited") != "(absent)");
    CHECK(s.await_depth(s.parking, 0));
}

TEST_CASE("desk: a replay that is told to stop ends in order, and readiness and metrics answer meanwhile",
          "[one-version]") {
    DeskScene s;
    s.park(50);
    s.start();
    s.sign_in();
    const std::string id = s.begin("parked/replay", {{"from", s.parking}, {"all", true}, {"rate", 1}});
    CHECK(await([&] { return s.depth(s.work) > 0; }));
    CHECK(s.served.get("/readyz").status == 200);
    CHECK(s.served.get("/metrics").status == 200);
    s.call("POST", "/api/parked/drop", Json{{"from", s.parking}, {"all", true}}.dump());
    CHECK(s.status == 409);
    s.call("DELETE", "/api/runs/" + id);
    const Json run = s.ended(id);
    CHECK(run["state"] == "stopped");
    const std::size_t done = run["result"]["done"];
    CHECK(done >= 1);
    CHECK(s.await_depth(s.parking, static_cast<std::uint32_t>(50 - done)));
    CHECK(s.depth(s.work) == done);
}

TEST_CASE("desk: a daemon that ends ends its runs in order", "[one-version]") {
    DeskScene s;
    s.park(50);
    s.start();
    s.sign_in();
    s.begin("parked/replay", {{"from", s.parking}, {"all", true}, {"rate", 1}});
    CHECK(await([&] { return s.depth(s.work) > 0; }));
    s.stop();
    const auto lines = s.audit();
    REQUIRE_FALSE(lines.empty());
    CHECK(Json::parse(lines.back())["event"] == "end");
    CHECK(Json::parse(lines.back())["outcome"] == "stopped");
    CHECK(await([&] { return s.depth(s.work) + s.depth(s.parking) == 50; }));
}

TEST_CASE("desk: strangers, foreign pages and smuggled requests change nothing", "[one-version]") {
    DeskScene s;
    s.park(2);
    s.start();
    const std::string drop = Json{{"from", s.parking}, {"all", true}}.dump();
    s.call("POST", "/api/parked/drop", drop);
    CHECK(s.status == 401);
    s.headers["Cookie"] = "retryd_desk_0=" + std::string(64, '0');
    s.call("POST", "/api/parked/drop", drop);
    CHECK(s.status == 401);
    s.sign_in();
    CHECK(s.headers["Cookie"] != "retryd_desk_0=" + std::string(64, '0'));
    const auto own = s.headers;
    for (const auto& [name, value] : std::map<std::string, std::string>{{"X-Retryd-Csrf", "0"},
                                                                        {"Origin", "http://evil.example"},
                                                                        {"Sec-Fetch-Site", "cross-site"},
                                                                        {"Host", "evil.example"},
                                                                        {"Content-Type", "text/plain"}}) {
        s.headers = own;
        s.headers[name] = value;
        const Json refused = s.call("POST", "/api/parked/drop", drop);
        CAPTURE(name, s.answer);
        CHECK((s.status == 403 || s.status == 415));
    }
    s.headers = own;
    std::string head;
    for (const auto& [name, value] : own)
        head += name + ": " + value + "\r\n";
    const std::string length = "Content-Length: " + std::to_string(drop.size()) + "\r\n";
    for (const std::string& framing :
         {length + "Transfer-Encoding: chunked\r\n", length + length, std::string{"Transfer-Encoding: chunked\r\n"}}) {
        const std::string said = s.say("POST /api/parked/drop HTTP/1.1\r\n" + head + framing + "\r\n" + drop);
        CAPTURE(framing, said);
        CHECK((said.empty() || said.starts_with("HTTP/1.1 4")));
    }
    CHECK(s.call("GET", "/api/runs")["runs"].empty());
    CHECK(s.depth(s.parking) == 2);
}

TEST_CASE("desk: with another password in the file a reload signs everybody out", "[one-version]") {
    DeskScene s;
    s.start();
    s.sign_in();
    std::ofstream(s.folder.file("password")) << "another\n";
    s.reload();
    CHECK(await([&] {
        s.call("GET", "/api/runs");
        return s.status == 401;
    }));
    s.call("POST", "/api/session", Json{{"password", desk_password}}.dump());
    CHECK(s.status == 401);
}

TEST_CASE("desk: what a replay sent and that failed again is taken back from the rungs", "[one-version]") {
    DeskScene s;
    s.ladder().delays = {"1h"};
    s.park(4);
    s.start();
    s.sign_in();
    const Json third{{"name", "third"}, {"value", "yes"}};
    const std::string id =
        s.begin("parked/replay", {{"from", s.parking}, {"headers", {third}}, {"rate", "unlimited"}, {"to", nullptr}});
    s.ended(id);
    Worker worker(s.work);
    s.client.publish("", s.work, {.body = "another"});
    for (int i = 0; i < 3; ++i)
        worker.reject(worker.receive());
    REQUIRE(s.await_depth(Scenario::rung(s.work, "1h"), 3));
    const Json counted = s.result("parked/undo", {{"run", id}, {"dry_run", true}});
    CHECK(counted["done"] == 0);
    std::size_t selected = 0;
    for (const Json& rung : counted["rungs"])
        selected += rung["selected"].get<std::size_t>();
    CHECK(selected == 2);
    const Json undone = s.result("parked/undo", {{"run", id}});
    CHECK(undone["done"] == 2);
    CHECK(s.await_depth(s.parking, 4));
    CHECK(s.await_depth(Scenario::rung(s.work, "1h"), 1));
}
