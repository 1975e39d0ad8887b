// What the daemon finds by its own checks: in the log, the metrics and the status, and how soon.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>
#include <regex>
#include <span>
#include <string_view>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/machine.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/tcp_relay.h"
#include "support/worker.h"

using namespace retryd::test;
using nlohmann::json;

namespace {

/// A daemon that makes checks and shows what they find.
struct Checked : Scenario {
    Checked() : served(daemon) {
        config.management_url = management_url();
        config.http = "127.0.0.1:0";
    }

    /// A queue of a team's, attached by a policy of its own name.
    std::string attached_queue(const std::string& name) {
        const std::string queue = plain_queue(name);
        attach(queue, 1);
        retry(queue, {"1h"});
        return queue;
    }
    void attach(const std::string& queue, int priority) const {
        set_policy(queue, "^" + queue + "$", R"({"dead-letter-exchange": ")" + config.error_exchange + "\"}",
                   PolicyKind::policies, priority);
    }

    std::string finding(const std::string& code, const std::string& severity = "problem") const {
        return "retryd_findings{code=\"" + code + "\",severity=\"" + severity + "\"}";
    }
    bool await_checked() const {
        return await([&] { return served.metric("retryd_last_check_timestamp_seconds") > 0; });
    }
    json findings() const { return json::parse(served.get("/status.json").body)["checks"]["findings"]; }
    /// The daemon's own configuration has a port of the system's choice.
    CommandResult run(const std::string& command) {
        config.http = served.url().substr(std::string("http://").size());
        daemon.write(config.yaml());
        return run_retryd(command + " -c " + daemon.config_file());
    }
    /// It waits 2 s for the daemon's answer, and a busy one may take longer.
    CommandResult doctor_that_says(const std::vector<std::string>& texts) {
        CommandResult result;
        await([&] { return (result = run("doctor")).says(texts); }, patience, milliseconds(1'000));
        return result;
    }

    Served served;
};

}  // namespace

TEST_CASE("findings: a policy that takes the dead-letter exchange away is known within a minute, and named",
          "[slow][one-version][night][every-version]") {
    Checked s;
    const std::string email = s.attached_queue("email");
    const std::string sms = s.attached_queue("sms");
    s.start();
    REQUIRE(s.await_checked());
    CHECK(s.served.metric(s.finding("no-dead-letter-exchange")) < 0);

    const Machine machine;
    set_policy(s.queue_name("ttl"), "^" + s.queue_name("") + "(email|sms)$", R"({"message-ttl": 3600000})",
               PolicyKind::policies, 10);
    CHECK(machine.await([&] { return s.served.metric(s.finding("no-dead-letter-exchange")) > 0; }, seconds(60)));
    const std::string cause = "policy '" + s.queue_name("ttl") + "' (priority 10) replaced policy '" + email +
                              "' (priority 1) on work queue '" + email + "': it has no dead-letter exchange in effect";
    CHECK(s.daemon.await_log(cause));
    CHECK(s.daemon.lines_with({cause, ". Consequence: what its consumers reject is dropped",
                               ". Remedy: ", "retryd attach --apply"}) == 1);
    const json found = s.findings();
    const auto mine = std::find_if(found.begin(), found.end(),
                                   [](const json& each) { return each["code"] == "no-dead-letter-exchange"; });
    REQUIRE(mine != found.end());
    CHECK((*mine)["cause"] == cause);
    CHECK((*mine)["since"] > 0);
    CHECK(s.run("status").says({"Problem: " + cause, ", since 20"}));

    clear_policy(s.queue_name("ttl"));
    CHECK(machine.await([&] { return s.served.metric(s.finding("no-dead-letter-exchange")) < 0; }, seconds(60)));
    CHECK(s.daemon.await_log("no longer so: " + cause));
    s.stop();
}

TEST_CASE("findings: a reload has everything looked at again, and a queue made meanwhile is found", "[one-version]") {
    Checked s;
    s.attached_queue("email");
    s.start();
    REQUIRE(s.await_checked());
    s.retry(s.plain_queue("new"), {"1h"});
    s.reload();
    CHECK(s.served.await_metric(s.finding("no-dead-letter-exchange"), 1));
    s.stop();
}

TEST_CASE("findings: checks that cannot be made are a finding, and messages go on", "[one-version]") {
    Checked s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms"});
    s.config.management_url = "http://127.0.0.1:1";
    s.start();
    CHECK(s.served.await_metric(s.finding("cannot-tell", "warning"), 1));
    CHECK(s.daemon.await_log("cannot tell whether what work queues reject comes to retryd"));
    s.client.publish("", work, {.body = "m"});
    Worker worker(work);
    worker.reject(worker.receive());
    CHECK(worker.receive().body == "m");
    s.stop();
}

TEST_CASE("findings: a reload that was refused, and then a daemon that hangs, are told by doctor and status",
          "[one-version]") {
    Checked s;
    s.attached_queue("email");
    s.start();
    const std::string url = s.served.url();
    s.daemon.reload("nonsense: 1\n");
    REQUIRE(s.daemon.await_log("was not reloaded"));
    const CommandResult refused = s.doctor_that_says({"Problem: ", "[reload-refused]"});
    INFO(refused.out);
    CHECK(refused.code == 2);
    CHECK(refused.says({"Problem: ", "[reload-refused]"}));
    s.daemon.signal(SIGSTOP);
    const CommandResult hung = s.run("doctor");
    INFO(hung.out);
    CHECK(hung.says({"cannot tell whether the daemon is well: the daemon does not answer at " + url}));
    CHECK(hung.code != 0);
    CHECK(s.run("status").out.find("Not answering: the daemon does not answer at " + url) == 0);
    s.daemon.signal(SIGCONT);
    s.stop();
}

TEST_CASE("findings: a clock that differs from the broker's by more than a minute, until it does not",
          "[one-version]") {
    Checked s;
    s.attached_queue("email");
    Address target = broker_address();
    const std::string url = management_url();
    const std::string host = "http://127.0.0.1:";
    REQUIRE(url.starts_with(host));
    target.port = static_cast<std::uint16_t>(std::stoi(url.substr(host.size())));
    std::atomic<bool> wrong{true};
    std::atomic<int> changed{0};
    TcpRelay api(target);  // its answers are the broker's, but for the time in them
    api.open();
    s.config.management_url = host + std::to_string(api.address().port);
    api.change([&](std::span<char> bytes) {
        const std::string_view text(bytes.data(), bytes.size());
        const auto year = std::regex("\r\n[Dd]ate: \\w+, \\d+ \\w+ (\\d{4}) ");
        std::cmatch match;
        if (!wrong || !std::regex_search(text.data(), text.data() + text.size(), match, year)) return;
        bytes[static_cast<std::size_t>(match.position(1)) + 3] ^= 1;  // a year ahead, or behind
        ++changed;
    });

    s.start();
    CHECK(s.served.await_metric(s.finding("daemon-clock", "warning"), 1));
    CHECK(changed > 0);
    const std::vector<std::string> told{"Warning: the daemon's clock is 36", " the broker's", "[daemon-clock]"};
    const CommandResult doctor = s.doctor_that_says(told);
    INFO(doctor.out);
    CHECK(doctor.says(told));
    CHECK(doctor.code == 2);

    wrong = false;
    s.reload();
    CHECK(await([&] { return s.served.metric(s.finding("daemon-clock", "warning")) < 0; }));
    CHECK(s.daemon.await_log("no longer so: the daemon's clock is 36"));
    CHECK_FALSE(s.run("doctor").says({"[daemon-clock]"}));
    s.stop();
}

TEST_CASE("findings: a daemon without a management API makes no checks and says so by saying nothing",
          "[one-version]") {
    Checked s;
    s.retry(s.plain_queue("bare"), {"1h"});
    s.config.management_url = "";
    s.start();
    CHECK(json::parse(s.served.get("/status.json").body)["checks"].is_null());
    CHECK(s.served.metric("retryd_last_check_timestamp_seconds") < 0);
    s.stop();
}

TEST_CASE("findings: messages whose work queue is gone are held by the broker, counted, shown and named",
          "[slow][one-version][since-3.10]") {
    Checked s;
    const std::string sms = s.work_queue("sms");
    s.retry(sms, {"10s"});
    s.start();
    s.await_declared();
    const std::string rung = s.rung(sms, "10s");
    for (int n = 0; n < 6; ++n)
        s.client.publish("", sms, {.body = std::to_string(n)});
    {
        Worker worker(sms);
        for (int n = 0; n < 6; ++n)
            worker.reject(worker.receive());
    }
    REQUIRE(s.await_depth(rung, 6));
    s.client.delete_queue(sms);
    CHECK(await(
        [&] {
            return s.run("status").says({"Held by the broker: 6 on " + rung, "is gone"});
        },
        patience, milliseconds(1000)));
    CHECK(s.served.await_metric(s.finding("held-by-broker"), 1, seconds(120)));
    CHECK(s.served.await_metric("retryd_queue_held_messages{queue=\"" + rung + R"(",role="rung",delay="10s"})", 6,
                                seconds(120)));
    CHECK(s.daemon.await_log("6 messages held by the broker on rung '" + rung + "': work queue '" + sms +
                             "' does not exist"));
    s.stop();
}

TEST_CASE("findings: a rung made anew without its arguments gets no more messages after a minute", "[slow][night]") {
    Checked s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"1s"});
    s.start();
    REQUIRE(await([&] { return s.exists(s.parking_of(work)); }));
    const std::string rung = s.rung(work, "1s");
    s.client.delete_queue(rung);
    s.client.declare_queue(rung, {{"x-message-ttl", int64(1000)}});
    const Machine machine;
    // Its own checks may find it earlier; what matters is that it is not used.
    CHECK(machine.await(
        [&] {
            return s.daemon.lines_with({rung, "While that lasts, messages for"}) > 0;
        },
        seconds(65)));
    s.client.publish("", work, {.body = "kept"});
    Worker worker(work);
    worker.reject(worker.receive());
    CHECK(await([&] { return s.served.metric("retryd_detoured_total{queue=\"" + work + "\"}") >= 2; }));
    s.client.delete_queue(rung);  // as the remedy says; the next look makes it anew
    CHECK(s.daemon.await_log("queue '" + rung + "' is as it must be again", seconds(120)));
    const Received kept = worker.receive(seconds(120));
    CHECK(kept.body == "kept");
    CHECK(long_header(kept, "retryd-attempt") == 1);
    s.stop();
}
