// What check says of ladders by formula, shared ladders, jitter, reasons, ages and exchanges.
#include <nlohmann/json.hpp>

#include "command_line.h"

namespace retryd::commands::check_policy_test {
namespace {

constexpr const char* whole = R"(
errors:
  bind: [{exchange: legacy.dlx}, {exchange: team.topic, routing_key: "dead.*"}]
ladders:
  doubling: {first: 1s, factor: 2, max: 5s, attempts: 5}
  shared: {delays: [5s, 1m x2], return: headers, queue_type: classic}
  spread: {delays: [5s, 1ms], jitter: {width: 20%, lanes: 4}}
queues:
  - {match: email, ladder: doubling, max_age: 24h, on: {expired: retry, maxlen: drop}}
  - {match: fax, ladder: shared, parked: {exchange: team.dlx, routing_key: "dead.{queue}"}}
  - {match: "sms.*", ladder: shared, parked: {exchange: team.dlx}}
  - {match: "webhook.*", ladder: spread, on: {rejected: park, delivery_limit: drop}}
management: {url: http://127.0.0.1:15672, username: eve, password: geheim}
declare: false
)";

nlohmann::json json_of(const std::string& path) {
    return nlohmann::json::parse(run({"check", "--json", "-c", path.c_str()}).out);
}

}  // namespace

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
  queue     retryd.errors  quorum, at most 500 messages or 64MiB in hand

Work queues, the first entry that matches wins
  What was rejected, or reached its delivery limit, is retried; what expired, or was too much for its queue,
  is parked at once, unless the entry says otherwise.

  email  ladder doubling: 5 retries on quorum queues, 17s of waiting in all
    what expired is retried; what was too much for its queue is dropped
    parked at once when its first failure is more than 1d ago
    failure  waits   in
    1        1s      email.retry.1s
    2        2s      email.retry.2s
    3        4s      email.retry.4s
    4-5      5s      email.retry.5s
    6        parked  email.parked

  fax  ladder shared: 3 retries on shared classic queues, 2m5s of waiting in all
    comes home through the exchange retryd.return, with the producer's routing key
    failure  waits   in
    1        5s      retryd.shared.5s
    2-3      1m      retryd.shared.1m
    4        parked  exchange team.dlx, routing key "dead.{queue}"

  sms.*  ladder shared: 3 retries on shared classic queues, 2m5s of waiting in all
    comes home through the exchange retryd.return, with the producer's routing key
    failure  waits   in
    1        5s      retryd.shared.5s
    2-3      1m      retryd.shared.1m
    4        parked  exchange team.dlx, the producer's routing key

  webhook.*  ladder spread: 2 retries on quorum queues, 4s1ms … 5s1ms of waiting in all
    what was rejected is parked; what reached its delivery limit is dropped
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
  9  in any case
  6  per queue that matches webhook.*
  RabbitMQ 4.0 to 4.2: one more for each rung that gets to carry a priority above 4.
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
          nlohmann::json::parse(R"({"fixed":9,"per_match":[{"match":"webhook.*","queues":6}]})"));
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

TEST_CASE("check never prints the management API's password") {
    const TemporaryFile file{whole};
    CHECK(run({"check", "-c", file.path().c_str()}).out.find("geheim") == std::string::npos);
    CHECK(run({"check", "--json", "-c", file.path().c_str()}).out.find("geheim") == std::string::npos);
}

}  // namespace retryd::commands::check_policy_test
