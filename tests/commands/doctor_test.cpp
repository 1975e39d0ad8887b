#include "commands/doctor.h"

#include <nlohmann/json.hpp>

#include "commands/command_line.h"
#include "commands/fake_broker.h"

namespace retryd::commands::doctor_test {
namespace {

using admin::Severity;

/// All is well, on a broker that the test may spoil.
struct Fixture {
    FakeBroker broker;
    config::Settings settings;

    Fixture() {
        settings.policy.entries.push_back({.match = "email",
                                           .ladder = {.name = "standard", .steps = {core::Milliseconds{5000}}},
                                           .parked = {.queue = "{queue}.parked"}});
        broker.api.bindings["retryd.errors"] = {{"retryd.errors", "retryd.errors", "", {}}};
        broker.count("check queue retryd.errors", {0, 1});
        broker.api.policies.add("email", "classic", {{"x-dead-letter-exchange", "retryd.errors"}});
    }
    DoctorReport run_checks(bool with_management = true) {
        broker.has_management = with_management;
        return commands::run_checks(broker, settings);
    }
    /// Of the only finding there is to be.
    admin::Finding only() {
        const DoctorReport found = run_checks();
        REQUIRE(found.findings.size() == 1);
        CHECK(doctor_exit_code(found) == 2);
        return found.findings.front();
    }
};

const std::string one_queue = R"(broker: {uri: "amqp://ret'ryd:secret@rabbit/shop"}
ladders: {standard: {delays: [5s]}}
queues: [{match: email, ladder: standard}]
)";

std::string text_of(const DoctorReport& report) {
    std::ostringstream out;
    print_doctor(report, false, out);
    return out.str();
}

}  // namespace

TEST_CASE("doctor: where all is well it finds nothing and changes nothing") {
    Fixture f;
    const DoctorReport found = f.run_checks();
    CHECK(found.findings.empty());
    CHECK(found.not_seen.empty());
    CHECK(doctor_exit_code(found) == 0);
    CHECK(text_of(found) ==
          "RabbitMQ 3.13.7 at rabbit:5672, vhost shop\n"
          "\n"
          "nothing found that would keep a rejected message from coming back\n");
    for (const std::string& step : f.broker.asked)
        CHECK_FALSE((step.starts_with("delete") || step.starts_with("bind ")));
}

TEST_CASE("doctor: what is missing, with whom it concerns") {
    Fixture f;
    f.broker.miss("check queue email.retry.5s");
    admin::Finding found = f.only();
    CHECK(found.cause == "rung 'email.retry.5s' is missing");
    CHECK(found.consequence == "messages that need it are parked or held until it is there");
    CHECK(found.remedy.find("so does the daemon when it starts") != std::string::npos);
    f.settings.declare = false;
    CHECK(f.only().remedy == "declare it; retryd apply does");
    Fixture detour;
    detour.broker.miss("check queue retryd.detour.30s");
    found = detour.only();
    CHECK(found.cause == "detour 'retryd.detour.30s' is missing");
    CHECK(found.consequence ==
          "while a rung or parking queue takes no messages, they are held in the error queue, where they hold up "
          "others");
    Fixture base;
    base.broker.api.bindings.clear();
    found = base.only();
    CHECK(found.cause == "error binding 'retryd.errors → retryd.errors' is missing");
    CHECK(found.consequence.find("rejected messages cannot be retried") == 0);
}

TEST_CASE("doctor: what is different, refused or lacking is told as the broker told it") {
    Fixture f;
    f.broker.refuse("declare queue email.parked", 406, "it is there already");
    CHECK(f.only().cause == "it is there already");
    CHECK(f.only().consequence.find("retryd does not use it: ") == 0);
    Fixture needed_by_all;
    needed_by_all.broker.refuse("declare queue retryd.errors", 406, "it is there already");
    CHECK(needed_by_all.only().consequence == "retryd consumes nothing while that lasts");
    Fixture detour;
    detour.broker.refuse("declare queue retryd.detour.2s", 406, "it is there already");
    CHECK(detour.only().consequence.find("while a rung or parking queue takes no messages") == 0);
    Fixture refused;
    refused.broker.refuse("check queue email.parked", 403, "no");
    CHECK(refused.only().consequence ==
          "doctor cannot tell whether parking queue 'email.parked' exists and is as it must be");
    CHECK(refused.only().remedy == "remove what the broker names as the cause, then run retryd doctor again");
    Fixture lacking;
    lacking.broker.answers["declare queue retryd.parked"] = {FakeBroker::Result::done, 0, "was made without", {}};
    const admin::Finding lack = lacking.only();
    CHECK(lack.cause == "was made without");
    CHECK(lack.severity == Severity::warning);
}

TEST_CASE("doctor: nobody consumes the error queue") {
    Fixture f;
    f.broker.count("check queue retryd.errors", {7, 0});
    CHECK(f.only().cause == "nobody consumes the error queue 'retryd.errors'; 7 messages wait there");
}

TEST_CASE("doctor: who may write to the error exchange without need, or that this is not seen") {
    Fixture f;
    f.broker.api.all_permissions = {{{"retryd", {"", "^retryd", ""}}, {"eve", {"", "^retryd", ""}}}};
    f.settings.broker.endpoints.front().username = "retryd";
    const admin::Finding found = f.only();
    CHECK(found.severity == Severity::warning);
    CHECK(found.cause ==
          "user 'eve' may write to exchange 'retryd.errors' and needs that for no queue that it may declare");
    f.broker.api.all_permissions.reset();
    const DoctorReport blind = f.run_checks();
    CHECK(blind.findings.empty());
    REQUIRE(blind.not_seen.size() == 1);
    CHECK(blind.not_seen.front().find("who else may write to the error exchange") == 0);
}

TEST_CASE("doctor: rungs that are left over") {
    Fixture f;
    f.broker.api.queue_lists = {{{"email.retry.9s",
                                  "quorum",
                                  0,
                                  {{"x-message-ttl", std::int64_t{9000}},
                                   {"x-dead-letter-exchange", ""},
                                   {"x-dead-letter-routing-key", "email"}}}}};
    const admin::Finding found = f.only();
    CHECK(found.cause == "1 rung is left over: email.retry.9s");
    CHECK(found.severity == Severity::warning);
}

TEST_CASE("doctor: a permission that lacks, and one that cannot be seen") {
    Fixture f;
    f.broker.api.given_permissions = admin::Permissions{".*", "^(retryd|email)", ".*"};
    CHECK(f.only().cause == "retryd's user lacks the permission to write 'amq.default'");
    f.broker.api.given_permissions.reset();
    const DoctorReport blind = f.run_checks();
    CHECK(blind.findings.empty());
    REQUIRE(blind.not_seen.size() == 1);
    CHECK(blind.not_seen[0].find("the permissions of retryd's user: ") == 0);
    CHECK(doctor_exit_code(blind) == 0);
}

TEST_CASE("doctor: a feature flag that is disabled, and those that cannot be seen") {
    Fixture f;
    f.broker.api.disabled_flags = {{"stream_queue", "other"}};
    CHECK(f.only().cause == "the feature flag stream_queue is disabled");
    f.broker.api.disabled_flags = {{"other"}};
    CHECK(f.run_checks().findings.empty());
    f.broker.api.disabled_flags.reset();
    CHECK(f.run_checks().not_seen.size() == 1);
}

TEST_CASE("doctor: what the policies do, the problems first") {
    Fixture f;
    f.broker.api.policies.add("email.retry.5s", "quorum");
    f.broker.api.policies.set({"all", "retry", "queues", {{"max-length", "3"}}, 0});
    f.settings.policy.entries.push_back({.match = "absent", .parked = {.queue = "{queue}.parked"}});
    const DoctorReport found = f.run_checks();
    REQUIRE(found.findings.size() == 2);
    CHECK(found.findings[0].cause == "policy 'all' sets max-length 3 on queue 'email.retry.5s'");
    CHECK(found.findings[1].cause == "work queue 'absent' does not exist");
    CHECK(text_of(found).ends_with("\n1 problem, 1 warning\n"));
    CHECK(text_of(found).find("\nProblem: policy 'all' sets max-length 3 on queue 'email.retry.5s'\n  so that  when") !=
          std::string::npos);
}

TEST_CASE("doctor: without a management API it says what it cannot see, and looks for the work queues itself") {
    Fixture f;
    f.broker.miss("check queue email");
    const DoctorReport found = f.run_checks(false);
    REQUIRE(found.findings.size() == 1);
    CHECK(found.findings[0].cause == "work queue 'email': is not there");
    REQUIRE(found.not_seen.size() == 1);
    CHECK(found.not_seen[0].ends_with("Set management.url to have them looked at"));
    CHECK(doctor_exit_code(found) == 2);
}

TEST_CASE("doctor: a management API that fails is told once, and ends with 1") {
    Fixture f;
    f.broker.api.fault = "nobody there";
    DoctorReport found = f.run_checks();
    CHECK(doctor_exit_code(found) == 1);
    CHECK(found.not_seen.size() == 1);
    Fixture later;
    later.broker.api.faults["policies"] = "gone now";
    found = later.run_checks();
    CHECK(doctor_exit_code(found) == 1);
    CHECK(text_of(found).find("gone now") != std::string::npos);
}

TEST_CASE("doctor: its JSON has every finding with cause, consequence and remedy") {
    Fixture f;
    f.broker.count("check queue retryd.errors", {7, 0});
    std::ostringstream out;
    print_doctor_json(f.run_checks(), out);
    const auto json = nlohmann::json::parse(out.str());
    CHECK(json["ok"] == false);
    CHECK(json["broker"]["version"] == "3.13.7");
    REQUIRE(json["findings"].size() == 1);
    CHECK(json["findings"][0]["severity"] == "problem");
    CHECK(json["findings"][0]["remedy"] == "start retryd run, or see its log for why it does not consume");
    CHECK(json["summary"] == nlohmann::json{{"problems", 1}, {"warnings", 0}});
    CHECK(json["management"]["error"].is_null());
}

TEST_CASE("doctor: a wrong configuration ends with 78, a broker that is not there with 1") {
    const TemporaryFile wrong("ladders: 7\n");
    CHECK(run({"doctor", "-c", wrong.path().c_str()}).code == 78);
    const TemporaryFile file(
        "broker: {uri: \"amqp://guest:Geheim-7391@127.0.0.1:1/\", connect_timeout: 1s}\n"
        "ladders: {a: {delays: [5s]}}\nqueues: [{match: email, ladder: a}]\n");
    const Outcome outcome = run({"doctor", "--json", "-c", file.path().c_str()});
    CHECK(outcome.code == 1);
    CHECK(nlohmann::json::parse(outcome.out)["ok"] == false);
    CHECK((outcome.out + outcome.err).find("Geheim-7391") == std::string::npos);
}

TEST_CASE("doctor --permissions prints commands that a shell takes, and no password") {
    const TemporaryFile file(one_queue);
    const Outcome outcome = run({"doctor", "--permissions", "-c", file.path().c_str()});
    CHECK(outcome.code == 0);
    CHECK(outcome.out.find(
              R"(rabbitmqctl set_permissions --vhost 'shop' 'ret'\''ryd' '^(email\.parked|email\.retry\.)") !=
          std::string::npos);
    CHECK(outcome.out.find("'PERSON' '^(retryd\\.replay\\..*)$'") != std::string::npos);
    CHECK(outcome.out.find("secret") == std::string::npos);
}

TEST_CASE("doctor --permissions --json has the three patterns of each") {
    const TemporaryFile file(one_queue);
    const auto told = nlohmann::json::parse(run({"doctor", "--permissions", "--json", "-c", file.path().c_str()}).out);
    CHECK(told["ok"] == true);
    CHECK(told["user"] == "ret'ryd");
    CHECK(told["daemon"]["write"] == R"(^(amq\.default|retryd\.errors)$)");
    CHECK(told["daemon"]["read"] ==
          R"(^(email\.retry\.[0-9dhms]+(\.high)?|retryd\.detour\.[0-9dhms]+(\.high)?|retryd\.errors)$)");
    CHECK(told["parked"]["configure"] == R"(^(retryd\.replay\..*)$)");
}

TEST_CASE("doctor --permissions of a wrong configuration tells what is wrong with it") {
    const TemporaryFile file("ladders: 3\n");
    CHECK(run({"doctor", "--permissions", "-c", file.path().c_str()}).code == 78);
}

}  // namespace retryd::commands::doctor_test
