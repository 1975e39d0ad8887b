// The daemon as a user that has the permissions printed by `retryd doctor --permissions`, and no others.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/await.h"
#include "support/broker_user.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// Four work queues: by name and by glob, each with a ladder of its own and with a shared one; and two with `x_death:
/// keep`, whose rungs are others.
struct Locked : Scenario {
    Locked()
        : user(queue_name("user")),
          named(work_queue("named")),
          globbed(work_queue("glob.a")),
          shared(work_queue("shared")),
          shared_globbed(work_queue("shared.glob.a")),
          kept(work_queue("kept")),
          kept_shared(work_queue("kept.shared")) {
        retry(named, {"100ms"});
        retry(globbed.substr(0, globbed.size() - 1) + "*", {"100ms"});
        retry(kept, {"100ms"});
        entry().x_death = "keep";
        share({shared, shared_globbed.substr(0, shared_globbed.size() - 1) + "*", kept_shared}, {"100ms"});
        entry().x_death = "keep";
        config.uris = {user.uri()};
    }

    nlohmann::json needed() {
        daemon.write(config.yaml());
        return nlohmann::json::parse(run_retryd("doctor --permissions --json -c " + daemon.config_file()).out);
    }

    /// A message is rejected, comes back, is rejected again and parked.
    void retry_and_park(const std::string& queue) {
        Worker worker(queue);
        client.publish("", queue, {.body = queue});
        worker.reject(worker.receive());
        worker.reject(worker.receive());
        CHECK(await_depth(parking_of(queue), 1));
    }

    BrokerUser user;
    std::string named;
    std::string globbed;
    std::string shared;
    std::string shared_globbed;
    std::string kept;
    std::string kept_shared;
};

/// Like an administrator, who has the permissions that retryd lacks. It may take effect after it has returned.
void import(const std::string& definitions, const std::string& file) {
    std::ofstream{file} << definitions;
    output_of("(chmod o+r " + file + " && " + variable("RETRYD_TEST_CTL") + " import_definitions /dev/stdin < " + file +
              ")");
    std::filesystem::remove(file);
}

}  // namespace

TEST_CASE("with the permissions that doctor names, and no others, everything works", "[3.8][two-versions]") {
    Locked s;
    const auto daemon = s.needed().at("daemon");
    s.user.may({daemon.at("configure"), daemon.at("write"), daemon.at("read")});
    s.start();
    for (const std::string& queue : {s.named, s.globbed, s.shared, s.shared_globbed, s.kept, s.kept_shared})
        s.retry_and_park(queue);
    CHECK(s.daemon.log().find("access to") == std::string::npos);
    s.stop();
}

TEST_CASE("with what doctor names for the operator, attach, parked and waiting work, and nothing else does",
          "[one-version]") {
    Locked s;
    const std::string bare = s.plain_queue("bare");
    s.retry(bare, {"100ms"});
    const std::string slow = s.work_queue("slow");
    s.retry(slow, {"1h"});
    s.config.uris = {uri_of(broker_address())};
    s.start();
    s.retry_and_park(s.named);
    {
        Worker worker(slow);
        for (const char* const body : {"0", "1"}) {
            s.client.publish("", slow, {.body = body});
            worker.reject(worker.receive());
        }
        REQUIRE(s.await_depth(s.rung(slow, "1h"), 2));
    }
    const auto needed = s.needed().at("parked");
    s.user.set_tags("policymaker");
    REQUIRE(needed.at("commands").at(1).get<std::string>().ends_with(" policymaker"));
    s.user.may({needed.at("configure"), needed.at("write"), needed.at("read")});
    s.config.uris = {s.user.uri()};
    const auto run = [&](const std::string& command) {
        s.daemon.write(s.config.yaml() + s.user.management_line());
        return run_retryd(command + " -c " + s.daemon.config_file());
    };
    const CommandResult attached = run("attach --apply");
    INFO(attached.out << attached.err);
    CHECK(attached.code == 0);
    CHECK(attached.says({"all are attached now"}));
    CHECK(run("parked list").says({s.named}));
    const CommandResult replayed = run("parked replay --all");
    INFO(replayed.out << replayed.err);
    CHECK(replayed.code == 0);
    CHECK(s.await_depth(s.named, 1));
    CHECK(run("waiting list").says({s.rung(slow, "1h"), "2"}));
    const CommandResult sent = run("waiting send --queue " + slow + " --first 1");
    INFO(sent.out << sent.err);
    CHECK(sent.code == 0);
    CHECK(s.await_depth(slow, 1));
    const CommandResult parked = run("waiting park --queue " + slow);
    INFO(parked.out << parked.err);
    CHECK(parked.code == 0);
    CHECK(s.await_depth(s.parking_of(slow), 1));
    s.config.uris = {uri_of(broker_address())};
    s.stop();
}

TEST_CASE("a rung that is deleted while retryd may configure nothing: its first message waits on a detour",
          "[one-version]") {
    Scenario s;
    const BrokerUser user(s.queue_name("user"), {".*", ".*", ".*"});
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms", "200ms"});
    s.config.uris = {user.uri()};
    s.start();
    s.await_declared();
    s.stop();  // a channel may remember for a while what it was allowed
    user.may({.write = ".*", .read = ".*"});
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "m"});
    worker.reject(worker.receive());
    const Received second = worker.receive();
    s.client.delete_queue(s.rung(work, "200ms"));
    worker.reject(second);
    CHECK(await([&] { return s.depth("retryd.detour.2s") + s.depth("retryd.detour.30s") == 1; }));
    CHECK(s.depth(s.parking_of(work)) == 0);
    CHECK(s.depth(s.config.catch_all) == 0);
    s.stop();
}

TEST_CASE("where the definitions were imported, a user that may configure nothing has all it needs", "[one-version]") {
    Scenario s;
    const BrokerUser user(s.queue_name("user"), {.write = ".*", .read = ".*"});
    const std::string work = s.work_queue("work");
    const std::string shared = s.work_queue("shared");
    s.retry(work, {"100ms"});
    s.share({shared}, {"100ms"});
    s.daemon.write(s.config.yaml());
    const CommandResult definitions = run_retryd("plan --definitions -c " + s.daemon.config_file());
    INFO(definitions.err);
    REQUIRE(definitions.code == 0);
    import(definitions.out, s.daemon.config_file() + ".definitions");
    s.config.management_url = management_url();  // which sees bindings, too
    s.daemon.write(s.config.yaml());
    REQUIRE(await([&] { return run_retryd("plan -c " + s.daemon.config_file()).code == 0; }));
    s.config.management_url.clear();

    s.config.uris = {user.uri()};
    s.config.declare = false;
    s.start();
    for (const std::string& queue : {work, shared}) {
        Worker worker(queue);
        s.client.publish("", queue, {.body = "m", .properties = {.priority = 9}});
        worker.reject(worker.receive());
        worker.reject(worker.receive());
        CHECK(s.await_depth(s.parking_of(queue), 1));
    }
    CHECK(s.daemon.lines_with({" error "}) == 0);
    s.stop();
}
