// What somebody may do who may publish to one exchange of his own and to nothing else: nothing but to his own queue.
// Each test does what an attacker did (docs/security.md).
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "support/broker_user.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/forged.h"
#include "support/management.h"
#include "support/proof.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// Mallory may publish to one exchange, which leads to the queue `own`. Of all else he knows the names.
struct Attacked : Scenario {
    Attacked()
        : name(queue_name("mallory")),
          mallory(name, {.write = "^" + name + "$"}),
          exchange(exchange_name("mallory")),
          own(work_queue("own")) {
        config.key_file.clear();  // as most have it: the key comes from the password
        client.declare_exchange(exchange, "topic");
        client.bind(own, exchange, "#");
    }

    void attack(const std::string& body, const Table& headers, const std::string& key = "mine",
                const std::string& expiration = "") {
        Message message{.body = body, .headers = headers};
        if (!expiration.empty()) message.properties.expiration = expiration;
        Client(mallory.address()).publish(exchange, key, message);
    }

    CommandResult parked(const std::string& arguments) {
        daemon.write(config.yaml());
        return run_retryd("parked " + arguments + " -c " + daemon.config_file());
    }

    /// A team's exchange and a queue that gets what is published to it with that key.
    std::string other_team(const std::string& team, const std::string& key) {
        client.declare_exchange(team, "topic");
        const std::string theirs = plain_queue("theirs");
        client.bind(theirs, team, key);
        return theirs;
    }

    std::string name;
    BrokerUser mallory;
    std::string exchange;
    std::string own;
};

/// An x-death as RabbitMQ 3.x counts it on: with a count of 0 it looks like the first one afterwards.
Value forged_death(const std::string& queue, const std::string& key, const std::string& reason = "rejected") {
    return array({table({{"count", int64(0)},
                         {"reason", longstr(reason)},
                         {"queue", longstr(queue)},
                         {"time", timestamp(4'000'000'000)},
                         {"exchange", longstr("orders")},
                         {"routing-keys", array({longstr(key)})}})});
}

Table claims_of(const std::string& queue) {
    return {{"retryd-queue", longstr(queue)},          {"retryd-attempt", int64(0)},
            {"retryd-exchange", longstr("orders")},    {"retryd-routing-key", longstr("order.paid")},
            {"retryd-user-id", longstr("accountant")}, {"retryd-proof", longstr("0123456789abcdef")}};
}

}  // namespace

TEST_CASE("security: what the broker moved to the catch-all is replayed where x-death says, not where headers say",
          "[one-version]") {
    Attacked s;
    s.retry(s.own, {"50ms"});
    const std::string no_entry = s.plain_queue("victim");
    const std::string with_entry = s.work_queue("victim-with-entry");
    s.retry(with_entry, {"50ms"});
    s.start();
    const std::string key(250, 'k');
    for (const std::string& victim : {no_entry, with_entry}) {
        // They expire and are to be parked. With the long key once more in retryd's headers they do not fit into a
        // frame, so the broker itself moves them.
        for (const bool with_death : {false, true}) {
            Table headers{{"retryd-queue", longstr(victim)}, {"retryd-parked-reason", longstr("attempts-exhausted")}};
            if (with_death) headers.push_back({"x-death", forged_death(victim, "x")});
            headers.push_back({"large", longstr(std::string(130'140, 'v'))});
            s.attack("large", headers, key, "1");
        }
    }
    REQUIRE(s.await_depth(s.config.catch_all, 4));
    const CommandResult listed = s.parked("list");
    INFO(listed.out);
    CHECK(listed.out.find("victim") == std::string::npos);
    CHECK(listed.out.find(s.own) != std::string::npos);
    const CommandResult result = s.parked("replay --from " + s.config.catch_all + " --all --stop-after never");
    INFO(result.out << result.err);
    // On 3.x it is not known where those with a forged x-death died: they stay.
    CHECK(await([&] { return s.depth(s.own) + s.depth(s.config.catch_all) == 4; }));
    CHECK(s.depth(s.own) >= 2);
    CHECK(s.depth(no_entry) == 0);
    CHECK(s.depth(with_entry) == 0);
    s.stop();
}

TEST_CASE("security: by a shared ladder nobody sees a routing key that the producer cannot publish with",
          "[one-version]") {
    Attacked s;
    s.share({s.own}, {"50ms", "60ms"});
    s.start();
    Worker worker(s.own);
    for (const bool with_death : {false, true}) {
        CAPTURE(with_death);
        Table headers = claims_of(s.own);
        if (with_death) headers.push_back({"x-death", forged_death(s.own, "order.paid")});
        s.attack("x", headers);
        worker.reject(worker.receive());
        for (const int attempt : {1, 2}) {
            const Received back = worker.receive();
            CHECK(back.routing_key == "mine");
            CHECK(text_header(back, "retryd-routing-key") == "mine");
            CHECK(find(back.headers, "retryd-user-id") == nullptr);
            CHECK(long_header(back, "retryd-attempt") == attempt);
            attempt == 1 ? worker.reject(back) : worker.ack(back);
        }
    }
    s.stop();
}

TEST_CASE("security: parked by the producer's routing key, nothing goes where the producer cannot publish",
          "[one-version]") {
    Attacked s;
    const std::string team = s.exchange_name("team");
    const std::string theirs = s.other_team(team, "order.#");
    const std::string mine = s.plain_queue("mine");
    s.client.bind(mine, team, "mine");
    s.retry(s.own, {"50ms"});
    s.entry().parked_to = "{exchange: \"" + team + "\"}";
    s.start();
    Worker worker(s.own);
    for (const bool with_death : {false, true}) {
        CAPTURE(with_death);
        Table headers = claims_of(s.own);
        if (with_death) headers.push_back({"x-death", forged_death(s.own, "order.paid")});
        s.attack("x", headers);
        worker.reject(worker.receive());
        worker.reject(worker.receive());
        CHECK(s.take(mine).routing_key == "mine");
    }
    CHECK(s.depth(theirs) == 0);
    s.stop();
}

TEST_CASE("security: a first death in the future, forged in any way, keeps no message younger than max_age",
          "[one-version]") {
    Attacked s;
    s.retry(s.own, {"4s200ms", "30s"});  // stamps are whole seconds
    s.entry().max_age = "3s";            // a busy machine may take some seconds for the first failure
    s.start();
    s.await_declared();
    Worker worker(s.own);
    for (const bool with_death : {false, true}) {
        CAPTURE(with_death);
        Table headers{{"retryd-queue", longstr(s.own)}, {"retryd-first-death", timestamp(4'000'000'000)}};
        if (with_death) headers.push_back({"x-death", forged_death(s.own, "mine")});
        s.attack("x", headers);
        worker.reject(worker.receive());
        worker.reject(worker.receive());
        CHECK(text_header(s.take(s.parking_of(s.own)), "retryd-parked-reason") == "too-old");
    }
    s.stop();
}

TEST_CASE("security: a queue with the name of a rung leads into no other work queue", "[one-version]") {
    Attacked s;
    const std::string victim = s.work_queue("victim");
    s.retry(s.own, {"50ms"});
    s.retry(victim, {"50ms"});
    const std::string like_a_rung = s.work_queue("own.retry.7s", {{"x-message-ttl", int32(1)}});
    s.client.bind(like_a_rung, s.exchange, "rung");
    s.start();
    Worker worker(s.own);
    Table headers = claims_of(victim);
    headers.push_back({"x-death", forged_death(victim, "x")});
    s.attack("x", headers, "rung");
    worker.ack(worker.receive());
    CHECK(s.take(s.config.catch_all).body == "x");
    CHECK(s.depth(victim) == 0);
    s.stop();
}

TEST_CASE("security: a queue with the name of a shared rung or of a detour leads into no other work queue",
          "[one-version]") {
    Attacked s;
    const std::string victim = s.work_queue("victim");
    s.share({victim}, {"50ms"});
    s.start();
    for (const char* name : {"retryd.forged.7s", "retryd.detour.7s"}) {
        s.client.declare_queue(
            name, {{"x-message-ttl", int32(1)}, {"x-dead-letter-exchange", longstr(s.config.error_exchange)}});
        s.client.bind(name, s.exchange, name);
        s.attack(name, claims_of(victim), name);
        CHECK(s.take(s.config.catch_all).body == name);
    }
    CHECK(s.depth(victim) == 0);
    s.stop();
}

TEST_CASE("security: a detour that somebody declared before retryd leads into no other work queue, and is told",
          "[one-version]") {
    Attacked s;
    const std::string detour = "retryd.detour.2s";
    const std::string victim = s.work_queue("victim");
    s.retry(victim, {"50ms"});
    s.retry(s.own, {"50ms"});
    s.mallory.may({"^retryd[.]detour", "^(" + s.name + "|retryd[.]detour.*)$", "^" + s.name + "$"});
    {
        Client mallory(s.mallory.address());
        mallory.declare_queue(detour, {{"x-message-ttl", int32(1)}});
        mallory.bind(detour, s.exchange, "detour");
    }
    // One for all queues would do the same, and takes no permission of his.
    set_policy("detours-die", "^retryd[.]detour", R"({"dead-letter-exchange": ")" + s.config.error_exchange + "\"}");
    s.start();
    REQUIRE(s.daemon.await_log("is there already with another"));
    CHECK(s.daemon.lines_with({"error", detour, "without a proof of retryd's", "delete it", "delete_queue"}) == 1);
    const CommandResult found = run_retryd("doctor -c " + s.daemon.config_file());
    CHECK(found.says({detour, "is there already with another"}));
    CHECK(found.says({"without a proof of retryd's"}));

    s.attack("x", claims_of(victim), "detour");
    REQUIRE(s.await_depth(s.config.catch_all, 1));
    CHECK(s.parked("replay --all --stop-after never").code == 1);
    const Received parked = s.take(s.config.catch_all);
    CHECK(text_header(parked, "retryd-parked-reason") == "no-death");
    CHECK(s.depth(victim) == 0);
    Worker worker(s.own);
    s.attack("honest", {});
    worker.reject(worker.receive());
    CHECK(worker.receive().body == "honest");

    s.stop();
    s.client.delete_queue(detour);
    s.start();
    CHECK(s.daemon.lines_with({"is there already with another"}) == 1);  // of the first run
    CHECK(await([&] { return s.exists(detour); }));
    s.stop();
}

TEST_CASE("security: headers copied to a message for another queue of one's own are none of that queue's",
          "[one-version]") {
    Attacked s;
    const std::string victim = s.work_queue("victim");
    s.retry(victim, {"50ms", "60ms"});
    s.retry(s.own, {"50ms"});
    s.start();
    Worker theirs(victim);
    s.client.publish("", victim, {.body = "genuine"});
    theirs.reject(theirs.receive());
    const Received genuine = theirs.receive();
    theirs.ack(genuine);
    Table copied = without(genuine.headers, {"x-*"});
    Worker worker(s.own);
    s.attack("copy", copied);
    worker.reject(worker.receive());
    const Received back = worker.receive();
    CHECK(text_header(back, "retryd-queue") == s.own);
    CHECK(long_header(back, "retryd-attempt") == 1);
    CHECK(text_header(back, "retryd-exchange") == s.exchange);
    CHECK(s.depth(victim) == 0);
    s.stop();
}

TEST_CASE("security: a parked message goes to no queue that no entry matches, unless it is named", "[one-version]") {
    Attacked s;
    s.retry(s.own, {"50ms"});
    const std::string unknown = s.work_queue("unknown");
    s.start();
    s.client.publish("", unknown, {.body = "x"});
    {
        Worker worker(unknown);
        worker.reject(worker.receive());
        REQUIRE(s.await_depth(s.config.catch_all, 1));
        CHECK(worker.stays_idle(milliseconds(100)));
    }
    const CommandResult refused = s.parked("replay --all --stop-after never");
    CHECK(refused.code == 1);
    CHECK(refused.err.find("no item of `queues:` matches the work queue '" + unknown + "'") != std::string::npos);
    CHECK(s.await_depth(s.config.catch_all, 1));
    CHECK(s.parked("replay --all --stop-after never --to " + unknown).code == 0);
    CHECK(s.take(unknown).body == "x");
    s.stop();
}

// ── The proof itself: what is honest goes on ───────────────────────────────────────────────────────────────────────

TEST_CASE("security: what retryd 0.1 put on a rung comes home, and its attempts count on", "[two-versions]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"100ms", "50ms"});
    s.start();
    Worker worker(work);
    // Once a message has come back from it, the rung is declared to its end. What somebody publishes to a quorum queue
    // in the milliseconds before that is taken, and does not expire before the next one comes (4.0.5: the queue's own
    // configuration arrives after it, and its timer is lost). retryd publishes after the declare-ok.
    s.client.publish("", work, {.body = "first"});
    worker.reject(worker.receive());
    worker.ack(worker.receive());
    s.client.publish("", s.rung(work, "100ms"),
                     {.body = "old",
                      .headers = {{"retryd-queue", longstr(work)},
                                  {"retryd-attempt", int64(1)},
                                  {"retryd-routing-key", longstr("order.paid")}},
                      .properties = {.delivery_mode = 2}});
    worker.reject(worker.receive());
    const Received back = worker.receive();
    CHECK(long_header(back, "retryd-attempt") == 2);
    CHECK(text_header(back, "retryd-routing-key") == work);
    worker.reject(back);
    CHECK(text_header(s.take(s.parking_of(work)), "retryd-parked-reason") == "attempts-exhausted");
    s.stop();
}

TEST_CASE("security: keys from a file: a former one is believed, and with another one only attempts and age are",
          "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"50ms", "60ms", "70ms"});
    s.config.key_file = (std::filesystem::temp_directory_path() / s.queue_name("key")).string();
    const std::string first(32, 'a');
    const std::string second(32, 'b');
    const std::string third(32, 'c');
    const auto use = [&](const std::string& keys) { std::ofstream(s.config.key_file) << keys; };
    const std::string events = s.exchange_name("events");
    s.client.declare_exchange(events, "topic");
    s.client.bind(work, events, "#");
    use(first + "\n");
    s.start();
    Worker worker(work);
    s.client.publish(events, "order.paid", {.body = "x"});
    worker.reject(worker.receive());
    const Received once = worker.receive();
    CHECK(text_header(once, "retryd-routing-key") == "order.paid");

    use(second + "\n" + first + "\n");
    s.reload();
    REQUIRE(await([&] { return s.daemon.lines_with({"reloaded", "errors.key_file", "connection"}) == 1; }));
    REQUIRE(await([&] { return s.daemon.lines_with({"connected to"}) == 2; }));
    worker.reject(once);
    const Received twice = worker.receive();
    CHECK(long_header(twice, "retryd-attempt") == 2);
    CHECK(text_header(twice, "retryd-routing-key") == "order.paid");
    CHECK(text_header(twice, "retryd-proof") != text_header(once, "retryd-proof"));

    use(third + "\n");
    s.reload();
    REQUIRE(await([&] { return s.daemon.lines_with({"reloaded", "errors.key_file", "connection"}) == 2; }));
    REQUIRE(await([&] { return s.daemon.lines_with({"connected to"}) == 3; }));
    worker.reject(twice);
    const Received last = worker.receive();
    CHECK(long_header(last, "retryd-attempt") == 3);
    CHECK(text_header(last, "retryd-routing-key") == work);
    worker.ack(last);
    std::filesystem::remove(s.config.key_file);
    s.stop();
}

TEST_CASE("security: doctor finds who may write to the error exchange and needs it for nothing", "[one-version]") {
    Attacked s;
    s.retry(s.own, {"50ms"});
    s.config.management_url = management_url();
    s.start();
    const auto doctor = [&] { return run_retryd("doctor -c " + s.daemon.config_file()); };
    s.daemon.write(s.config.yaml());
    CHECK_FALSE(doctor().says({"may write to exchange"}));
    s.mallory.may({.write = "errors$"});
    const std::string told = "Warning: user '" + s.name + "' may write to exchange '" + s.config.error_exchange + "'";
    CommandResult found;
    CHECK(await([&] { return (found = doctor()).says({told}); }));  // a busy management API may not answer at once
    CHECK(found.code == 2);
    CHECK(found.says({told}));
    s.mallory.may({.configure = "own$", .write = "errors$"});  // as who declares that queue needs it
    CHECK_FALSE(doctor().says({"may write to exchange"}));
    s.stop();
}
