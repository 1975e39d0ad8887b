#include "commands/doctor/doctor.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "admin/guard.h"
#include "commands/command_line.h"
#include "commands/fake_broker.h"
#include "system/clock.h"

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
    Checked run_checks(bool with_management = true) {
        broker.has_management = with_management;
        return commands::run_checks(broker, settings, answer ? &*answer : nullptr);
    }
    /// Of the only finding there is to be.
    admin::Finding only() {
        const Checked checked = run_checks();
        REQUIRE(checked.diagnosis.findings.size() == 1);
        CHECK(checked.diagnosis.cannot_tell.empty());
        CHECK(doctor_exit_code(checked) == 2);
        return checked.diagnosis.findings.front();
    }
    /// Of the only thing that could not be looked at.
    std::string unseen(bool with_management = true) {
        const Checked checked = run_checks(with_management);
        CHECK(checked.diagnosis.findings.empty());
        REQUIRE(checked.diagnosis.cannot_tell.size() == 1);
        CHECK(doctor_exit_code(checked) == 1);
        return checked.diagnosis.cannot_tell.front();
    }
    std::optional<DaemonAnswer> answer;  // nothing: no http section
};

const std::string one_queue = R"(broker: {uri: "amqp://ret'ryd:secret@rabbit/shop"}
ladders: {standard: {delays: [5s]}}
queues: [{match: email, ladder: standard}]
)";

std::string text_of(const Checked& checked, bool all = false) {
    std::ostringstream out;
    print_doctor(checked, all, false, out);
    return out.str();
}

telemetry::Status well() {
    telemetry::Status status;
    status.ready = true;
    return status;
}

}  // namespace

TEST_CASE("doctor: where all is well it finds nothing and changes nothing") {
    Fixture f;
    const Checked found = f.run_checks();
    CHECK(found.diagnosis.findings.empty());
    CHECK(found.diagnosis.cannot_tell.empty());
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
    CHECK(found.command == "retryd apply");
    f.settings.declare = false;
    CHECK(f.only().remedy == "declare it; retryd apply does");
    Fixture detour;
    detour.broker.miss("check queue retryd.detour.30s");
    found = detour.only();
    CHECK(found.cause == "detour 'retryd.detour.30s' is missing");
    CHECK(found.consequence ==
          "while a rung or parking queue takes no messages, they stay in the error queue, where they hold up "
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
    CHECK(refused.unseen() == "whether parking queue 'email.parked' exists and is as it must be: no");
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

TEST_CASE("doctor: an error queue without a leader, of which RabbitMQ says that it is empty and has no consumer") {
    Fixture f;
    f.broker.count("check queue retryd.errors", {0, 0});
    f.broker.api.queue_lists = {{{"retryd.errors", "quorum", {}, {}}}};
    CHECK(f.only().cause == "nobody consumes the error queue 'retryd.errors'; 0 messages wait there");
    f.broker.api.queue_lists.back().front().leaderless = true;
    const admin::Finding found = f.only();
    CHECK(found.code == admin::FindingCode::no_leader);
    CHECK(found.cause == "the error queue 'retryd.errors' has no leader now");
    CHECK(found.remedy.starts_with("start the nodes that are away"));
    f.broker.count("check queue retryd.errors", {7, 0});
    CHECK(f.only().code == admin::FindingCode::no_consumer);
    f.broker.count("check queue retryd.errors", {0, 1});
    CHECK(f.run_checks().diagnosis.findings.empty());
}

TEST_CASE("doctor: whether an error queue is consumed that RabbitMQ could not ask, only the management API may tell") {
    Fixture f;
    f.broker.count("check queue retryd.errors", {0, 0});
    f.broker.before_answer = [&](const std::string& step) {
        if (step == "check queue retryd.errors") f.broker.time += core::Milliseconds{250};
    };
    f.broker.api.queue_lists = {{{"retryd.errors", "quorum", {}, {}}}};
    CHECK(f.unseen().starts_with(
        "whether the error queue 'retryd.errors' is consumed: RabbitMQ could not ask it in time"));
    CHECK(f.run_checks().diagnosis.findings.empty());
    f.broker.api.queue_lists.back().front().leaderless = true;
    CHECK(f.only().code == admin::FindingCode::no_leader);
}

TEST_CASE(
    "doctor: every queue of retryd's without a leader is named, unless RabbitMQ has counted something there since") {
    Fixture f;
    const core::Arguments rung{{"x-message-ttl", std::int64_t{5000}},
                               {"x-dead-letter-exchange", ""},
                               {"x-dead-letter-routing-key", "email"},
                               {"x-dead-letter-strategy", "at-least-once"}};
    std::vector<http::ListedQueue> queues{
        {"retryd.errors", "quorum", {}, {}},    {"email", "quorum", {}, {}},
        {"email.parked", "quorum", {}, {}},     {"email.retry.5s", "quorum", {}, rung},
        {"retryd.detour.2s", "quorum", {}, {}}, {"retryd.parked", "quorum", {}, {}}};
    for (http::ListedQueue& queue : queues)
        queue.leaderless = true;
    f.broker.api.queue_lists = {queues};
    const admin::Finding found = f.only();
    CHECK(found.code == admin::FindingCode::no_leader);
    CHECK(found.names ==
          std::vector<std::string>{"email.parked", "email.retry.5s", "retryd.detour.2s", "retryd.parked"});
    CHECK(found.cause == "queue 'email.parked' has no leader now");
    CHECK(found.consequence.starts_with("what lies in it stays there"));
    CHECK(found.remedy.starts_with("start the nodes that are away"));
    for (const char* const queue : {"email.parked", "email.retry.5s", "retryd.detour.2s", "retryd.parked"})
        f.broker.count(std::string("check queue ") + queue, {1, 0});
    CHECK(f.run_checks().diagnosis.findings.empty());
    CHECK(f.run_checks(false).diagnosis.findings.empty());
}

TEST_CASE("doctor: without the management API it is not known whether an error queue that looks unused has a leader") {
    Fixture f;
    f.broker.count("check queue retryd.errors", {0, 0});
    const Checked checked = f.run_checks(false);
    REQUIRE(checked.diagnosis.findings.size() == 1);
    const admin::Finding& found = checked.diagnosis.findings.front();
    CHECK(found.code == admin::FindingCode::no_consumer);
    CHECK(found.cause ==
          "RabbitMQ names no consumer of the error queue 'retryd.errors': nobody consumes it, or it has no leader now");
    CHECK(found.remedy.find("quorum_status") != std::string::npos);
}

TEST_CASE("doctor: who may write to the error exchange without need, or that this cannot be seen") {
    Fixture f;
    f.broker.api.all_permissions = {
        {{"retryd", {"", "^retryd", ""}}, {"eve", {"", "^retryd", ""}}, {"mal\nlory", {"", "^retryd", ""}}}};
    f.settings.broker.endpoints.front().username = "retryd";
    const admin::Finding found = f.only();
    CHECK(found.code == admin::FindingCode::needless_writer);
    CHECK(found.severity == Severity::warning);
    CHECK(found.cause ==
          "user 'eve' may write to exchange 'retryd.errors' and needs that for no queue that it may declare");
    CHECK(found.names == std::vector<std::string>{"eve", "mal\nlory"});
    CHECK(text_of(f.run_checks()).find("\n  also     mal\\x0alory\n") != std::string::npos);
    f.broker.api.all_permissions.reset();
    const Checked unseen = f.run_checks();
    CHECK(unseen.diagnosis.findings.empty());
    CHECK(unseen.diagnosis.cannot_tell.empty());
    CHECK(doctor_exit_code(unseen) == 0);
    CHECK(text_of(unseen).find("\nNote: who may write to the error exchange without need was not looked at: ") !=
          std::string::npos);
}

TEST_CASE("doctor: an error queue with an old limit is told once: by its policies where they are seen, else by AMQP") {
    Fixture f;
    f.broker.api.policies.set(admin::general_guards(f.settings.policy).front());
    f.broker.answers["declare queue retryd.errors"] = {FakeBroker::Result::done, 0, "has x-delivery-limit 1000000", {}};
    SECTION("no policy mends it") {
        f.broker.api.policies.add("retryd.errors", "quorum", {{"x-delivery-limit", std::int64_t{1'000'000}}});
        CHECK(f.only().code == admin::FindingCode::error_queue_unlimited);
    }
    SECTION("a policy mends it, and it is in order") {
        f.broker.api.policies.add("retryd.errors", "quorum", {{"x-delivery-limit", std::int64_t{100}}});
        CHECK(f.run_checks().diagnosis.findings.empty());
    }
    SECTION("nobody knows the policies") {
        const Checked checked = f.run_checks(false);
        REQUIRE(checked.diagnosis.findings.size() == 1);
        CHECK(checked.diagnosis.findings.front().code == admin::FindingCode::lacks_argument);
    }
}

TEST_CASE("doctor: an error queue with a limit that no message reaches, and the policy that mends it") {
    Fixture f;
    f.broker.api.policies.add("retryd.errors", "quorum", {{"x-delivery-limit", std::int64_t{1'000'000}}});
    f.broker.api.policies.set(admin::general_guards(f.settings.policy).front());
    const admin::Finding found = f.only();
    CHECK(found.code == admin::FindingCode::error_queue_unlimited);
    CHECK(found.severity == Severity::problem);
    CHECK(found.command.find("'delivery-limit-retryd.errors'") != std::string::npos);
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
    CHECK(found.cause == "rung 'email.retry.9s' is left over");
    CHECK(found.command == "retryd apply --prune");
    CHECK(found.severity == Severity::warning);
}

TEST_CASE("doctor: a permission that lacks is given by a command that takes none away") {
    Fixture f;
    f.broker.api.given_permissions = admin::Permissions{".*", "^(retryd|email)", ".*"};
    const admin::Finding found = f.only();
    CHECK(found.cause == "retryd's user lacks the permission to write 'amq.default'");
    CHECK(
        found.command ==
        R"(rabbitmqctl set_permissions --vhost 'shop' 'guest' '.*' '^(retryd|email)|^(amq\.default|retryd\.errors)$' '.*')");
}

TEST_CASE("doctor: what retryd's user may not declare: the permission comes first, then retryd apply") {
    Fixture f;
    f.broker.miss("check queue email.retry.5s");
    f.broker.miss("check queue retryd.detour.2s");
    f.broker.api.given_permissions = admin::Permissions{"^retryd", ".*", ".*"};
    const auto finding_of = [&](const std::string& name) {
        const std::vector<admin::Finding> all = f.run_checks().diagnosis.findings;
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.names[0] == name; });
        REQUIRE(found != all.end());
        return *found;
    };
    const std::string give = R"(rabbitmqctl set_permissions --vhost 'shop' 'guest' '^retryd|)";
    const admin::Finding permission = finding_of("configure email.retry.5s");
    CHECK(permission.command.starts_with(give));
    admin::Finding found = finding_of("email.retry.5s");
    CHECK(found.code == admin::FindingCode::not_declared);
    CHECK(found.remedy.starts_with("give retryd's user the permission first: without it "));
    CHECK(found.command == permission.command);
    CHECK(finding_of("retryd.detour.2s").command == "retryd apply");
    f.settings.declare = false;  // the daemon does without, so that no finding is about the permission
    found = finding_of("email.retry.5s");
    CHECK(found.remedy.starts_with("give retryd's user the permission first: without it "));
    CHECK(found.command.starts_with(give));
    CHECK(found.command.ends_with(" && retryd apply"));
    std::vector<admin::Finding> findings{found};
    name_configuration(findings, "my file");
    CHECK(findings.front().command == found.command + " -c 'my file'");
    CHECK(finding_of("retryd.detour.2s").remedy == "declare it; retryd apply does");
}

TEST_CASE("doctor: permissions that cannot be seen, unless the daemon is well and was refused nothing") {
    Fixture f;
    f.broker.api.given_permissions.reset();
    CHECK(f.unseen().find("whether retryd's user has the permissions that it needs: ") == 0);
    f.answer = well();
    CHECK(doctor_exit_code(f.run_checks()) == 0);
}

TEST_CASE("doctor: a feature flag that is disabled, and those that cannot be seen") {
    Fixture f;
    f.broker.api.disabled_flags = {{"stream_queue", "other"}};
    CHECK(f.only().cause == "the feature flag stream_queue is disabled");
    f.broker.api.disabled_flags = {{"other"}};
    CHECK(f.run_checks().diagnosis.findings.empty());
    f.broker.api.disabled_flags.reset();
    CHECK(f.run_checks().diagnosis.cannot_tell.empty());  // 3.13 has no such flag to enable
    f.broker.version = {3, 11, 0};
    CHECK(f.unseen().find("whether the feature flag stream_queue is enabled") == 0);
}

TEST_CASE("doctor: alarms of nodes, and those that cannot be seen") {
    Fixture f;
    f.broker.api.node_alarms = {{{"rabbit@a", "memory"}, {"rabbit@b", "memory"}}};
    const admin::Finding found = f.only();
    CHECK(found.cause == "node 'rabbit@a' has a memory alarm");
    CHECK(found.names == std::vector<std::string>{"rabbit@a", "rabbit@b"});
    f.broker.api.node_alarms.reset();
    CHECK(f.unseen().find("whether a node has run short of memory or disk") == 0);
}

namespace {

/// With that many neither ready nor unacked.
http::ListedQueue rung_of(const std::string& work_queue, std::int64_t held) {
    return {work_queue + ".retry.5s",
            "quorum",
            held,
            {{"x-message-ttl", std::int64_t{5000}},
             {"x-dead-letter-exchange", ""},
             {"x-dead-letter-routing-key", work_queue}},
            held};
}

}  // namespace

TEST_CASE("doctor: messages that the broker holds because their work queue is gone") {
    Fixture f;
    f.settings.policy.entries.push_back({.match = "sms",
                                         .ladder = {.name = "standard", .steps = {core::Milliseconds{5000}}},
                                         .parked = {.queue = "{queue}.parked"}});
    f.broker.api.policies.add("sms", "classic", {{"x-dead-letter-exchange", "retryd.errors"}});
    f.broker.api.queue_lists = {{rung_of("sms", 60)}};
    const admin::Finding found = f.only();
    CHECK(found.code == admin::FindingCode::held_by_broker);
    CHECK(found.cause == "60 messages held by the broker on rung 'sms.retry.5s': work queue 'sms' does not exist");
}

TEST_CASE("doctor: what is on its way to its work queue is not held, what is still there at a second look is") {
    Fixture f;
    const http::ListedQueue work{"email", "classic", 0, {}, 0};
    f.broker.api.queue_lists = {{work}, {work, rung_of("email", 3)}, {work, rung_of("email", 0)}};
    CHECK(f.run_checks().diagnosis.findings.empty());
    f.broker.api.queue_lists = {{work}, {work, rung_of("email", 3)}, {work, rung_of("email", 2)}};
    const admin::Finding found = f.only();
    CHECK(found.code == admin::FindingCode::slow_return);
    CHECK(found.cause == "3 messages held by the broker on rung 'email.retry.5s'");
    http::ListedQueue busy = rung_of("email", 20);
    busy.published_rate = 10.0;
    f.broker.api.queue_lists = {{work}, {work, busy}, {work, busy}};
    CHECK(f.run_checks().diagnosis.findings.empty());
    busy.held = 21;
    f.broker.api.queue_lists = {{work}, {work, busy}, {work, busy}};
    CHECK(f.only().code == admin::FindingCode::slow_return);
}

TEST_CASE("doctor: what the daemon says of itself, each fault once") {
    Fixture f;
    telemetry::Status status = well();
    status.faults = {{{}, "the file is wrong", "reload"}, {{}, "nobody confirms", "failing"}};
    f.answer = status;
    Checked found = f.run_checks();
    REQUIRE(found.diagnosis.findings.size() == 2);
    CHECK(found.diagnosis.findings[0].code == admin::FindingCode::reload_refused);
    CHECK(found.diagnosis.findings[1].cause == "the daemon tells: nobody confirms");
    status = telemetry::Status{};
    status.reason = "not connected";
    status.faults = {{{}, "not connected, too", "disconnected"}};
    f.answer = status;
    f.broker.count("check queue retryd.errors", {7, 0});
    CHECK(f.only().cause == "the daemon is not ready: not connected");
    status.reason = "no leader";
    status.faults = {{{}, "no leader", "error queue"}};
    f.answer = status;
    CHECK(f.only().cause == "the daemon is not ready: no leader");
}

TEST_CASE("doctor: a daemon whose clock is off by more than a minute") {
    Fixture f;
    telemetry::Status status = well();
    status.now = system::wall_now() - std::chrono::seconds(30);
    f.answer = status;
    CHECK(f.run_checks().diagnosis.findings.empty());
    status.now = system::wall_now() + std::chrono::minutes(10);
    f.answer = status;
    CHECK(f.only().code == admin::FindingCode::daemon_clock);
    CHECK(f.only().cause.ends_with(" ahead of this machine's"));
}

TEST_CASE("doctor: a daemon whose clock and the broker's differ by more than a minute") {
    Fixture f;
    telemetry::Status status = well();
    status.now = system::wall_now() - std::chrono::seconds(30);
    f.answer = status;
    f.broker.api.broker_clock = system::wall_now();
    CHECK(f.run_checks().diagnosis.findings.empty());
    f.broker.api.broker_clock = system::wall_now() + std::chrono::minutes(10);
    CHECK(f.only().code == admin::FindingCode::daemon_clock);
    CHECK(f.only().cause.ends_with(" behind the broker's"));
    // It tells no time, as before 0.1.
    f.answer = well();
    CHECK(f.run_checks().diagnosis.findings.empty());
}

TEST_CASE("doctor: a daemon that does not answer is no daemon that is well") {
    Fixture f;
    f.answer = "the daemon does not answer at http://127.0.0.1:1/";
    CHECK(f.unseen() == "whether the daemon is well: the daemon does not answer at http://127.0.0.1:1/");
    CHECK(text_of(f.run_checks()).find("nothing found") == std::string::npos);
}

TEST_CASE("doctor: work queues with the same fault are one finding, whose names are folded") {
    Fixture f;
    f.settings.policy.entries.front().match = "*";
    for (int i = 0; i < 30; ++i)
        f.broker.api.policies.add("queue" + std::to_string(100 + i), "classic");
    const Checked found = f.run_checks();
    REQUIRE(found.diagnosis.findings.size() == 1);
    CHECK(found.diagnosis.findings[0].names.size() == 30);
    const std::string text = text_of(found);
    CHECK(text.find("\nProblem: work queue 'queue100' has no dead-letter exchange in effect "
                    "[no-dead-letter-exchange]\n  also     queue101, queue102, ") != std::string::npos);
    CHECK(text.find("queue110 and 19 more (--all names them)\n") != std::string::npos);
    CHECK(text.find("  command  retryd attach --apply\n") != std::string::npos);
    CHECK(text_of(found, true).find("queue129\n") != std::string::npos);
}

TEST_CASE("doctor: its commands name a configuration that is not the usual one") {
    Fixture f;
    f.broker.miss("check queue email.retry.5s");
    Checked found = f.run_checks();
    name_configuration(found.diagnosis.findings, "/etc/retryd/retryd.yaml");
    CHECK(found.diagnosis.findings[0].command == "retryd apply");
    name_configuration(found.diagnosis.findings, "my file");
    CHECK(found.diagnosis.findings[0].command == "retryd apply -c 'my file'");
}

TEST_CASE("doctor: what the policies do, the problems first") {
    Fixture f;
    f.broker.api.policies.add_rung("email", "5s", 5'000);
    f.broker.api.policies.set({"all", "retry", "queues", {{"max-length", "3"}}, 0});
    f.settings.policy.entries.push_back({.match = "absent", .parked = {.queue = "{queue}.parked"}});
    const Checked found = f.run_checks();
    REQUIRE(found.diagnosis.findings.size() == 2);
    CHECK(found.diagnosis.findings[0].cause == "policy 'all' sets max-length 3 on queue 'email.retry.5s'");
    CHECK(found.diagnosis.findings[1].cause == "work queue 'absent' does not exist");
    CHECK(text_of(found).ends_with("\n1 problem, 1 warning\n"));
    CHECK(
        text_of(found).find(
            "\nProblem: policy 'all' sets max-length 3 on queue 'email.retry.5s' [harmful-policy]\n  so that  when") !=
        std::string::npos);
}

TEST_CASE("doctor: without a management API it says what it cannot see, and looks for the work queues itself") {
    Fixture f;
    CHECK(f.unseen(false).ends_with("Set management.url to have them looked at"));
    f.broker.miss("check queue email");
    const Checked found = f.run_checks(false);
    REQUIRE(found.diagnosis.findings.size() == 1);
    CHECK(found.diagnosis.findings[0].cause == "work queue 'email' does not exist");
    CHECK(doctor_exit_code(found) == 1);
    CHECK(text_of(found).ends_with("\n0 problems, 1 warning; not all could be looked at\n"));
}

TEST_CASE("doctor: a problem decides the exit code, and what could not be looked at is told all the same") {
    Fixture f;
    f.broker.miss("check queue retryd.errors");
    const Checked found = f.run_checks(false);
    CHECK(doctor_exit_code(found) == 2);
    CHECK(text_of(found).find("cannot tell whether") != std::string::npos);
    CHECK(text_of(found).ends_with("; not all could be looked at\n"));
}

TEST_CASE("doctor: a management API that fails is told once, and ends with 1") {
    Fixture f;
    f.broker.api.fault = "nobody there";
    CHECK(f.unseen().ends_with("nobody there"));
    Fixture later;
    later.broker.api.faults["policies"] = "gone now";
    CHECK(later.unseen().ends_with("gone now"));
    CHECK(text_of(later.run_checks()).find("\ncannot tell whether what work queues reject") != std::string::npos);
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
    CHECK(json["findings"][0]["code"] == "no-consumer");
    CHECK(json["findings"][0]["severity"] == "problem");
    CHECK(json["findings"][0]["command"].is_null());
    CHECK(json["findings"][0]["names"] == nlohmann::json{"retryd.errors"});
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
    CHECK(outcome.out.find("\nrabbitmqctl set_user_tags 'PERSON' policymaker\n") != std::string::npos);
    CHECK(outcome.out.find(" monitoring") == std::string::npos);
    CHECK(outcome.out.find("secret") == std::string::npos);
}

TEST_CASE("doctor --permissions: with a management section also the tag of the user who asks there") {
    const auto printed = [](const std::string& management) {
        const TemporaryFile file(one_queue + management);
        return run({"doctor", "--permissions", "-c", file.path().c_str()}).out;
    };
    CHECK(printed("management: {url: \"http://rabbit:15672\"}\n")
              .find("rabbitmqctl set_user_tags 'ret'\\''ryd' monitoring\n") != std::string::npos);
    CHECK(printed("management: {url: \"http://rabbit:15672\", username: eyes, password: open}\n")
              .find("rabbitmqctl set_permissions --vhost 'shop' 'eyes' '^$' '^$' '^$'\n"
                    "rabbitmqctl set_user_tags 'eyes' monitoring\n") != std::string::npos);
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

TEST_CASE("doctor: what comes by a source alone is a note, and nothing is missing there") {
    Fixture f;
    f.settings.policy.entries.push_back({.match = "orders",
                                         .ladder = f.settings.policy.entries[0].ladder,
                                         .parked = {.queue = "{queue}.parked"},
                                         .failures = core::FailuresBy::source});
    f.settings.policy.sources = {{"failed", core::Dialect::symfony}};
    f.broker.api.policies.add("orders", "classic");
    CHECK(text_of(f.run_checks())
              .find("\nNote: what fails in orders comes by a source alone, as the entry says "
                    "(failures: source). No dead-letter exchange is asked for: ") != std::string::npos);
    CHECK(doctor_exit_code(f.run_checks()) == 0);
    f.settings.policy.entries[1].failures = core::FailuresBy::error_queue;
    CHECK(f.only().code == admin::FindingCode::no_dead_letter_exchange);
    CHECK(f.run_checks().notes.empty());
}

TEST_CASE("doctor: clients of AMQP 1.0 at work queues are a note, and change nothing else") {
    Fixture f;
    f.broker.api.policies.add("other", "classic", {});
    f.broker.api.targets_of_amqp10 = {"/exchanges/shop/mail", "/queues/other"};
    f.broker.api.routes.exchanges["shop"] = {"direct"};
    f.broker.api.routes.bindings = {{"shop", "email", false, "mail"}};
    CHECK(text_of(f.run_checks()).find("Note: producers or consumers of email speak AMQP 1.0. ") != std::string::npos);
    CHECK(doctor_exit_code(f.run_checks()) == 0);
    f.broker.api.targets_of_amqp10 = {"/exchanges/shop/sms"};
    CHECK(f.run_checks().notes.empty());
    f.broker.api.consumer_lists = {{{"email", "0", true, true}}};
    CHECK(f.run_checks().notes.size() == 1);
    f.broker.api.consumer_lists = {{{"email", "0"}}};
    CHECK(f.run_checks().notes.empty());
}

}  // namespace retryd::commands::doctor_test
