// Hold and release at the desk of the real daemon: what fails is held with its attempt unspent, and comes home once.
#include <nlohmann/json.hpp>

#include "broker/desk_scene.h"
#include "broker/held_scene.h"
#include "support/command_line.h"
#include "support/free_port.h"

using namespace retryd::test;

namespace {

using Json = nlohmann::json;

/// An entry that may hold, in which no test's few failures are an outage.
struct DeskHoldScene : AtDesk<HeldScene> {
    DeskHoldScene() {
        entry().hold = false;
        entry().outage = "{of: 1000, within: 5s, probe: 1s, release: 20/s}";
        config.management_url = management_url();
    }

    Json of(const std::string& queue) const { return Json{{"queue", queue}}; }
    std::string refusal(const std::string& action, const std::string& queue) {
        const Json run = ended(begin("queue/" + action, of(queue)));
        CHECK(run["state"] == "failed");
        CHECK(run["result"].is_null());
        return run["error"].is_string() ? run["error"].get<std::string>() : "";
    }
    /// As /status.json tells of the work queue.
    Json outage() const {
        const Json status = Json::parse(served.get("/status.json").body, nullptr, false);
        for (const Json& each : status["outages"]) {
            if (each["work_queue"] == work) return each;
        }
        return {};
    }
    void all_came_once_unspent(int messages) const {
        CHECK(copies() == messages);
        for (const auto& [body, attempt] : attempts)
            CHECK(attempt == 0);
    }
};

}  // namespace

TEST_CASE("desk hold: what fails is held, its attempt unspent, until the desk releases it: then all comes home once",
          "[one-version]") {
    constexpr int messages = 40;
    DeskHoldScene s;
    s.config.http = "127.0.0.1:" + std::to_string(free_port());  // so that `retryd status` finds it
    s.start();
    s.sign_in();
    const Json held = s.result("queue/hold", s.of(s.work));
    CHECK(held["state"] == "holding");
    CHECK(held["held_queue"] == held_of(s.work));
    s.fill(messages);
    CHECK(await([&] { return s.outage()["messages"] == messages; }));
    CHECK(s.outage()["by_hand"] == true);
    CHECK(s.outage()["desk_since"].is_number());
    CHECK(s.outage()["text"].get<std::string>().find("by the desk since") != std::string::npos);
    // It waits 2 s for the daemon's answer, and a busy one may take longer.
    const auto told = [&] {
        return run_retryd("status -c " + s.daemon.config_file()).says({"Held of", s.work, "by the desk since"});
    };
    CHECK(await(told, patience, milliseconds(1'000)));
    Worker worker(s.work);
    CHECK(worker.stays_idle(milliseconds(2'500)));  // a probe each second, were it an outage
    const Clock::time_point begin = Clock::now();
    const Json released = s.result("queue/release", s.of(s.work));
    CHECK(released["state"] == "releasing");
    CHECK(released["messages"] == messages);
    CHECK(released["per_second"] == 20);
    s.take_home(worker, messages);
    CHECK(since(begin) > milliseconds(1'000));  // 20 a second to begin with
    CHECK(s.in_order());
    s.all_came_once_unspent(messages);
    CHECK(s.await_depth(held_of(s.work), 0));
    CHECK(s.daemon.await_log("nothing of '" + s.work + "' is held any more"));
    s.client.publish("", s.work, {.body = "fresh"});
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);  // as before
    s.stop();
    CHECK(s.daemon.lines_with({"warning", "as was asked for at the desk", held_of(s.work)}) == 1);
    CHECK(s.daemon.lines_with({"queue hold on '" + s.work + "' was asked for"}) == 1);
    const auto lines = s.audit();
    REQUIRE(lines.size() == 4);
    for (const std::size_t line : {std::size_t{1}, std::size_t{3}}) {
        const Json end = Json::parse(lines[line]);
        CHECK(end["action"] == (line == 1 ? "queue hold" : "queue release"));
        CHECK(end["request"]["queue"] == s.work);
        CHECK(end["outcome"] == "done");
    }
}

TEST_CASE("desk hold: a restart forgets it and tries one after the other; a release waits for no probe",
          "[one-version]") {
    constexpr int messages = 12;
    DeskHoldScene s;
    s.entry().outage = "{of: 1000, within: 5s, probe: 10m, release: 20/s}";
    s.start();
    s.sign_in();
    s.result("queue/hold", s.of(s.work));
    s.fill(messages);
    s.stop();
    s.start();
    REQUIRE(s.daemon.await_log("an outage: what fails in '" + s.work + "' is held"));
    CHECK(s.outage()["by_hand"] == false);
    Worker worker(s.work, 100);
    const Received probe = worker.receive();
    CHECK(worker.stays_idle(milliseconds(1'500)));
    s.headers = {{"Host", "localhost"}, {"Content-Type", "application/json"}};
    s.sign_in();
    CHECK(s.result("queue/release", s.of(s.work))["state"] == "releasing");
    s.times[probe.body] = 1;
    s.attempts[probe.body] = long_header(probe, "retryd-attempt");
    s.take_home(worker, messages);
    worker.ack(probe);  // not before: a probe that succeeds would end the outage by itself
    s.all_came_once_unspent(messages);
    s.stop();
}

TEST_CASE("desk hold: a reload keeps it as long as the entry may hold, and else sends home what is held",
          "[one-version]") {
    DeskHoldScene s;
    s.start();
    s.sign_in();
    s.result("queue/hold", s.of(s.work));
    s.fill(5);
    s.entry().outage = "{of: 1000, within: 5s, probe: 1s, release: 30/s}";
    s.reload_and_await();
    Worker worker(s.work);
    CHECK(worker.stays_idle(milliseconds(2'500)));
    CHECK(s.outage()["desk_since"].is_number());
    s.entry().outage.clear();
    s.reload_and_await();
    s.take_home(worker, 5);
    s.all_came_once_unspent(5);
    s.stop();
}

TEST_CASE("desk hold: what is on its way home, or comes back from it, is counted as held", "[one-version]") {
    constexpr int messages = 60;  // as many are here at once while they are released
    DeskHoldScene s;
    // After three seconds twice as fast: those that are left over take five seconds, for the hold to come in between.
    s.entry().outage = "{of: 1000, within: 5s, probe: 1s, release: 5/s}";
    s.start();
    s.sign_in();
    s.result("queue/hold", s.of(s.work));
    s.fill(messages);
    REQUIRE(await([&] { return s.outage()["messages"] == messages; }));
    Worker worker(s.work);
    s.result("queue/release", s.of(s.work));
    s.take_home(worker, 8);  // for longer than it takes until they are counted again
    s.result("queue/hold", s.of(s.work));
    const auto left = [&] { return s.depth(held_of(s.work)); };
    REQUIRE(await([&] { return left() > 0; }));
    // What is held is counted every second, and what is not every ten.
    CHECK(await([&] { return s.outage()["messages"] == left(); }, milliseconds(8'000)));
    s.result("queue/release", s.of(s.work));
    s.take_home(worker, messages);
    s.all_came_once_unspent(messages);
    s.stop();
}

TEST_CASE("desk hold: a reload without the desk sends home what it holds, as nobody could release it",
          "[one-version]") {
    DeskHoldScene s;
    s.start();
    s.sign_in();
    s.result("queue/hold", s.of(s.work));
    s.fill(5);
    s.config.http_more.clear();
    s.reload_and_await();
    Worker worker(s.work);
    s.take_home(worker, 5);
    s.all_came_once_unspent(5);
    s.stop();
}

TEST_CASE("desk hold: what cannot be held or released is refused, and says what to do", "[one-version]") {
    DeskHoldScene s;
    const std::string steady = s.quorum_work_queue("steady");
    const std::string by_entry = s.quorum_work_queue("by-entry");
    s.retry(steady, {"100ms"});
    s.retry(by_entry, {"100ms"});
    s.entry().hold = true;
    s.retry(s.queue_name("web.*"), {"100ms"});
    s.entry().outage = "{}";
    s.start();
    s.sign_in();
    const auto says = [](const std::string& text, const std::string& part) {
        CAPTURE(text, part);
        CHECK(text.starts_with("nothing was done: "));
        CHECK(text.find(part) != std::string::npos);
    };
    says(s.refusal("hold", s.queue_name("web.none")), "there is no queue");
    says(s.refusal("hold", steady), "has neither `outage:` nor `hold:`");
    says(s.refusal("hold", s.config.error_queue), "is a queue of retryd's own");
    const std::string unmatched = s.quorum_work_queue("unmatched");
    says(s.refusal("hold", unmatched), "no entry of `queues:` matches");
    says(s.refusal("release", by_entry), "says `hold: true`");
    says(s.refusal("release", s.queue_name("web.none")), "it is not known yet whether anything of");
    for (const std::string& name : {std::string{"\x1b[31m'\"<b>\xe2\x80\xae"}, std::string{"../../x"},
                                    std::string{"{queue}"}, std::string(200, 'x')}) {
        says(s.refusal("hold", name), "no entry of `queues:` matches");
        says(s.refusal("hold", s.queue_name("web." + name)), "there is no queue");
    }
    says(s.refusal("hold", "amq.rabbitmq.reply-to.x"), "no entry of `queues:` matches");
    for (const std::string& name : {s.queue_name("web.*"), std::string{}, std::string{"a\nb"}, std::string(256, 'x')}) {
        s.call("POST", "/api/queue/hold", s.of(name).dump());
        CHECK(s.status == 400);
    }
    const std::string of_glob = s.quorum_work_queue("web.shop");
    CHECK(s.result("queue/hold", s.of(of_glob))["state"] == "holding");
    s.stop();
}
