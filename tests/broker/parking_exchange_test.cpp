// Parking to a team's exchange, such as the dead-letter exchange that it had before retryd.
#include "support/catch.h"
#include "support/forged.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/unsafe_text.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A team's exchange with one queue bound to it, and work queues whose messages are parked there after one retry.
struct Team : Scenario {
    Team() : exchange(exchange_name("team-dlx")), morgue(plain_queue("morgue")) {}

    void open_exchange(const std::string& key) {
        client.declare_exchange(exchange, "topic");
        client.bind(morgue, exchange, key);
    }

    std::string parking_work_queue(const std::string& name, const std::string& more_keys) {
        const std::string work = work_queue(name);
        retry(work, {"50ms"});
        entry().parked_to = "{exchange: \"" + exchange + "\"" + more_keys + "}";
        return work;
    }

    /// Rejects the message twice, since the ladder has one rung.
    void use_up(const std::string& work, const std::string& to, const std::string& key) {
        Worker worker(work);
        client.publish(to, key, {.body = work});
        worker.reject(worker.receive());
        worker.reject(worker.receive());
    }
    void use_up(const std::string& work) { use_up(work, "", work); }

    /// As if they had died in that queue of a reason that is not retried, its name their routing key: on 3.x the one
    /// that they are delivered with.
    void expire(const std::string& work, int messages) {
        for (int i = 0; i < messages; ++i)
            client.send(config.error_exchange, work,
                        {.body = std::to_string(i), .headers = {{"x-death", array({death_entry(work, "expired")})}}});
        client.await_confirms();
    }

    std::string exchange;
    std::string morgue;
};

void check_parked(const Received& parked, const std::string& work) {
    CHECK(parked.body == work);
    CHECK(text_header(parked, "retryd-parked-reason") == "attempts-exhausted");
    CHECK(text_header(parked, "retryd-queue") == work);
}

}  // namespace

TEST_CASE("parked to an exchange: under a fixed key, one with the queue's name, or the producer's own",
          "[one-version]") {
    Team s;
    s.open_exchange("#");
    const std::string fixed = s.parking_work_queue("fixed", ", routing_key: team.parked");
    const std::string named = s.parking_work_queue("named", ", routing_key: \"parked.{queue}\"");
    const std::string own = s.parking_work_queue("own", "");
    const std::string events = s.exchange_name("events");
    s.client.declare_exchange(events, "topic");
    s.client.bind(own, events, "order.*");
    s.start();

    s.use_up(fixed);
    const Received first = s.take(s.morgue);
    check_parked(first, fixed);
    CHECK(first.exchange == s.exchange);
    CHECK(first.routing_key == "team.parked");

    s.use_up(named);
    const Received second = s.take(s.morgue);
    check_parked(second, named);
    CHECK(second.routing_key == "parked." + named);

    s.use_up(own, events, "order.created");
    const Received third = s.take(s.morgue);
    check_parked(third, own);
    CHECK(third.routing_key == "order.created");
    for (const std::string& work : {fixed, named, own})
        CHECK_FALSE(s.exists(s.parking_of(work)));
    s.stop();
}

TEST_CASE("a parking exchange that does not exist: the catch-all takes its messages, the log says so, others go on",
          "[one-version]") {
    Team s;
    const std::string work = s.parking_work_queue("work", "");
    const std::string neighbour = s.work_queue("neighbour");
    s.retry(neighbour, {"50ms"});
    s.start();
    s.use_up(work);
    check_parked(s.take(s.config.catch_all), work);
    CHECK(s.daemon.lines_with({s.exchange, "error"}) >= 1);
    s.use_up(work);
    check_parked(s.take(s.config.catch_all), work);
    s.use_up(neighbour);
    check_parked(s.take(s.parking_of(neighbour)), neighbour);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("a parking exchange that leads nowhere: the catch-all after one refusal, and others go on", "[one-version]") {
    Team s;
    s.open_exchange("only.this.key");
    const std::string work = s.parking_work_queue("work", ", routing_key: another.key");
    const std::string neighbour = s.work_queue("neighbour");
    s.retry(neighbour, {"50ms"});
    s.start();
    s.use_up(work);
    s.use_up(neighbour);
    check_parked(s.take(s.parking_of(neighbour)), neighbour);
    check_parked(s.take(s.config.catch_all), work);
    CHECK(s.daemon.lines_with({s.exchange}) >= 1);
    s.use_up(work);
    check_parked(s.take(s.config.catch_all), work);
    CHECK(s.depth(s.morgue) == 0);
    s.stop();
    CHECK(s.depth(s.config.error_queue) == 0);
}

TEST_CASE("a message is not lost because another entry parks with the routing key that its producer used",
          "[one-version]") {
    Team s;
    s.open_exchange("only.this.key");
    const std::string own = s.parking_work_queue("own", "");
    s.parking_work_queue("fixed", ", routing_key: dead");
    const std::string events = s.exchange_name("events");
    s.client.declare_exchange(events, "topic");
    s.client.bind(own, events, "dead");
    s.start();
    s.use_up(own, events, "dead");
    check_parked(s.take(s.config.catch_all), own);
    s.stop();
}

TEST_CASE("a full queue behind one key of a parking exchange keeps no other work queue's messages out of it",
          "[one-version]") {
    constexpr int messages = 300;
    Team s;
    const std::string full =
        s.plain_queue("full", {{"x-max-length", int32(1)}, {"x-overflow", longstr("reject-publish")}});
    const std::string bad = s.parking_work_queue("bad", "");
    const std::string good = s.parking_work_queue("good", "");
    s.client.declare_exchange(s.exchange, "topic");
    s.client.bind(full, s.exchange, bad);
    s.client.bind(s.morgue, s.exchange, good);
    s.start();
    s.client.publish("", full, {.body = "filling"});
    s.expire(bad, messages);
    s.expire(good, messages);
    CHECK(s.await_depth(s.morgue, messages));
    CHECK(s.await_depth(s.config.catch_all, messages));
    // Told once; where the broker took its time for the first refusal, as silence.
    const auto told = [&](const std::string& how) {
        return s.daemon.lines_with({"warning", how, s.exchange, "(work queue '" + bad + "')"});
    };
    CHECK(await([&] { return told("refused (nacked)") + told("does not confirm messages") == 1; }));
    CHECK(s.daemon.lines_with({"refused (nacked)", s.exchange, "(work queue '" + bad + "')"}) >= 1);
    CHECK(s.daemon.lines_with({"refused (nacked)", "(work queue '" + good + "')"}) == 0);
    s.stop();
    CHECK(s.depth(s.morgue) == messages);
    CHECK(s.depth(s.config.catch_all) == messages);
}

TEST_CASE("a parking exchange that nobody may publish to: the catch-all takes its messages, and others go on",
          "[one-version]") {
    Team s;
    declare_internal_exchange(s.exchange);
    const std::string work = s.parking_work_queue("work", "");
    const std::string neighbour = s.work_queue("neighbour");
    s.retry(neighbour, {"50ms"});
    s.start();
    s.use_up(work);
    s.use_up(neighbour);
    check_parked(s.take(s.parking_of(neighbour)), neighbour);
    check_parked(s.take(s.config.catch_all), work);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("a parking exchange that leads back to the error queue: no message runs round and round", "[one-version]") {
    Team s;
    s.client.declare_exchange(s.exchange, "topic");
    const std::string work = s.parking_work_queue("work", "");
    s.start();
    s.client.bind(s.config.error_queue, s.exchange, "#");
    s.use_up(work);
    const Received parked = s.take(s.config.catch_all);
    check_parked(parked, work);
    CHECK(long_header(parked, "retryd-attempt") <= 4);
    CHECK(s.daemon.lines_with({"warning", "a message that has been parked before", s.exchange}) == 1);
    s.stop();
}

TEST_CASE("a forged mark of a parked message keeps no other out of a parking exchange", "[one-version]") {
    Team s;
    s.client.declare_exchange(s.exchange, "topic");
    const std::string work = s.parking_work_queue("work", "");
    const std::string theirs = s.plain_queue("theirs");
    s.client.bind(theirs, s.exchange, "#");
    s.start();
    s.client.publish(s.config.error_exchange, "",
                     {.body = "forged",
                      .headers = {{"x-death", array({death_entry(work, "expired")})},
                                  {"retryd-parked-reason", longstr("attempts-exhausted")}}});
    CHECK(s.take(s.config.catch_all).body == "forged");
    s.use_up(work);
    check_parked(s.take(theirs), work);
    s.stop();
}

TEST_CASE(
    "keys that a producer makes up and that lead nowhere: a line of the log, and the exchange stays open to others",
    "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    const std::string dlx = s.exchange_name("team.dlx");
    s.client.declare_exchange(dlx, "direct");
    const std::string graveyard = s.plain_queue("graveyard");
    s.client.bind(graveyard, dlx, "honest");
    s.retry(work, {"50ms"});
    s.entry().parked_to = "{exchange: \"" + dlx + "\"}";
    s.start();
    constexpr int forged = 60;
    const auto exhausted = [&](const std::string& key) {
        Value entry = death_entry(work, "rejected", 9);
        for (Field& field : std::get<Table>(entry.data))
            if (field.name == "routing-keys") field.value = array({longstr(key)});
        return Message{.body = key, .headers = {{"x-death", array({entry})}}};
    };
    const auto send = [&](const std::string& key) { s.client.publish(s.config.error_exchange, key, exhausted(key)); };
    for (int i = 0; i < forged; ++i) {
        send("made up " + std::to_string(i) + "\x1b[2J\u202e");
        if (i % 3 == 0) send("honest");
    }
    CHECK(s.await_depth(s.config.catch_all, forged));
    CHECK(s.await_depth(graveyard, forged / 3));
    s.stop();  // the log is read several times below, and must not grow in between
    CHECK(s.daemon.lines_with({"error", "leads to no queue"}) == 1);
    CHECK(s.daemon.lines_with({"warning"}) == s.daemon.lines_with({"warning", "begin to be parked"}) +
                                                  s.daemon.lines_with({"warning", "runs RabbitMQ 3.8"}));
    CHECK(s.daemon.lines_with({"debug", "leads to no queue"}) == forged - 1);
    CHECK(s.daemon.lines_with({"led to no queue"}) == 0);
    CHECK_FALSE(unsafe_part(s.daemon.log()).has_value());
}
