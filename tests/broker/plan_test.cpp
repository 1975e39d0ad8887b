// `retryd plan` and `retryd apply` against a real broker.
#include "support/catch.h"
#include "support/command_line.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A work queue with two rungs of its own, one on a shared ladder, and the commands.
struct Planned : Scenario {
    Planned() : work(work_queue("work")), sharing(work_queue("sharing")) {
        retry(work, {"100ms", "30s"});
        shared_ladder = share({sharing}, {"200ms"});
    }

    CommandResult run(const std::string& command) {
        daemon.write(config.yaml());
        return run_retryd(command + " -c " + daemon.config_file());
    }
    /// With a management API: where a busy one does not answer, the command says what is not known, and ends with 1.
    CommandResult run_with_answers(const std::string& command) {
        CommandResult result;
        await([&] { return !(result = run(command)).says({"Not known: "}); });
        return result;
    }

    std::string work;
    std::string sharing;
    std::string shared_ladder;
};

// Error exchange, error queue, catch-all; return exchange; two rungs and their parking queue; one shared rung, its
// exchange, and the parking queue of the work queue that uses it.
constexpr int exchanges_and_queues = 3 + 3 + 1 + 3 + 3;
// The bindings of the error queue, of the shared rung, and of its work queue to the return exchange.
constexpr int bindings = 3;

}  // namespace

TEST_CASE("on a fresh broker plan finds everything missing and makes nothing, apply makes it, and plan is content",
          "[3.8][one-version]") {
    Planned s;
    const std::string all = std::to_string(exchanges_and_queues + bindings);
    s.config.management_url = management_url();
    const CommandResult before = s.run_with_answers("plan");
    CHECK(before.code == 2);
    CHECK(before.says({"0 in place, " + all + " missing"}));
    CHECK(before.says({s.rung(s.work, "30s")}));
    CHECK_FALSE(s.exists(s.config.error_queue));
    CHECK_FALSE(s.exists(s.rung(s.work, "30s")));

    const CommandResult applied = s.run_with_answers("apply");
    CHECK(applied.code == 0);
    CHECK(applied.says({all + " in place"}));
    CHECK(s.exists(s.config.error_queue));
    CHECK(s.exists(s.parking_of(s.work)));

    s.config.management_url = "";  // AMQP shows no bindings
    const CommandResult without = s.run("plan --json");
    CHECK(without.code == 0);
    CHECK(without.says({"\"ok\": true"}));
    CHECK(without.says({"\"in_place\": " + std::to_string(exchanges_and_queues)}));
    CHECK(without.says({"\"unknown\": " + std::to_string(bindings)}));
}

TEST_CASE("what apply has declared is what the daemon uses", "[one-version]") {
    Planned s;
    REQUIRE(s.run("apply").code == 0);
    s.start();
    for (const std::string& queue : {s.work, s.sharing}) {
        Worker worker(queue);
        s.client.publish("", queue, {.body = "x"});
        worker.reject(worker.receive());
        CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
    }
    CHECK(s.daemon.lines_with({"x-message-ttl"}) == 0);
    CHECK(s.run("plan").code == 0);
    s.stop();
}

TEST_CASE("plan and apply name the queue, the argument and both values of a rung that is different",
          "[3.8][one-version]") {
    Planned s;
    REQUIRE(s.run("apply").code == 0);
    const std::string rung = s.rung(s.work, "100ms");
    s.client.delete_queue(rung);
    s.client.declare_queue(rung, {{"x-queue-type", longstr("classic")}, {"x-message-ttl", int32(777)}});
    const CommandResult plan = s.run("plan");
    CHECK(plan.code == 2);
    CHECK(plan.says({"1 different"}));
    CHECK(plan.says({rung}));
    CHECK((plan.says({"777"}) || plan.says({"quorum"})));
    const CommandResult applied = s.run("apply");
    CHECK(applied.code == 1);
    CHECK(applied.says({rung}));
}

TEST_CASE("plan, apply and prune end with 1 where there is no broker, and prune with 78 where it cannot know enough",
          "[one-version]") {
    Planned s;
    CHECK(s.run("apply --prune").code == 78);
    s.config.uris = {"amqp://guest:guest@127.0.0.1:1/"};
    for (const char* command : {"plan", "apply"}) {
        CAPTURE(command);
        const CommandResult result = s.run(command);
        CHECK(result.code == 1);
        CHECK(result.err.find("127.0.0.1:1") != std::string::npos);
        CHECK(result.err.find("guest:guest") == std::string::npos);
    }
}
