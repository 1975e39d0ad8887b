#include <nlohmann/json.hpp>

#include "command_line.h"

namespace retryd::commands::check_test {
namespace {

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

}  // namespace

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
  queue     retryd.errors  quorum, at most 500 messages or 64MiB in hand

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
  8  in any case
  1  per queue that matches webhook.*
  2  per queue that matches fax?
  RabbitMQ 4.0 to 4.2: one more for each rung that gets to carry a priority above 4.
)");
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

}  // namespace retryd::commands::check_test
