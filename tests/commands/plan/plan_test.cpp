#include "commands/plan/plan.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "commands/command_line.h"
#include "commands/common/report.h"
#include "commands/plan/print_plan.h"
#include "support/catch.h"

namespace retryd::commands::plan_test {
namespace {

// Nobody listens on port 1.
constexpr const char* unreachable = R"(
broker: {uris: ["amqp://retryd:geheim@127.0.0.1:1/", "amqp://retryd:geheim@[::1]:1/"]}
ladders: {standard: {delays: [5s]}}
queues: [{match: email, ladder: standard}]
)";

}  // namespace

TEST_CASE("plan and apply: a wrong configuration ends with 78 and all its problems") {
    const TemporaryFile file{"queues: []\nfoo: 1\n"};
    for (const char* command : {"plan", "apply"}) {
        CAPTURE(command);
        const Outcome outcome = run({command, "-c", file.path().c_str()});
        CHECK(outcome.code == 78);
        CHECK(outcome.out.empty());
        CHECK(outcome.err.find("foo") != std::string::npos);
        const Outcome json = run({command, "--json", "-c", file.path().c_str()});
        CHECK(json.code == 78);
        CHECK(nlohmann::json::parse(json.out).at("ok") == false);
    }
}

TEST_CASE("plan and apply: brokers that cannot be reached end with 1, each named, without a password") {
    const TemporaryFile file{unreachable};
    for (const char* command : {"plan", "apply"}) {
        CAPTURE(command);
        const Outcome outcome = run({command, "-c", file.path().c_str()});
        CHECK(outcome.code == 1);
        CHECK(outcome.out.empty());
        CHECK(outcome.err.starts_with("retryd: cannot connect to the broker at 127.0.0.1:1: "));
        CHECK(outcome.err.find("; cannot connect to the broker at [::1]:1: ") != std::string::npos);
        CHECK(outcome.err.ends_with("check that the broker runs and that broker.uri names it\n"));
        CHECK(outcome.err.find("geheim") == std::string::npos);
    }
    const Outcome json = run({"plan", "--json", "-c", file.path().c_str()});
    CHECK(json.code == 1);
    CHECK(nlohmann::json::parse(json.out).at("ok") == false);
    CHECK(json.out.find("cannot connect") != std::string::npos);
}

TEST_CASE("apply: prunes only with the management API, and does nothing without") {
    const TemporaryFile file{unreachable};
    const Outcome outcome = run({"apply", "--prune", "-c", file.path().c_str()});
    CHECK(outcome.code == 78);
    CHECK(outcome.err.starts_with("retryd: --prune needs the management API: "));
    CHECK(run({"plan", "--prune"}).code == 64);
}

// ── How it is printed ──────────────────────────────────────────────────────────────────────────────────────────────

namespace {

using ItemRole = core::DesiredItem::ItemRole;
using namespace std::chrono_literals;

Plan base_plan() {
    Plan plan;
    plan.broker = {"::1", 5671, true, "shop", {3, 13, 7}};
    plan.management = true;
    plan.items = {
        {{ItemRole::error_exchange, "", "", core::ExchangeSpec{"dlx", "fanout", {}}}, State::in_place, ""},
        {{ItemRole::error_queue, "", "", core::QueueSpec{"errors", {}, {}}}, State::in_place, "lacks its limit"},
        {{ItemRole::error_binding, "", "", core::BindingSpec{"errors", "dlx", "#", {}}}, State::in_place, ""},
    };
    return plan;
}

Plan busy_plan() {
    Plan plan = base_plan();
    plan.items.push_back(
        {{ItemRole::rung, "email", "", core::QueueSpec{"email.retry.5s", {}, {}}}, State::missing, ""});
    plan.items.push_back(
        {{ItemRole::rung, "", "all", core::QueueSpec{"retryd.all.5s", {}, {}}}, State::different, "why"});
    plan.items.push_back(
        {{ItemRole::parking_exchange, "email", "", core::ForeignExchange{"graves"}}, State::refused, "no"});
    plan.on_demand = {{"web.*", "all"}};
    plan.left_over = {{"email.retry.9s", "quorum", {"email", core::ReturnPath::queue, 9s}, 12},
                      {"retryd.old.1m", "classic", {"old", core::ReturnPath::headers, 60s}, {}}};
    return plan;
}

std::string text_of(const Plan& plan, bool colour = false, bool all = false) {
    std::ostringstream out;
    print_plan(plan, all, colour, out);
    return out.str();
}

}  // namespace

TEST_CASE("plan: in words") {
    CHECK(text_of(base_plan()) == R"(RabbitMQ 3.13.7 at amqps://[::1]:5671, vhost shop

For all work queues
  error exchange  dlx           in place
  error queue     errors        in place
  error binding   dlx → errors  in place
    lacks its limit

3 in place
)");
    CHECK(text_of(busy_plan()) == R"(RabbitMQ 3.13.7 at amqps://[::1]:5671, vhost shop

For all work queues
  error exchange  dlx           in place
  error queue     errors        in place
  error binding   dlx → errors  in place
    lacks its limit

Work queue email
  rung              email.retry.5s  missing
  parking exchange  graves          refused
    no

Ladder all
  rung  retryd.all.5s  different
    why

When the first message of a queue comes
  web.*  its own rungs, or return binding, for ladder all; its own parking queue, if any

Left over: nothing is published to them any more
  email.retry.9s  quorum   12 messages
  retryd.old.1m   classic  not counted yet

`retryd apply` declares what is missing.
`retryd apply --prune` deletes what is left over and empty.
3 in place, 1 missing, 1 different, 1 refused, 2 left over
)");
}

TEST_CASE("plan: what the version means is said, a warning as such") {
    Plan plan = base_plan();
    plan.broker.version = {3, 9, 0};
    const std::string text = text_of(plan);
    CHECK(text.find("\n  Warning: before 3.10 ") != std::string::npos);
    plan.broker.version = {4, 3, 0};
    CHECK(text_of(plan).find("Warning") == std::string::npos);
}

TEST_CASE("plan: what is not known is said in one line, with the reason") {
    Plan plan = base_plan();
    plan.management = false;
    plan.items[2].state = State::unknown;
    const std::string text = text_of(plan);
    CHECK(text.find("dlx → errors") == std::string::npos);
    CHECK(text.find("\nNot known: whether 1 binding is there, and which queues are left over: AMQP cannot tell. Set "
                    "management.url to have it here.\n\n2 in place, 1 unknown\n") != std::string::npos);
    plan.items.pop_back();
    CHECK(text_of(plan).find("\nNot known: which queues are left over: AMQP cannot tell. ") != std::string::npos);
    plan.management = true;
    plan.management_fault = "it does not answer";
    CHECK(text_of(plan).find("\nNot known: it does not answer\n") != std::string::npos);
}

TEST_CASE("plan: why something was not compared is said once") {
    Plan plan = base_plan();
    plan.items[0].state = State::not_compared;
    plan.why_not_compared = "no permission";
    const std::string text = text_of(plan);
    CHECK(text.find("  error exchange  dlx           not compared\n") != std::string::npos);
    CHECK(text.find("\nNot compared, only seen to be there: no permission\n\n2 in place, 1 not compared\n") !=
          std::string::npos);
}

TEST_CASE("plan: its commands name a configuration that is not the usual one, as a shell reads it") {
    Plan plan = busy_plan();
    plan.configuration = configuration_option("/srv/my shop/retryd.yaml");
    const std::string text = text_of(plan);
    CHECK(text.find("`retryd apply -c '/srv/my shop/retryd.yaml'` declares") != std::string::npos);
    CHECK(text.find("`retryd apply --prune -c '/srv/my shop/retryd.yaml'` deletes") != std::string::npos);
    CHECK(configuration_option("/etc/retryd/retryd.yaml").empty());
}

TEST_CASE("plan: what only others can make is no reason to apply") {
    Plan plan = base_plan();
    plan.items[0].state = State::missing;
    plan.items[0].note = "make it";
    CHECK(text_of(plan).find("retryd apply") == std::string::npos);
}

TEST_CASE("plan: colour sets the headings off and nothing else") {
    std::string text = text_of(busy_plan(), true);
    CHECK(text.find("\x1b[1mWork queue email\x1b[0m\n") != std::string::npos);
    for (const std::string escape : {"\x1b[1m", "\x1b[0m"}) {
        for (auto at = text.find(escape); at != std::string::npos; at = text.find(escape))
            text.erase(at, escape.size());
    }
    CHECK(text == text_of(busy_plan()));
}

TEST_CASE("plan: what was pruned") {
    const auto text_of_pruned = [](const PruneResult& pruned) {
        std::ostringstream out;
        print_pruned(pruned, false, out);
        return out.str();
    };
    CHECK(text_of_pruned({"", {"a.retry.1s"}, {{"longer.retry.1s", "12 messages"}}}) ==
          "Pruned\n  a.retry.1s       deleted\n  longer.retry.1s  kept: 12 messages\n\n");
    CHECK(text_of_pruned({"nothing is pruned: why", {}, {}}) == "Pruned\n  nothing is pruned: why\n\n");
    CHECK(text_of_pruned({}) == "Pruned\n  nothing was left over\n\n");
}

TEST_CASE("plan: as JSON") {
    Plan plan = busy_plan();
    plan.items.erase(plan.items.begin(), plan.items.begin() + 2);
    plan.items.erase(plan.items.begin() + 2, plan.items.end());
    std::ostringstream out;
    const PruneResult pruned{"", {"a.retry.1s"}, {{"b.retry.1s", "12 messages"}}};
    print_plan_json(plan, &pruned, false, out);
    CHECK(nlohmann::json::parse(out.str()) == nlohmann::json::parse(R"({
        "ok": false,
        "broker": {"host": "::1", "port": 5671, "tls": true, "vhost": "shop", "version": "3.13.7", "remarks": []},
        "pruned": {"refused": null, "deleted": ["a.retry.1s"],
                   "kept": [{"queue": "b.retry.1s", "why": "12 messages"}]},
        "items": [
          {"role": "error_binding", "exchange": "dlx", "queue": "errors", "routing_key": "#", "work_queue": null,
           "ladder": null, "state": "in_place", "note": null},
          {"role": "rung", "queue": "email.retry.5s", "work_queue": "email", "ladder": null, "state": "missing",
           "note": null}],
        "on_demand": [{"match": "web.*", "ladder": "all"}],
        "left_over": [
          {"queue": "email.retry.9s", "type": "quorum", "work_queue": "email", "ladder": null, "delay_ms": 9000,
           "messages": 12},
          {"queue": "retryd.old.1m", "type": "classic", "work_queue": null, "ladder": "old", "delay_ms": 60000,
           "messages": null}],
        "management": {"configured": true, "error": null},
        "why_not_compared": null,
        "summary": {"in_place": 1, "missing": 1, "different": 0, "not_compared": 0, "refused": 0, "unknown": 0, "left_over": 2}})"));
    CHECK(out.str().starts_with("{\n  \"ok\": false,"));
}

TEST_CASE("plan: as JSON without what is not known or was not asked for") {
    Plan plan = base_plan();
    plan.management_fault = "no answer";
    std::ostringstream out;
    print_plan_json(plan, nullptr, true, out);
    const auto json = nlohmann::json::parse(out.str());
    CHECK(json.count("pruned") == 0);
    CHECK(json.at("left_over").is_null());
    CHECK(json.at("management").at("error") == "no answer");
    CHECK(json.at("items").at(1).at("note") == "lacks its limit");

    std::ostringstream failed;
    print_failure_json("cannot connect", false, failed);
    CHECK(nlohmann::json::parse(failed.str()) == nlohmann::json{{"ok", false}, {"error", "cannot connect"}});
}

TEST_CASE("plan: what many work queues have all of is one line, and --all names it; what is missing is named") {
    Plan plan;
    for (int n = 0; n < 300; ++n) {
        const std::string queue = "q" + std::to_string(n);
        plan.items.push_back(
            {{ItemRole::parking, queue, "", core::QueueSpec{queue + ".parked", {}, {}}}, State::in_place, ""});
    }
    plan.items[7].state = State::missing;
    const std::string folded = text_of(plan);
    CHECK(folded.find("299 ladders and work queues: all that they need is in place (--all names it)") !=
          std::string::npos);
    CHECK(folded.find("q7.parked") != std::string::npos);
    CHECK(folded.find("q8.parked") == std::string::npos);
    CHECK(text_of(plan, false, true).find("q8.parked") != std::string::npos);
}

TEST_CASE("apply: tells what was missing and is declared, and no more") {
    Plan before;
    for (const State state : {State::missing, State::in_place, State::missing, State::different})
        before.items.push_back(
            {{ItemRole::parking, "q", "", core::QueueSpec{"q" + std::to_string(before.items.size()), {}, {}}},
             state,
             ""});
    using Result = amqp::Declarer::Result;
    const std::vector<amqp::Declarer::Outcome> outcomes{{Result::done, 0, "", {}},
                                                        {Result::done, 0, "", {}},
                                                        {Result::refused, 403, "no", {}},
                                                        {Result::done, 0, "", {}}};
    const auto declared = declared_by(before, outcomes);
    REQUIRE(declared.size() == 1);
    std::ostringstream out;
    print_declared(declared, false, false, out);
    CHECK(out.str() == "Declared\n  parking queue  q0\n\n");
}

}  // namespace retryd::commands::plan_test
