#include "commands/attach.h"

#include <nlohmann/json.hpp>

#include "commands/command_line.h"
#include "commands/fake_broker.h"

namespace retryd::commands::attach_test {
namespace {

using Lines = std::vector<std::string>;

core::Policy policy_for(const Lines& matches) {
    core::Policy policy;
    for (const std::string& match : matches)
        policy.entries.push_back({.match = match, .parked = {.queue = "{queue}.parked"}});
    return policy;
}

const core::Policy email_and_sms = policy_for({"email", "sms"});

/// The error queue is bound to its exchange.
struct ReadyApi : FakeManagementApi {
    ReadyApi() { bindings["retryd.errors"] = {{"retryd.errors", "retryd.errors", "", {}}}; }
};

struct Fixture {
    ReadyApi api;

    Fixture() {
        api.policies.add("email", "classic");
        api.policies.add("sms", "classic");
        api.policies.add("other", "classic");
    }
    AttachReport look(bool apply = false) { return attach_work_queues(api, email_and_sms, "/", apply); }
};

std::string text_of(const AttachReport& report) {
    std::ostringstream out;
    print_attach(report, false, out);
    return out.str();
}

nlohmann::json json_of(const AttachReport& report) {
    std::ostringstream out;
    print_attach_json(report, attach_exit_code(report) == 0, out);
    return nlohmann::json::parse(out.str());
}

constexpr const char* configuration = R"(
broker: {uri: "amqp://guest:Geheim-7391@127.0.0.1:1/shop"}
ladders: {standard: {delays: [5s]}}
queues: [{match: email, ladder: standard}]
)";

}  // namespace

TEST_CASE("attach: looks and sets nothing") {
    Fixture f;
    const AttachReport report = f.look();
    CHECK(report.plan.changes.size() == 1);
    CHECK_FALSE(report.applied);
    CHECK(f.api.set_policies.empty());
    CHECK(attach_exit_code(report) == 2);
    CHECK(text_of(report).ends_with("; 1 policy to set: retryd attach --apply does\n"));
}

TEST_CASE("attach: the command that sets it names a configuration that is not the usual one") {
    Fixture f;
    AttachReport report = f.look();
    report.configuration = configuration_option("/srv/my shop/retryd.yaml");
    CHECK(text_of(report).ends_with(": retryd attach --apply -c '/srv/my shop/retryd.yaml' does\n"));
}

TEST_CASE("attach: with --apply sets what is to be set, and the second time nothing") {
    Fixture f;
    const AttachReport first = f.look(true);
    CHECK(f.api.set_policies == Lines{"retryd.errors"});
    CHECK(first.left.empty());
    CHECK(attach_exit_code(first) == 0);
    CHECK(text_of(first).ends_with("\nbefore: 0 attached, 2 to attach; 1 of 1 policy set; all are attached now\n"));
    const AttachReport second = f.look(true);
    CHECK(f.api.set_policies.size() == 1);
    CHECK(second.plan.changes.empty());
    CHECK(attach_exit_code(second) == 0);
    CHECK(text_of(second).ends_with("\n2 attached; nothing to set\n"));
}

TEST_CASE("attach: nothing is set while the error exchange leads nowhere") {
    Fixture f;
    f.api.bindings["retryd.errors"] = {{"another", "retryd.errors", "", {}}};
    const AttachReport report = f.look(true);
    CHECK(f.api.set_policies.empty());
    CHECK_FALSE(report.applied);
    CHECK(report.not_ready.find("the error queue 'retryd.errors' is not bound to the error exchange 'retryd.errors'") ==
          0);
    CHECK(text_of(report).find("\nNot yet: the error queue") != std::string::npos);
    CHECK_FALSE(json_of(report)["not_ready"].is_null());
}

TEST_CASE("attach: nothing is set while a queue would give up its only way to retryd") {
    Fixture f;
    f.look(true);
    core::Policy policy = email_and_sms;
    policy.entries[1].failures = core::FailuresBy::source;
    policy.sources = {{"failed", core::Dialect::symfony, {core::WorkQueueOf::Place::name, "email"}}};
    const AttachReport report = attach_work_queues(f.api, policy, "/", true);
    CHECK(f.api.set_policies.size() == 1);
    CHECK_FALSE(report.applied);
    CHECK(report.not_ready.starts_with("failures of sms come to retryd by the policy that would be changed, and by "));
    CHECK(text_of(report).find("\nNot yet: failures of sms ") != std::string::npos);
    policy.sources[0].work_queue = {};
    CHECK(attach_work_queues(f.api, policy, "/", true).applied);
    CHECK(f.api.set_policies.size() == 2);
}

TEST_CASE("attach: a refused policy is told with its reason, the others are set") {
    Fixture f;
    f.api.policies.set({"team", "^sms$", "queues", {{"max-length", "9"}}, 0});
    f.api.faults["set policy team"] = "401 not you";
    const AttachReport report = f.look(true);
    CHECK(f.api.set_policies == Lines{"retryd.errors"});
    CHECK(report.refusals == Lines{"", "401 not you"});
    REQUIRE(report.left.size() == 1);
    CHECK(report.left[0].queue == "sms");
    CHECK(attach_exit_code(report) == 1);
    CHECK(text_of(report).find("Policy team: changed, not set\n  401 not you\n") != std::string::npos);
    CHECK(text_of(report).find("Policy retryd.errors: new, set\n") != std::string::npos);
    const auto json = json_of(report);
    CHECK(json["ok"] == false);
    CHECK(json["policies"][1]["refusal"] == "401 not you");
    CHECK(json["policies"][0]["applied"] == true);
    CHECK(json["not_attached"][0]["queue"] == "sms");
}

TEST_CASE("attach: what no policy can attach is left, and the exit code says so") {
    ReadyApi api;
    api.policies.add("email", "classic", {{"x-dead-letter-exchange", "theirs"}});
    const core::Policy policy = policy_for({"email"});
    CHECK(attach_exit_code(attach_work_queues(api, policy, "/", false)) == 2);
    const AttachReport applied = attach_work_queues(api, policy, "/", true);
    CHECK(attach_exit_code(applied) == 2);
    CHECK(api.set_policies.empty());
    CHECK(json_of(applied)["ok"] == false);
}

TEST_CASE("attach: a fault of the management API is part of the report") {
    Fixture f;
    f.api.fault = "nobody there";
    const AttachReport report = f.look();
    CHECK(report.fault == "nobody there");
    CHECK_FALSE(report.version);
    CHECK(attach_exit_code(report) == 1);
}

TEST_CASE("attach: prints commands with their undo, and what comes and goes") {
    Fixture f;
    f.api.policies.set({"team", "^sms$", "queues", {{"max-length", "9"}, {"dead-letter-exchange", "\"old\""}}, 0});
    AttachReport report = f.look();
    report.vhost = "sh'op";
    CHECK(text_of(report) ==
          "RabbitMQ 4.0.5, vhost sh'op\n"
          "\n"
          "Work queues\n"
          "  email  classic  to attach  no policy\n"
          "  sms    classic  to attach  policy team\n"
          "\n"
          "Policy retryd.errors: new\n"
          "  attaches email\n"
          "  pattern ^(email)$\n"
          "  applies to queues, priority -1\n"
          "    + dead-letter-exchange: \"retryd.errors\"\n"
          "  Set it:\n"
          "    rabbitmqctl set_policy --vhost 'sh'\\''op' --priority=-1 --apply-to queues 'retryd.errors' '^(email)$' "
          "'{\"dead-letter-exchange\": \"retryd.errors\"}'\n"
          "  Undo it:\n"
          "    rabbitmqctl clear_policy --vhost 'sh'\\''op' 'retryd.errors'\n"
          "\n"
          "Policy team: changed\n"
          "  attaches sms\n"
          "  pattern ^sms$\n"
          "  applies to queues, priority 0\n"
          "    - dead-letter-exchange: \"old\"\n"
          "    + dead-letter-exchange: \"retryd.errors\"\n"
          "      max-length: 9\n"
          "  Note: dead letters of these queues go to exchange \"old\" now, and no longer will. If its consumers are "
          "to get what retryd gives up on, name it in the entries: parked: {exchange: \"old\"}\n"
          "  Note: applies to every queue that its pattern matches, also to later ones\n"
          "  Set it:\n"
          "    rabbitmqctl set_policy --vhost 'sh'\\''op' --priority=0 --apply-to queues 'team' '^sms$' "
          "'{\"dead-letter-exchange\": \"retryd.errors\", \"max-length\": 9}'\n"
          "  Undo it:\n"
          "    rabbitmqctl set_policy --vhost 'sh'\\''op' --priority=0 --apply-to queues 'team' '^sms$' "
          "'{\"dead-letter-exchange\": \"old\", \"max-length\": 9}'\n"
          "\n"
          "0 attached, 2 to attach; 2 policies to set: retryd attach --apply does\n");
}

TEST_CASE("attach: a name cannot move a terminal's cursor") {
    ReadyApi api;
    api.policies.add("e\x1b[2J", "classic");
    const AttachReport report = attach_work_queues(api, policy_for({"e*"}), "/", false);
    CHECK(report.plan.changes.size() == 1);
    CHECK(text_of(report).find('\x1b') == std::string::npos);
}

TEST_CASE("attach: its JSON has the policies with what is in effect now, and the commands") {
    Fixture f;
    f.api.policies.set({"all", ".*", "queues", {{"max-length", "9"}}, 2});
    AttachReport report = f.look();
    report.vhost = "/";
    report.management = true;
    const auto json = json_of(report);
    CHECK(json["ok"] == false);
    CHECK(json["version"] == "4.0.5");
    CHECK(json["summary"]["to_attach"] == 2);
    CHECK(json["queues"][0]["state"] == "to_attach");
    const auto& policy = json["policies"][0];
    CHECK(policy["name"] == "retryd.errors-all");
    CHECK(policy["definition"] == nlohmann::json{{"dead-letter-exchange", "retryd.errors"}, {"max-length", 9}});
    CHECK(policy["in_effect_now"]["definition"] == nlohmann::json{{"max-length", 9}});
    CHECK(policy["priority"] == 3);
    CHECK(policy["before"].is_null());
    CHECK(policy["undo"] == "rabbitmqctl clear_policy 'retryd.errors-all'");
    CHECK(json["not_attached"].is_null());
}

TEST_CASE("attach: what is left out is told in one line, with what would change that, and is nothing to do") {
    const TemporaryFile file(R"(
broker: {uri: "amqp://guest@127.0.0.1:1/"}
ladders: {s: {delays: [5s]}}
queues: [{match: email, ladder: s}, {match: orders, ladder: s, failures: source}]
sources: [{queue: failed, dialect: symfony}]
)");
    const std::string line =
        "\nLeft out: orders: its entry says failures: source. What fails there comes by a source, and with a "
        "dead-letter exchange it would come twice. To attach it, take that out of its entry\n";
    const Outcome without_api = run({"attach", "-c", file.path().c_str()});
    CHECK(without_api.out.find(line) != std::string::npos);
    CHECK(without_api.out.find("'^(email)$'") != std::string::npos);
    const Outcome json = run({"attach", "--json", "-c", file.path().c_str()});
    CHECK(nlohmann::json::parse(json.out)["left_out"].get<std::string>().starts_with("orders: its entry says "));

    Fixture f;
    core::Policy policy = email_and_sms;
    policy.entries[1].failures = core::FailuresBy::source;
    policy.sources = {{"failed", core::Dialect::symfony}};
    AttachReport report = attach_work_queues(f.api, policy, "/", true);
    CHECK(summary_of(report).by_source == 1);
    CHECK(report.left.empty());
    CHECK(attach_exit_code(report) == 0);
    report = attach_work_queues(f.api, policy, "/", false);
    CHECK_FALSE(report.left_out.empty());
    CHECK(attach_exit_code(report) == 0);
    const std::string text = text_of(report);
    CHECK(text.find("  sms    classic  by source  no policy\n") != std::string::npos);
    CHECK(text.find("sms: its failures") == std::string::npos);  // said once, of all
    CHECK(text.ends_with("1 attached, 1 by source; nothing to set\n"));
    CHECK(json_of(report)["queues"][1]["state"] == "by_source");
    CHECK(json_of(report)["summary"]["by_source"] == 1);
    policy.sources[0].work_queue = {core::WorkQueueOf::Place::name, "email"};
    CHECK(text_of(attach_work_queues(f.api, policy, "/", false))
              .find("    sms: its failures come by a source alone, and no source can name it; retryd doctor ") !=
          std::string::npos);
}

TEST_CASE("attach: without a management API it prints a general policy, and what is not known") {
    const TemporaryFile file(configuration);
    const Outcome outcome = run({"attach", "-c", file.path().c_str()});
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.out.find("    rabbitmqctl set_policy --vhost 'shop' --priority=0 --apply-to queues 'retryd.errors' "
                           "'^(email)$' '{\"dead-letter-exchange\": \"retryd.errors\"}'\n") != std::string::npos);
    CHECK(outcome.out.find("\nNot known: the broker was not asked: set management.url for that\n") !=
          std::string::npos);
    const Outcome json = run({"attach", "--json", "-c", file.path().c_str()});
    CHECK(nlohmann::json::parse(json.out)["management"]["configured"] == false);
    CHECK(nlohmann::json::parse(json.out)["version"].is_null());
}

TEST_CASE("attach: --apply without a management API does nothing and says what is missing") {
    const TemporaryFile file(configuration);
    const Outcome outcome = run({"attach", "--apply", "-c", file.path().c_str()});
    CHECK(outcome.code == 78);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("retryd: --apply needs the management API: ") == 0);
    CHECK(nlohmann::json::parse(run({"attach", "--apply", "--json", "-c", file.path().c_str()}).out)["ok"] == false);
}

TEST_CASE("attach: a management API that does not answer ends with 1, the general policy is printed all the same") {
    const TemporaryFile file(std::string{configuration} + "management: {url: \"http://127.0.0.1:1\"}\n");
    const Outcome looked = run({"attach", "-c", file.path().c_str()});
    CHECK(looked.code == 1);
    CHECK(looked.out.find("rabbitmqctl set_policy --vhost 'shop'") != std::string::npos);
    CHECK(looked.out.find("\nNot known: cannot ask the management API at http://127.0.0.1:1: ") != std::string::npos);
    CHECK(looked.out.find("Geheim-7391") == std::string::npos);
    const Outcome applied = run({"attach", "--apply", "-c", file.path().c_str()});
    CHECK(applied.code == 1);
    CHECK(applied.out.empty());
    CHECK(applied.err.find("retryd: cannot ask the management API") == 0);
}

TEST_CASE("attach: a wrong configuration ends with 78 and all its problems") {
    const TemporaryFile file("ladders: 7\n");
    const Outcome outcome = run({"attach", "-c", file.path().c_str()});
    CHECK(outcome.code == 78);
    CHECK(outcome.err.find(file.path() + ":1:10: ladders") != std::string::npos);
}

}  // namespace retryd::commands::attach_test
