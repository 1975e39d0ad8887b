// The desk's paths, answers and runs, with actions that only pretend.
#include "daemon/desk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "daemon/desk_runs.h"
#include "daemon/http_service.h"
#include "http/client.h"
#include "support/await.h"
#include "support/catch.h"
#include "support/folder.h"
#include "support/free_port.h"

namespace retryd::daemon::desk_test {
namespace {

using Json = nlohmann::json;
using test::await;

struct Pretended {
    std::atomic<bool> hold{false};    // actions last until this is false, or they are told to stop
    std::atomic<bool> looked{false};  // … and they are past their look
    std::atomic<bool> deaf{false};    // … and they do not hear that they are told to stop
    std::atomic<int> under_way{0};

    DeskActions actions() {
        DeskActions actions;
        actions.read = [](const std::string& action, const std::string& body) {
            admin::DeskTask task;
            task.action = action;
            task.body = body;
            const Json json = body.empty() ? Json::object() : Json::parse(body, nullptr, false);
            if (!json.is_object()) {
                task.fault = "no JSON";
                task.fault_code = "bad_request";
                return task;
            }
            Json shown = json;
            if (shown.erase("messages") > 0) task.audited = json.dump();
            task.shown = shown.dump();
            task.queue = json.value("from", "");
            task.changes = action == "parked drop";
            if (action.starts_with("queue ")) {
                task.changes = true;
                task.queue = json.value("queue", "");
                task.place = admin::DeskTask::Place::holding;
            }
            return task;
        };
        actions.carry_out = [this](const config::Settings&, const config::Endpoint&, const admin::DeskTask& task,
                                   const admin::DeskControl& control) {
            if (task.action.starts_with("queue ")) {
                admin::DeskOutcome outcome;
                outcome.error = control.hold(task.queue, task.action == "queue hold").refusal;
                outcome.ok = outcome.error.empty();
                if (outcome.ok) outcome.result = R"({"ok":true})";
                return outcome;
            }
            ++under_way;
            control.report({"looked at", "q", 1, 2, ""});
            await([&] {
                if (looked) control.report({"dropped", "q", 1, 2, ""});
                return !hold || (!deaf && !control.go_on());
            });
            --under_way;
            admin::DeskOutcome outcome;
            outcome.stopped = !control.go_on();
            outcome.ok = !outcome.stopped;
            outcome.done = 2;
            if (task.body == R"({"id":"throw"})") throw std::runtime_error("the broker is gone");
            if (task.body == R"({"from":"a","id":"throw a number"})") throw 7;
            outcome.result = R"({"ok":true})";
            return outcome;
        };
        return actions;
    }
};

std::vector<std::string> lines_of(const std::string& file) {
    std::ifstream text(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);)
        lines.push_back(line);
    return lines;
}

/// Asks as the server does.
struct Browser {
    explicit Browser(Desk& desk) : api(desk.api()) {}

    http::Reply ask(const std::string& method, const std::string& path, const std::string& body = "") {
        http::WebRequest request{method, path, "127.0.0.1", "", headers};
        if (auto refusal = api.refuse(request)) return *refusal;
        request.body = body;
        return api.handle(request);
    }
    Json json(const std::string& method, const std::string& path, const std::string& body = "") {
        last = ask(method, path, body);
        return Json::parse(last.body);
    }
    void sign_in() {
        const Json session = json("POST", "/api/session", R"({"password":"geheim"})");
        REQUIRE(last.status == 200);
        headers["x-retryd-csrf"] = session["csrf"].get<std::string>();
        headers["cookie"] = cookie();
    }
    std::string cookie() const {
        for (const auto& [name, value] : last.headers) {
            if (name == "Set-Cookie") return value.substr(0, value.find(';'));
        }
        return "";
    }
    Json ended(const std::string& id) {
        Json run;
        CHECK(await([&] {
            run = json("GET", "/api/runs/" + id);
            return !run["ended_at"].is_null();
        }));
        return run;
    }

    http::WebApi api;
    std::map<std::string, std::string> headers{{"host", "127.0.0.1:9467"}, {"content-type", "application/json"}};
    http::Reply last;
};

struct Scene {
    Scene()
        : log(config::Log{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain),
          desk(
              pretended.actions(), log,
              [this]() -> std::optional<BrokerTarget> {
                  if (!connected) return std::nullopt;
                  return BrokerTarget{std::make_shared<const config::Settings>(), {}};
              },
              [this](const std::string& work_queue, bool hold) -> admin::HoldAnswer {
                  if (work_queue == "none") return {.refusal = "nothing was done: 'none' matches no entry"};
                  held.emplace_back(hold ? "hold" : "release", work_queue);
                  return {};
              }),
          browser(desk) {
        http.admin = config::HttpAdmin{"geheim"};
        desk.configure(http);
    }
    ~Scene() { pretended.hold = false; }

    Pretended pretended;
    telemetry::Log log;
    bool connected = true;
    std::vector<std::pair<std::string, std::string>> held;  // only looked at once the run has ended
    config::Http http{"127.0.0.1", 9467};
    Desk desk;
    Browser browser;
};

/// The service that has the desk, with a configuration that is reloaded.
struct ServiceScene {
    explicit ServiceScene(const std::string& host = "0.0.0.0")
        : port(test::free_port()), configuration(folder.file("retryd.yaml"), served_at(host, port), log) {
        std::ofstream(folder.file("password")) << "geheim\n";
    }

    static config::Settings served_at(const std::string& host, std::uint16_t port) {
        config::Settings settings;
        settings.http = config::Http{host, port};
        return settings;
    }
    void reload(const std::string& host, bool admin) {
        std::ofstream(folder.file("retryd.yaml"))
            << "broker: {uri: amqp://guest@127.0.0.1:1/}\nladders: {standard: {delays: [5s]}}\n"
            << "queues: [{match: work, ladder: standard}]\nlog: {level: error}\nhttp: {listen: '" << host << ':' << port
            << "'" << (admin ? ", admin: {password_file: " + folder.file("password") + "}" : "") << "}\n";
        REQUIRE(configuration.reload());
        http.follow_reload();
    }
    Json shown() const {
        return Json::parse(http::get({.url = "http://127.0.0.1:" + std::to_string(port) + "/status.json"}).body);
    }

    test::TemporaryFolder folder;
    std::uint16_t port;
    telemetry::Log log{{config::LogLevel::error, config::LogFormat::text}, telemetry::Log::Sink::plain};
    Configuration configuration;
    Watchdog watchdog{log, std::nullopt};
    DaemonState state;
    PeriodicChecks checks{nullptr};
    HeldQueues held{log};
    ParkedAge age{nullptr, log, state.faults()};
    Desk desk{DeskActions{}, log, [] { return std::nullopt; }};
    HttpService http{configuration, watchdog, state, checks, log, held, age, desk};
};

}  // namespace

TEST_CASE("desk: without http.admin there is nothing, and nobody stays signed in") {
    Scene s;
    s.browser.sign_in();
    CHECK(s.browser.api.there());
    s.http.admin.reset();
    s.desk.configure(s.http);
    CHECK_FALSE(s.browser.api.there());
    CHECK(s.browser.ask("GET", "/api/session").status == 404);
    s.http.admin = config::HttpAdmin{"geheim"};
    s.desk.configure(s.http);
    CHECK(s.browser.ask("GET", "/api/runs").status == 401);
}

TEST_CASE("desk: the cookie is for HTTP alone, for this site alone, and behind TLS for TLS alone") {
    Scene s;
    s.browser.ask("POST", "/api/session", R"({"password":"geheim"})");
    s.browser.json("POST", "/api/session", R"({"password":"geheim"})");
    const std::string set = s.browser.last.headers.at(0).second;
    CHECK(set.starts_with("retryd_desk_9467="));
    CHECK(set.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"));
    s.browser.headers["x-forwarded-proto"] = "https";
    s.browser.json("POST", "/api/session", R"({"password":"geheim"})");
    CHECK(s.browser.last.headers.at(0).second.ends_with("; Secure"));
}

TEST_CASE("desk: nothing is done without cookie, token and type; a sign-in makes a new session and ends the former") {
    Scene s;
    CHECK(s.browser.json("GET", "/api/session") == Json{{"signed_in", false}});
    CHECK(s.browser.json("GET", "/api/runs")["code"] == "not_signed_in");
    CHECK(s.browser.json("POST", "/api/parked/drop", "{}")["code"] == "not_signed_in");
    s.browser.headers["cookie"] = "retryd_desk_9467=" + std::string(64, 'f');  // somebody's else idea of an id
    s.browser.sign_in();
    CHECK(s.browser.cookie() != "retryd_desk_9467=" + std::string(64, 'f'));
    const auto former = s.browser.headers;
    CHECK(s.browser.json("GET", "/api/session")["signed_in"] == true);
    for (const char* token : {"", "00"}) {
        s.browser.headers["x-retryd-csrf"] = token;
        CHECK(s.browser.json("POST", "/api/parked/drop", "{}")["code"] == "csrf");
        CHECK(s.browser.last.status == 403);
        CHECK(s.browser.json("DELETE", "/api/session")["code"] == "csrf");
    }
    s.browser.headers = former;
    s.browser.headers["content-type"] = "text/plain";
    CHECK(s.browser.json("POST", "/api/parked/drop", "{}")["code"] == "content_type");
    s.browser.headers = former;
    s.browser.sign_in();
    const auto now = s.browser.headers;
    s.browser.headers = former;
    CHECK(s.browser.json("GET", "/api/runs")["code"] == "not_signed_in");
    s.browser.headers = now;
    CHECK(s.browser.json("DELETE", "/api/session") == Json{{"signed_in", false}});
    CHECK(s.browser.json("GET", "/api/runs")["code"] == "not_signed_in");
}

TEST_CASE("desk: guesses are answered later and later, and who is signed in stays so") {
    Scene s;
    Browser guest(s.desk);
    s.browser.sign_in();
    for (int i = 0; i < 5; ++i) {
        CHECK(guest.json("POST", "/api/session", R"({"password":"wrong"})")["code"] == "wrong_password");
        CHECK(guest.last.status == 401);
    }
    // On a machine that is slow enough the first wait is over by now: each further guess doubles it.
    CHECK(await([&] { return guest.json("POST", "/api/session", R"({"password":"wrong"})")["code"] == "wait"; }));
    CHECK(guest.last.status == 429);
    CHECK(guest.last.headers.at(0).first == "Retry-After");
    CHECK(std::stoi(guest.last.headers.at(0).second) >= 1);
    CHECK(s.browser.ask("GET", "/api/runs").status == 200);
    CHECK(await([&] { return guest.ask("POST", "/api/session", R"({"password":"geheim"})").status == 200; }));
}

TEST_CASE("desk: another password in the file ends every session") {
    Scene s;
    s.browser.sign_in();
    s.desk.configure(s.http);
    CHECK(s.browser.ask("GET", "/api/runs").status == 200);
    s.http.admin->password = "another";
    s.desk.configure(s.http);
    CHECK(s.browser.ask("GET", "/api/runs").status == 401);
}

TEST_CASE("desk: paths, methods and bodies that are wrong are told so") {
    Scene s;
    s.browser.sign_in();
    CHECK(s.browser.json("GET", "/api/nothing")["code"] == "not_found");
    CHECK(s.browser.json("GET", "/api/runs/none")["code"] == "not_found");
    CHECK(s.browser.json("PUT", "/api/session")["code"] == "method");
    CHECK(s.browser.last.headers.at(0).second == "GET, POST, DELETE");
    CHECK(s.browser.json("GET", "/api/parked/drop")["code"] == "method");
    CHECK(s.browser.json("POST", "/api/parked/drop", "[")["code"] == "bad_request");
    for (const char* body : {"", "[]", "{}", R"({"password":1})", R"({"password":"geheim","x":1})"})
        CHECK(s.browser.json("POST", "/api/session", body)["code"] == "bad_request");
    s.connected = false;
    CHECK(s.browser.json("POST", "/api/parked/drop", "{}")["code"] == "not_connected");
    CHECK(s.browser.last.status == 503);
    http::WebRequest request{"POST", "/api/session", "", "", {}};
    CHECK(s.browser.api.limit(request) < s.browser.api.limit({"POST", "/api/parked/drop", "", "", {}}));
    CHECK(s.browser.api.limit({"POST", "/api/parked/drop", "", "", {}}) <
          s.browser.api.limit({"POST", "/api/parked/edit", "", "", {}}));
}

TEST_CASE("desk: an action is a run, whose progress and result can be asked for") {
    Scene s;
    s.browser.sign_in();
    s.pretended.hold = true;
    const Json begun = s.browser.json("POST", "/api/parked/drop", R"({"from":"a"})");
    CHECK(s.browser.last.status == 202);
    const std::string id = begun["id"];
    CHECK(id.size() == 16);
    CHECK(await([&] { return s.browser.json("GET", "/api/runs/" + id)["progress"]["done"] == 1; }));
    s.pretended.hold = false;
    const Json run = s.browser.ended(id);
    CHECK(run["state"] == "done");
    CHECK(run["ok"] == true);
    CHECK(run["result"] == Json{{"ok", true}});
    CHECK(run["request"] == Json{{"from", "a"}});
    const Json all = s.browser.json("GET", "/api/runs");
    REQUIRE(all["runs"].size() == 1);
    CHECK_FALSE(all["runs"][0].contains("result"));
}

TEST_CASE("desk: what goes wrong in an action is told") {
    Scene s;
    s.browser.sign_in();
    const Json begun = s.browser.json("POST", "/api/parked/groups", R"({"id":"throw"})");
    const Json run = s.browser.ended(begun["id"]);
    CHECK(run["state"] == "failed");
    CHECK(run["error"] == "the broker is gone");
    CHECK(run["ok"] == false);
}

TEST_CASE("desk: whatever an action throws, its run ends and its queue is free") {
    Scene s;
    s.browser.sign_in();
    const Json begun = s.browser.json("POST", "/api/parked/drop", R"({"from":"a","id":"throw a number"})");
    const Json run = s.browser.ended(begun["id"]);
    CHECK(run["state"] == "failed");
    CHECK(run["error"] == "it ended with an error that does not say what it is");
    CHECK(s.browser.ask("POST", "/api/parked/drop", R"({"from":"a"})").status == 202);
}

TEST_CASE("desk: so many runs change something beside each other, and no more") {
    Scene s;
    s.browser.sign_in();
    s.pretended.hold = true;
    const auto drop = [&](std::size_t number) {
        return s.browser.json("POST", "/api/parked/drop", R"({"from":"q)" + std::to_string(number) + "\"}");
    };
    const std::string first = drop(0)["id"];
    for (std::size_t i = 1; i < DeskRuns::most_changes; ++i) {
        drop(i);
        CHECK(s.browser.last.status == 202);
    }
    const Json refused = drop(DeskRuns::most_changes);
    CHECK(s.browser.last.status == 429);
    CHECK(refused["code"] == "too_many");
    CHECK(refused["error"] == "8 runs that change something are under way; wait until one has ended, or stop one");
    CHECK(drop(0)["code"] == "busy");  // which names the run in the way
    CHECK(s.browser.ask("POST", "/api/parked/groups", R"({"from":"a"})").status == 202);
    s.browser.ask("DELETE", "/api/runs/" + first);
    s.browser.ended(first);
    CHECK(drop(DeskRuns::most_changes).contains("id"));
}

TEST_CASE("desk: one run changes a queue at a time; it can be stopped") {
    Scene s;
    s.browser.sign_in();
    s.pretended.hold = true;
    const std::string id = s.browser.json("POST", "/api/parked/drop", R"({"from":"a"})")["id"];
    for (const char* body : {R"({"from":"a"})", "{}"}) {
        const Json busy = s.browser.json("POST", "/api/parked/drop", body);
        CHECK(s.browser.last.status == 409);
        CHECK(busy["code"] == "busy");
        CHECK(busy["run"] == id);
    }
    const std::string other = s.browser.json("POST", "/api/parked/drop", R"({"from":"b"})")["id"];
    CHECK(s.browser.last.status == 202);
    CHECK(s.browser.json("DELETE", "/api/runs/" + id)["id"] == id);
    CHECK(s.browser.ended(id)["state"] == "stopped");
    CHECK(s.browser.json("GET", "/api/runs/" + other)["state"] == "running");
    CHECK(s.browser.ask("POST", "/api/parked/drop", R"({"from":"a"})").status == 202);
}

TEST_CASE("desk: looks run beside each other up to a limit, but never two at one queue") {
    Scene s;
    s.browser.sign_in();
    s.pretended.hold = true;
    s.browser.ask("POST", "/api/parked/groups", R"({"from":"a"})");
    CHECK(await([&] { return s.pretended.under_way == 1; }));
    const std::string second = s.browser.json("POST", "/api/parked/groups", R"({"from":"a"})")["id"];
    s.browser.ask("POST", "/api/parked/groups", R"({"from":"b"})");
    CHECK(await([&] { return s.pretended.under_way == 2; }));
    CHECK(await([&] {
        return s.browser.json("GET", "/api/runs/" + second)["progress"]["note"] ==
               "waits until an earlier look at the same queue has ended";
    }));
    s.browser.ask("POST", "/api/parked/groups", R"({"from":"c"})");
    CHECK(s.browser.json("POST", "/api/parked/groups", R"({"from":"d"})")["code"] == "too_many");
    CHECK(s.browser.last.status == 429);
    CHECK(s.browser.ask("POST", "/api/parked/drop", R"({"from":"d"})").status == 202);
    s.pretended.hold = false;
    CHECK(s.browser.ended(second)["state"] == "done");
}

TEST_CASE("desk: a look waits while a change of the same queue looks itself, and no longer") {
    Scene s;
    s.browser.sign_in();
    s.pretended.hold = true;
    const std::string drop = s.browser.json("POST", "/api/parked/drop", R"({"from":"a"})")["id"];
    CHECK(await([&] { return s.pretended.under_way == 1; }));
    const std::string look = s.browser.json("POST", "/api/parked/groups", R"({"from":"a"})")["id"];
    CHECK(await([&] {
        return s.browser.json("GET", "/api/runs/" + look)["progress"]["note"] ==
               "waits until an earlier look at the same queue has ended";
    }));
    CHECK(s.pretended.under_way == 1);
    s.pretended.looked = true;
    CHECK(await([&] { return s.pretended.under_way == 2; }));
    CHECK(s.browser.json("GET", "/api/runs/" + drop)["ended_at"].is_null());
    s.pretended.hold = false;
    CHECK(s.browser.ended(look)["state"] == "done");
}

TEST_CASE("desk: the last runs are kept, and no more") {
    Scene s;
    s.browser.sign_in();
    std::string first;
    for (std::size_t i = 0; i <= DeskRuns::most_kept; ++i) {
        const std::string id = s.browser.json("POST", "/api/parked/groups", R"({"from":"a"})")["id"];
        if (first.empty()) first = id;
        s.browser.ended(id);
    }
    s.browser.ended(s.browser.json("POST", "/api/parked/groups", R"({"from":"a"})")["id"]);
    CHECK(s.browser.json("GET", "/api/runs")["runs"].size() == DeskRuns::most_kept);
    CHECK(s.browser.ask("GET", "/api/runs/" + first).status == 404);
}

TEST_CASE("desk: each run is two lines of the audit file, and without that file nothing is done") {
    Scene s;
    const test::TemporaryFolder folder;
    s.http.audit = folder.path() + "/audit";
    s.desk.configure(s.http);
    s.browser.sign_in();
    s.browser.headers["x-forwarded-for"] = "10.0.0.9";
    const std::string id = s.browser.json("POST", "/api/parked/drop", R"({"from":"a"})")["id"];
    s.browser.ended(id);
    std::ifstream file(s.http.audit);
    std::string line;
    REQUIRE(std::getline(file, line));
    const Json begin = Json::parse(line);
    CHECK(begin["event"] == "begin");
    CHECK(begin["run"] == id);
    CHECK(begin["action"] == "parked drop");
    CHECK(begin["request"] == Json{{"from", "a"}});
    CHECK(begin["address"] == "127.0.0.1");
    CHECK(begin["forwarded_for"] == "10.0.0.9");
    REQUIRE(std::getline(file, line));
    const Json end = Json::parse(line);
    CHECK(end["event"] == "end");
    CHECK(end["outcome"] == "done");
    CHECK(end["messages"] == 2);
    CHECK_FALSE(std::getline(file, line));
    s.http.audit = folder.path() + "/missing/audit";
    s.desk.configure(s.http);
    const Json begun = s.browser.json("POST", "/api/parked/drop", R"({"from":"a"})");
    CHECK(s.browser.last.status == 202);
    const Json failed = s.browser.ended(begun["id"]);
    CHECK(failed["state"] == "failed");
    CHECK(failed["error"] ==
          "nothing was done: the audit file '" + s.http.audit + "' cannot be written: No such file or directory");
    CHECK(failed["progress"]["done"] == 0);
    CHECK(failed["result"].is_null());
}

TEST_CASE("desk: the audit has the whole request, which whoever asks for a run is not given") {
    Scene s;
    const test::TemporaryFolder folder;
    s.http.audit = folder.file("audit");
    s.desk.configure(s.http);
    s.browser.sign_in();
    const std::string body = R"({"from":"a","messages":["x","y"]})";
    const std::string id = s.browser.json("POST", "/api/parked/drop", body)["id"];
    CHECK(s.browser.ended(id)["request"] == Json{{"from", "a"}});
    const auto lines = lines_of(s.http.audit);
    REQUIRE(lines.size() == 2);
    for (const std::string& line : lines)
        CHECK(Json::parse(line)["request"] == Json::parse(body));
}

TEST_CASE("desk: a line of the audit is its own, even after one that was cut off") {
    const test::TemporaryFolder folder;
    const std::string file = folder.file("audit");
    CHECK(append_to_audit(file, "one").empty());
    std::ofstream(file, std::ios::app) << "cut o";
    CHECK(append_to_audit(file, "two").empty());
    CHECK(append_to_audit(file, "three").empty());
    CHECK(lines_of(file) == std::vector<std::string>{"one", "cut o", "two", "three"});
}

TEST_CASE("desk: a line of the audit that is being written does not look cut off to who writes the next one") {
    constexpr int writers = 4;
    constexpr int lines_each = 50;
    const test::TemporaryFolder folder;
    const std::string file = folder.file("audit");
    const std::string long_line(500'000, 'x');  // the file grows by a page at a time
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < writers; ++i)
            threads.emplace_back([&] {
                for (int line = 0; line < lines_each; ++line)
                    append_to_audit(file, long_line);
            });
    }
    const auto lines = lines_of(file);
    CHECK(lines.size() == writers * lines_each);
    CHECK(std::count(lines.begin(), lines.end(), "") == 0);
}

TEST_CASE("desk: who has locked the audit keeps nothing out of it") {
    const test::TemporaryFolder folder;
    const std::string file = folder.file("audit");
    CHECK(append_to_audit(file, "one").empty());
    const int held = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(flock(held, LOCK_SH) == 0);
    CHECK(append_to_audit(file, "two").empty());
    close(held);
    CHECK(lines_of(file) == std::vector<std::string>{"one", "two"});
}

TEST_CASE("desk: the audit is a regular file, and nothing else is written to") {
    const test::TemporaryFolder folder;
    const auto refused = [](const std::string& file) {
        const std::string begin = "the audit file '" + file + "' cannot be written: ";
        const std::string why = append_to_audit(file, "line");
        CHECK(why.substr(0, begin.size()) == begin);
        return why.size() < begin.size() ? "" : why.substr(begin.size());
    };
    REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
    CHECK(refused(folder.file("pipe")) == "it is no regular file");
    CHECK(refused("/dev/null") == "it is no regular file");
    CHECK(refused(folder.path()) == "it is no regular file");
    std::filesystem::create_symlink(folder.file("elsewhere"), folder.file("link"));
    CHECK(refused(folder.file("link")) == "it is a symbolic link; name the file itself");
    CHECK_FALSE(std::filesystem::exists(folder.file("elsewhere")));
}

TEST_CASE("desk: a work queue is held and released by who is signed in, as a run, with two lines of the audit each") {
    Scene s;
    const test::TemporaryFolder folder;
    s.http.audit = folder.file("audit");
    s.desk.configure(s.http);
    const std::string odd = "a\x1b[31m'\"<b>\u202e";
    const std::string body = Json{{"queue", odd}}.dump();
    CHECK(s.browser.json("POST", "/api/queue/hold", body)["code"] == "not_signed_in");
    s.browser.sign_in();
    const auto own = s.browser.headers;
    s.browser.headers["x-retryd-csrf"] = "00";
    for (const char* const path : {"/api/queue/hold", "/api/queue/release"})
        CHECK(s.browser.json("POST", path, body)["code"] == "csrf");
    s.browser.headers = own;
    CHECK(s.browser.json("GET", "/api/queue/hold")["code"] == "method");
    for (const std::string action : {"hold", "release"}) {
        const Json run = s.browser.ended(s.browser.json("POST", "/api/queue/" + action, body)["id"]);
        CHECK(run["action"] == "queue " + action);
        CHECK(run["state"] == "done");
        CHECK(run["ok"] == true);
        CHECK(run["changes"] == true);
        CHECK(run["request"]["queue"] == odd);
    }
    using Held = std::pair<std::string, std::string>;
    CHECK(s.held == std::vector<Held>{{"hold", odd}, {"release", odd}});
    const Json refused = s.browser.ended(s.browser.json("POST", "/api/queue/hold", R"({"queue":"none"})")["id"]);
    CHECK(refused["state"] == "failed");
    CHECK(refused["error"] == "nothing was done: 'none' matches no entry");
    const auto lines = lines_of(s.http.audit);
    REQUIRE(lines.size() == 6);
    CHECK(Json::parse(lines[0])["event"] == "begin");
    CHECK(Json::parse(lines[1])["action"] == "queue hold");
    CHECK(Json::parse(lines[1])["request"]["queue"] == odd);
    CHECK(Json::parse(lines[1])["outcome"] == "done");
    CHECK(Json::parse(lines[5])["outcome"] == "failed");
}

TEST_CASE("desk: without the audit file nothing is held, and none begins to hold once retryd ends") {
    Scene s;
    s.http.audit = "/nowhere/audit";
    s.desk.configure(s.http);
    s.browser.sign_in();
    const Json run = s.browser.ended(s.browser.json("POST", "/api/queue/hold", R"({"queue":"a"})")["id"]);
    CHECK(run["error"].get<std::string>().starts_with("nothing was done: the audit file"));
    s.desk.runs().close();
    CHECK(s.browser.ask("POST", "/api/queue/hold", R"({"queue":"a"})").status == 503);
    CHECK(s.held.empty());
}

TEST_CASE("desk: a hold waits for no replay, neither for one of a queue of that name nor for any number of them") {
    Scene s;
    s.browser.sign_in();
    s.pretended.hold = true;
    for (std::size_t i = 0; i < DeskRuns::most_changes; ++i)
        s.browser.json("POST", "/api/parked/drop", R"({"from":"q)" + std::to_string(i) + "\"}");
    CHECK(s.browser.json("POST", "/api/parked/drop", R"({"from":"r"})")["code"] == "too_many");
    const Json run = s.browser.ended(s.browser.json("POST", "/api/queue/hold", R"({"queue":"q0"})")["id"]);
    CHECK(run["state"] == "done");
    CHECK(s.held.size() == 1);
}

TEST_CASE("desk: at the end all runs are told to stop, and none begins any more") {
    Scene s;
    s.browser.sign_in();
    s.pretended.hold = true;
    const std::string id = s.browser.json("POST", "/api/parked/drop", R"({"from":"a"})")["id"];
    s.desk.runs().close();
    CHECK(s.browser.ask("POST", "/api/parked/drop", R"({"from":"b"})").status == 503);
    s.desk.runs().end(test::patience);
    CHECK(s.pretended.under_way == 0);
}

TEST_CASE("desk: a run that hangs leaves the daemon the time that it needs to end by itself") {
    using std::chrono::milliseconds;
    CHECK(DeskRuns::patience_within(milliseconds(10'000)) == milliseconds(8'000));
    CHECK(DeskRuns::patience_within(milliseconds(1'500)) == milliseconds(0));
    // As long as the relay may take to end; a second more is the time in which a thread may still be joined.
    constexpr milliseconds patience{1'100};
    test::Lateness late;
    for (int tries = 0; tries < 3 && late.least() > milliseconds(700); ++tries) {
        Scene s;
        s.browser.sign_in();
        s.pretended.hold = s.pretended.deaf = true;
        s.browser.ask("POST", "/api/parked/drop", R"({"from":"a"})");
        CHECK(await([&] { return s.pretended.under_way == 1; }));
        const auto start = test::Clock::now();
        s.desk.runs().end(patience);
        late.add(test::since(start), patience);
        s.pretended.hold = false;
        CHECK(await([&] { return s.pretended.under_way == 0; }));
    }
    CHECK(late.least() <= milliseconds(700));
}

TEST_CASE("desk: the audit tells of a run that was left behind") {
    Scene s;
    const test::TemporaryFolder folder;
    s.http.audit = folder.file("audit");
    s.desk.configure(s.http);
    s.browser.sign_in();
    s.pretended.hold = s.pretended.deaf = true;
    const std::string id = s.browser.json("POST", "/api/parked/drop", R"({"from":"a"})")["id"];
    CHECK(await([&] { return s.pretended.under_way == 1; }));
    s.desk.runs().end(core::Milliseconds::zero());
    CHECK(await([&] { return lines_of(s.http.audit).size() == 2; }));
    const auto lines = lines_of(s.http.audit);
    s.pretended.hold = false;
    CHECK(await([&] { return lines_of(s.http.audit).size() == 3; }));  // its end, which comes all the same
    REQUIRE(lines.size() == 2);
    CHECK(Json::parse(lines[1])["event"] == "left");
    CHECK(Json::parse(lines[1])["run"] == id);
}

TEST_CASE("desk: after a reload it is there only once its own address is listened on, and nobody else can reach that") {
    ServiceScene s;
    REQUIRE(s.http.start());
    CHECK_FALSE(s.desk.there());
    s.reload("127.0.0.1", true);  // which the server at 0.0.0.0 is in the way of
    CHECK_FALSE(s.desk.there());
    CHECK_FALSE(s.shown().contains("desk"));
    REQUIRE(s.state.faults().all().size() == 1);
    CHECK(s.state.faults().all()[0].text.find("The desk (http.admin) stays off until") != std::string::npos);
    s.http.stop();
    s.http.follow_reload();
    CHECK(s.desk.there());
    CHECK(s.shown()["desk"] == true);
    CHECK(s.state.faults().all().empty());
    s.reload("0.0.0.0", false);
    CHECK_FALSE(s.desk.there());
    CHECK_FALSE(s.shown().contains("desk"));
}

TEST_CASE("desk: a reload that takes http.admin in or out needs no other address") {
    ServiceScene s("127.0.0.1");
    REQUIRE(s.http.start());
    for (const bool admin : {true, false, true}) {
        s.reload("127.0.0.1", admin);
        CHECK(s.desk.there() == admin);
        CHECK(s.shown().contains("desk") == admin);
    }
}

}  // namespace retryd::daemon::desk_test
