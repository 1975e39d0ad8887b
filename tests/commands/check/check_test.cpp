// The reports of `retryd check`, and the configurations in config/examples, which each keep what their names promise.
#include "commands/check/check.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands/command_line.h"
#include "config/load.h"
#include "core/names.h"
#include "support/catch.h"

namespace retryd::commands::check_test {
namespace {

using namespace std::chrono_literals;

constexpr const char* rich = R"(
broker:
  uris:
    - amqp://retryd:geheim@rabbit-1.example.com/
    - amqps://[::1]/team%2Fa
  username: retryd
  password: geheim
  tls: {verify_hostname: false}
ladders:
  standard: {delays: [5s, 30s, 2m x3, 10m, 30s]}
  fast: {delays: [500ms], queue_type: classic}
queues:
  - {match: email, ladder: standard}
  - {match: "webhook.*", ladder: fast, parked: webhook.graveyard}
  - {match: "fax?", ladder: fast}
)";

constexpr const char* whole = R"(
errors:
  bind: [{exchange: legacy.dlx}, {exchange: team.topic, routing_key: "dead.*"}]
ladders:
  doubling: {first: 1s, factor: 2, max: 5s, attempts: 5}
  shared: {delays: [5s, 1m x2], return: headers, queue_type: classic}
  spread: {delays: [5s, 1ms], jitter: {width: 20%, lanes: 4}}
queues:
  - {match: email, ladder: doubling, max_age: 24h, on: {expired: retry, maxlen: drop},
     parked_age: {max: 30d, archive: /var/lib/retryd}}
  - {match: fax, ladder: shared, parked: {exchange: team.dlx, routing_key: "dead.{queue}"}}
  - {match: "sms.*", ladder: shared, parked: {exchange: team.dlx}}
  - {match: "webhook.*", ladder: spread, on: {rejected: park, delivery_limit: drop},
     parked_age: {max: 36h, drop: true}}
management: {url: http://127.0.0.1:15672, username: eve, password: geheim}
declare: false
)";

nlohmann::json json_of(const std::string& path) {
    return nlohmann::json::parse(run({"check", "--json", "-c", path.c_str()}).out);
}

core::Policy policy_of(const std::string& name) {
    const std::string path = std::string{RETRYD_EXAMPLES} + "/" + name + ".yaml";
    const auto loaded = config::load_file(path, config::process_environment());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) FAIL(config::format(*problems, path));
    return std::get<config::Settings>(loaded).policy;
}

}  // namespace

// Entries with a list of delays, problems, passwords.

TEST_CASE("check prints what a configuration means") {
    const TemporaryFile file{rich};
    const Outcome outcome = run({"check", "-c", file.path().c_str()});
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.out == file.path() + R"( is fine: 3 queue entries.

Brokers, tried in turn
  amqp://rabbit-1.example.com:5672  vhost /       user retryd
  amqps://[::1]:5671                vhost team/a  user retryd  certificate verified against the system's authorities, host name NOT verified

Failures arrive through
  exchange  retryd.errors  fanout
  queue     retryd.errors  quorum, at most 500 messages or 64MiB unacknowledged

Work queues, the first entry that matches wins
  What was rejected, or reached its delivery limit, is retried; what expired, or was too much for its queue,
  is parked at once.

  email  ladder standard: 7 retries on quorum queues, 17m5s of waiting in all
    failure  waits   in
    1        5s      email.retry.5s
    2        30s     email.retry.30s
    3-5      2m      email.retry.2m
    6        10m     email.retry.10m
    7        30s     email.retry.30s
    8        parked  email.parked

  webhook.*  ladder fast: 1 retry on classic queues, 500ms of waiting in all
    failure  waits   in
    1        500ms   {queue}.retry.500ms
    2        parked  webhook.graveyard

  fax?  ladder fast: 1 retry on classic queues, 500ms of waiting in all
    failure  waits   in
    1        500ms   {queue}.retry.500ms
    2        parked  {queue}.parked

Everything else
  Messages of other queues, and those without a readable death, are parked in retryd.parked.

Queues on the broker
  11  in any case
  1   per queue that matches webhook.*
  2   per queue that matches fax?
  RabbitMQ 4.0 to 4.2: one more for each rung that gets a message with a priority above 4.
)");
}

TEST_CASE("check: of many entries that differ in nothing but the queue one is shown, and --all shows each") {
    std::string text = "ladders: {a: {delays: [5s]}, b: {delays: [9s]}}\nbroker: {uri: \"amqp://rabbit\"}\nqueues:\n";
    for (int n = 0; n < 20; ++n)
        text += "  - {match: q" + std::to_string(n) + ", ladder: a}\n";
    const TemporaryFile file{text + "  - {match: other, ladder: b}\n"};
    const Outcome folded = run({"check", "-c", file.path().c_str()});
    CHECK(
        folded.out.find("  In the same way: q1, q2, q3, q4, q5, q6, q7, q8, q9, q10 and 9 more (--all shows each)\n") !=
        std::string::npos);
    CHECK(folded.out.find("q0.retry.5s") != std::string::npos);
    CHECK(folded.out.find("q1.retry.5s") == std::string::npos);
    CHECK(folded.out.find("other.retry.9s") != std::string::npos);
    CHECK(run({"check", "--all", "-c", file.path().c_str()}).out.find("q1.retry.5s") != std::string::npos);
}

TEST_CASE("check says that nothing else is left where an entry matches everything") {
    const Outcome outcome = run({"check", "-c", RETRYD_REFERENCE});
    CHECK(outcome.code == 0);
    CHECK(outcome.out.find("  Messages without a readable death are parked in retryd.parked.\n") != std::string::npos);
    CHECK(outcome.out.find("is fine: 1 queue entry.\n") != std::string::npos);
}

TEST_CASE("check sets its headings off where colour is wanted") {
    const std::string coloured = run({"check", "-c", RETRYD_REFERENCE}, true).out;
    CHECK(coloured.find("\x1b[1mBroker\x1b[0m\n") != std::string::npos);
    CHECK(run({"check", "-c", RETRYD_REFERENCE}, false).out.find('\x1b') == std::string::npos);
}

TEST_CASE("check prints every problem, their number, and 78") {
    const TemporaryFile file{"queues: []\nlog: {level: loud}\n"};
    const Outcome outcome = run({"check", "-c", file.path().c_str()});
    CHECK(outcome.code == 78);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == file.path() + ":1:9: queues: is empty; expected a list of at least one entry\n" + file.path() +
                             ":2:14: log.level: \"loud\" is not one of the choices; expected debug, info, warning or "
                             "error\n2 problems in " +
                             file.path() + "\n");
    CHECK(run({"check", "-c", "/nowhere.yaml"}).err ==
          "/nowhere.yaml: cannot be read (No such file or directory); expected a file that retryd may read\n"
          "1 problem in /nowhere.yaml\n");
}

TEST_CASE("check as JSON says the same to a program") {
    const TemporaryFile file{rich};
    const Outcome outcome = run({"check", "--json", "-c", file.path().c_str()});
    CHECK(outcome.code == 0);
    const auto json = nlohmann::json::parse(outcome.out);
    CHECK(json["ok"] == true);
    CHECK(json["file"] == file.path());
    CHECK(json["brokers"][1] ==
          nlohmann::json::parse(R"({"host":"::1","port":5671,"tls":true,"vhost":"team/a","username":"retryd"})"));
    CHECK(json["errors"] ==
          nlohmann::json::parse(R"({"exchange":"retryd.errors","queue":"retryd.errors","queue_type":"quorum",
                                    "prefetch":500,"prefetch_bytes":67108864,"bind":[]})"));
    REQUIRE(json["queues"].size() == 3);
    const auto& email = json["queues"][0];
    CHECK(email["match"] == "email");
    CHECK(email["glob"] == false);
    CHECK(email["ladder"] == "standard");
    CHECK(email["queue_type"] == "quorum");
    CHECK(email["total_wait"] == "17m5s");
    CHECK(email["total_wait_ms"] == 1'025'000);
    CHECK(email["parked"] == "email.parked");
    REQUIRE(email["attempts"].size() == 7);
    CHECK(email["attempts"][4] ==
          nlohmann::json::parse(R"({"attempt":5,"delay":"2m","delay_ms":120000,"queue":"email.retry.2m"})"));
    CHECK(json["queues"][1]["glob"] == true);
    CHECK(json["catch_all"] == "retryd.parked");
    CHECK(json["management"] == nullptr);
    CHECK(json["http"] == nullptr);
    CHECK(json["declare"] == true);
}

TEST_CASE("check as JSON gives the problems to a program, and to people besides") {
    const TemporaryFile file{"queues: []\n"};
    const Outcome outcome = run({"check", "--json", "-c", file.path().c_str()});
    CHECK(outcome.code == 78);
    const auto json = nlohmann::json::parse(outcome.out);
    CHECK(json["ok"] == false);
    REQUIRE(json["problems"].size() == 1);
    CHECK(json["problems"][0]["line"] == 1);
    CHECK(json["problems"][0]["column"] == 9);
    CHECK(json["problems"][0]["key"] == "queues");
    CHECK(json["problems"][0]["message"] == "is empty; expected a list of at least one entry");
    CHECK(outcome.err.ends_with("1 problem in " + file.path() + "\n"));
}

TEST_CASE("check never prints a password") {
    const TemporaryFile file{rich};
    CHECK(run({"check", "-c", file.path().c_str()}).out.find("geheim") == std::string::npos);
    CHECK(run({"check", "--json", "-c", file.path().c_str()}).out.find("geheim") == std::string::npos);
}

// Ladders by formula, shared ladders, jitter, reasons, ages, exchanges.

TEST_CASE("check prints all that a policy says") {
    const TemporaryFile file{whole};
    const Outcome outcome = run({"check", "-c", file.path().c_str()});
    CHECK(outcome.code == 0);
    CHECK(outcome.out == file.path() + R"( is fine: 4 queue entries.

Broker
  amqp://127.0.0.1:5672  vhost /  user guest

Management API
  http://127.0.0.1:15672  user eve

Failures arrive through
  exchange  retryd.errors  fanout
  exchange  legacy.dlx     bound with routing key "#"; has to be there
  exchange  team.topic     bound with routing key "dead.*"; has to be there
  queue     retryd.errors  quorum, at most 500 messages or 64MiB unacknowledged

Work queues, the first entry that matches wins
  What was rejected, or reached its delivery limit, is retried; what expired, or was too much for its queue,
  is parked at once, unless the entry says otherwise.

  email  ladder doubling: 5 retries on quorum queues, 17s of waiting in all
    what expired is retried; what was too much for its queue is dropped
    parked at once when its first failure is more than 1d ago
    what is parked for more than 30d is archived in /var/lib/retryd and then dropped
    failure  waits   in
    1        1s      email.retry.1s
    2        2s      email.retry.2s
    3        4s      email.retry.4s
    4-5      5s      email.retry.5s
    6        parked  email.parked

  fax  ladder shared: 3 retries on shared classic queues, 2m5s of waiting in all
    returns through the exchange retryd.return, with the producer's routing key
    failure  waits   in
    1        5s      retryd.shared.5s
    2-3      1m      retryd.shared.1m
    4        parked  exchange team.dlx, routing key "dead.{queue}"

  sms.*  ladder shared: 3 retries on shared classic queues, 2m5s of waiting in all
    returns through the exchange retryd.return, with the producer's routing key
    failure  waits   in
    1        5s      retryd.shared.5s
    2-3      1m      retryd.shared.1m
    4        parked  exchange team.dlx, the producer's routing key

  webhook.*  ladder spread: 2 retries on quorum queues, 4s1ms … 5s1ms of waiting in all
    what was rejected is parked; what reached its delivery limit is dropped
    what is parked for more than 1d12h is dropped
    failure  waits               in
    1        4s … 5s in 4 lanes  {queue}.retry.4s
                                 {queue}.retry.4s333ms
                                 {queue}.retry.4s667ms
                                 {queue}.retry.5s
    2        1ms                 {queue}.retry.1ms
    3        parked              {queue}.parked

Everything else
  Messages of other queues, and those without a readable death, are parked in retryd.parked.

Queues on the broker
  retryd declares none of them (declare: false); they have to be there.
  12  in any case
  6   per queue that matches webhook.*
  RabbitMQ 4.0 to 4.2: one more for each rung that gets a message with a priority above 4.
)");
}

TEST_CASE("check as JSON says of a policy what the text says") {
    const TemporaryFile file{whole};
    const auto json = json_of(file.path());
    CHECK(json["errors"]["bind"] ==
          nlohmann::json::parse(
              R"([{"exchange":"legacy.dlx","routing_key":"#"},{"exchange":"team.topic","routing_key":"dead.*"}])"));
    CHECK(json["management"] == nlohmann::json::parse(R"({"url":"http://127.0.0.1:15672","username":"eve"})"));
    CHECK(json["declare"] == false);
    CHECK(json["queue_count"] ==
          nlohmann::json::parse(R"({"fixed":12,"per_match":[{"match":"webhook.*","queues":6}]})"));
    REQUIRE(json["queues"].size() == 4);
}

TEST_CASE("check as JSON has the same fields for every entry") {
    const TemporaryFile file{whole};
    const auto json = json_of(file.path());
    const auto& email = json["queues"][0];
    CHECK(email["return"] == "queue");
    CHECK(email["jitter"] == nullptr);
    CHECK(email["max_age"] == "1d");
    CHECK(email["max_age_ms"] == 86'400'000);
    CHECK(email["on"] ==
          nlohmann::json::parse(R"({"rejected":"retry","delivery_limit":"retry","expired":"retry","maxlen":"drop"})"));
    CHECK(email["least_wait"] == "17s");
    CHECK(email["parked_age"] ==
          nlohmann::json::parse(R"({"max_ms":2592000000,"archive":"/var/lib/retryd","drop":false})"));
    CHECK(json["queues"][1]["parked_age"] == nullptr);
    CHECK(json["queues"][3]["parked_age"] ==
          nlohmann::json::parse(R"({"max_ms":129600000,"archive":null,"drop":true})"));
    const auto& fax = json["queues"][1];
    CHECK(fax["return"] == "headers");
    CHECK(fax["max_age"] == nullptr);
    CHECK(fax["parked"] == nlohmann::json::parse(R"({"exchange":"team.dlx","routing_key":"dead.{queue}"})"));
    CHECK(fax["attempts"][0]["queue"] == "retryd.shared.5s");
    CHECK(json["queues"][2]["parked"] == nlohmann::json::parse(R"({"exchange":"team.dlx","routing_key":null})"));
    const auto& webhook = json["queues"][3];
    CHECK(webhook["jitter"] == nlohmann::json::parse(R"({"width_percent":20,"lanes":4})"));
    CHECK(webhook["total_wait_ms"] == 5001);
    CHECK(webhook["least_wait_ms"] == 4001);
    CHECK(webhook["attempts"][0]["queue"] == "{queue}.retry.5s");
    CHECK(webhook["attempts"][0]["lanes"][1] ==
          nlohmann::json::parse(R"({"delay":"4s333ms","delay_ms":4333,"queue":"{queue}.retry.4s333ms"})"));
    CHECK_FALSE(webhook["attempts"][1].contains("lanes"));
}

TEST_CASE("check tells of which entries the failures come by a source alone") {
    const TemporaryFile file{R"(
ladders: {s: {delays: [1s]}}
queues: [{match: orders, ladder: s, failures: source}, {match: email, ladder: s}]
sources: [{queue: failed, dialect: symfony}]
)"};
    const std::string text = run({"check", "-c", file.path().c_str()}).out;
    CHECK(text.find("\n    its failures come by a source alone; retryd attach leaves it out\n") != std::string::npos);
    CHECK(text.find("come by a source") == text.rfind("come by a source"));
    const auto json = json_of(file.path());
    CHECK(json["queues"][0]["failures"] == "source");
    CHECK(json["queues"][1]["failures"] == "error_queue");
}

TEST_CASE("check never prints the management API's password") {
    const TemporaryFile file{whole};
    CHECK(run({"check", "-c", file.path().c_str()}).out.find("geheim") == std::string::npos);
    CHECK(run({"check", "--json", "-c", file.path().c_str()}).out.find("geheim") == std::string::npos);
}

// config/examples.

TEST_CASE("five-minutes: seven retries in five minutes") {
    const core::Policy policy = policy_of("five-minutes");
    const core::Ladder& ladder = policy.entries.at(0).ladder;
    CHECK(total_wait(ladder) == 5min);
    CHECK(ladder.steps.size() == 7);
    CHECK(policy.entries[0].max_age == 10min);
    const QueueCount count = count_queues(policy);
    CHECK(count.fixed == 5);
    CHECK(count.per_match.at(0).queues == 7);  // two attempts use the same rung
}

TEST_CASE("one-day: eighteen retries in a day") {
    const core::Policy policy = policy_of("one-day");
    CHECK(policy.entries.at(0).on.maxlen == core::Action::retry);
    for (const core::Entry& entry : policy.entries) {
        CHECK(total_wait(entry.ladder) == 24h);
        CHECK(entry.ladder.steps.size() == 18);
    }
    const QueueCount count = count_queues(policy);
    CHECK(count.fixed == 14);
    CHECK(count.per_match.at(0).queues == 9);
}

TEST_CASE("webhooks: many attempts, spread") {
    const core::Policy policy = policy_of("webhooks");
    const core::Ladder& ladder = policy.entries.at(0).ladder;
    CHECK(ladder.steps.size() == 40);
    CHECK(ladder.steps.front() == 2s);
    CHECK(ladder.steps.back() == 1h);
    CHECK(ladder.jitter == core::Jitter{30, 4});
    CHECK(policy.entries[0].on.expired == core::Action::drop);
    CHECK(total_wait(ladder) > 24h);
    CHECK(total_wait(ladder) <= 31h);
    const QueueCount count = count_queues(policy);
    CHECK(count.fixed == 5);
    CHECK(count.per_match.at(0).queues == 12 * 4 + 1);
}

TEST_CASE("one shared ladder: eight queues for all work queues together") {
    const core::Policy policy = policy_of("one-shared-ladder");
    CHECK(policy.entries.at(0).ladder.return_path == core::ReturnPath::headers);
    CHECK(policy.entries[0].ladder.steps.size() == 3);
    CHECK(total_wait(policy.entries[0].ladder) == 16min + 5s);
    CHECK(core::match(policy, "whatever") != nullptr);
    const QueueCount count = count_queues(policy);
    CHECK(count.fixed == 8);
    CHECK(count.per_match.empty());
}

TEST_CASE("there is a test for every example") {
    std::size_t examples = 0;
    for (const auto& file : std::filesystem::directory_iterator{RETRYD_EXAMPLES})
        examples += file.path().extension() == ".yaml" ? 1 : 0;
    CHECK(examples == 4);
}

}  // namespace retryd::commands::check_test
