// Misconfigured bindings, policies, globs and consumers around work queues, as set-ups of frameworks have them: each is
// made on purpose, found by `retryd doctor`, mended as the finding says, and no longer found.
#include <atomic>
#include <regex>
#include <thread>

#include "support/broker_user.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/other_protocols.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

struct Misconfigured : Scenario {
    Misconfigured() : legacy(exchange_name("legacy.dlx")) { config.management_url = management_url(); }

    /// Waits until everything is declared, and sets the guard.
    void start() {
        Scenario::start();
        await_declared();
        run("attach --apply");
    }

    CommandResult run(const std::string& command) {
        daemon.write(config.yaml());
        return run_retryd(command + " -c " + daemon.config_file());
    }
    /// Before 3.10 there is always a warning of the broker's version.
    void finds_nothing() {
        const int code = has_quorum_ttl() ? 0 : 2;
        CommandResult result;
        // The management API tells of a change a moment later where the broker is busy.
        await([&] { return (result = run("doctor")).code == code && !result.says({"Problem: "}); });
        INFO(result.out);
        CHECK(result.code == code);
        CHECK_FALSE(result.says({"Problem: "}));
    }
    bool finds(const std::string& code, const std::string& text = "") {
        const CommandResult result = run("doctor");
        INFO(result.out);
        return result.code == 2 && result.says({text, "[" + code + "]"});
    }
    bool soon_finds(const std::string& code, const std::string& text) {
        return await([&] { return finds(code, text); });
    }
    bool soon_finds_no(const std::string& code) {
        return await([&] { return !finds(code); });
    }
    /// The text of doctor or attach has it as it can be pasted.
    std::string printed(const std::string& command, const std::regex& what) {
        const std::string out = run(command).out;
        INFO(out);
        std::smatch match;
        REQUIRE(std::regex_search(out, match, what));
        return match[0];
    }

    std::string legacy_work_queue(const std::string& name, Table more = {}) {
        more.push_back({"x-dead-letter-exchange", longstr(legacy)});
        return plain_queue(name, more);
    }

    /// A message that is rejected comes back as the second attempt, and again as the third.
    void comes_back_twice(const std::string& queue, const std::string& exchange, const std::string& key) {
        Worker worker(queue);
        client.publish(exchange, key, {.body = "x"});
        Received message = worker.receive();
        for (int attempt = 1; attempt <= 2; ++attempt) {
            worker.reject(message);
            message = worker.receive();
            CHECK(long_header(message, "retryd-attempt") == attempt);
        }
        worker.ack(message);
    }

    std::string legacy;
};

}  // namespace

TEST_CASE(
    "misconfiguration: a direct exchange bound with # is found, and attach --apply binds it with the queue's keys",
    "[one-version]") {
    Misconfigured s;
    s.client.declare_exchange(s.legacy, "direct");
    const std::string orders = s.legacy_work_queue("orders");
    const std::string dead = s.legacy_work_queue("dead", {{"x-dead-letter-routing-key", longstr("dead.key")}});
    const std::string app = s.exchange_name("app");
    s.client.declare_exchange(app, "direct");
    s.client.bind(orders, app, "order.created");
    s.retry(orders, {"100ms", "100ms", "100ms"});
    s.retry(dead, {"100ms", "100ms", "100ms"});
    s.config.error_bindings = "[{exchange: \"" + s.legacy + "\"}]";
    s.Scenario::start();
    CHECK(s.soon_finds("unmatched-dead-letters", "'" + dead + "': its dead-letter exchange \"" + s.legacy));
    const CommandResult printed = s.run("attach");
    INFO(printed.out);
    CHECK(printed.code == 2);
    CHECK(printed.says({"0 attached, 2 to attach; ", "3 bindings to make"}));
    CHECK(printed.says({"with the routing key 'dead.key': new"}));
    const CommandResult applied = s.run("attach --apply");
    INFO(applied.out);
    CHECK(applied.code == 0);
    CHECK(applied.says({"3 of 3 bindings made; all are attached now"}));
    CHECK(s.soon_finds_no("unmatched-dead-letters"));
    CHECK(s.run("attach").says({"2 attached; nothing to set"}));
    s.comes_back_twice(orders, app, "order.created");
    s.comes_back_twice(dead, "", dead);
    s.stop();
}

TEST_CASE("misconfiguration: the item for errors.bind that doctor prints binds a direct exchange so that it matches",
          "[one-version]") {
    Misconfigured s;
    s.client.declare_exchange(s.legacy, "direct");
    const std::string orders = s.legacy_work_queue("orders");
    s.retry(orders, {"100ms", "100ms", "100ms"});
    s.start();
    CHECK(s.soon_finds("fixed-dead-letter-exchange", orders));
    const std::string item = s.printed("doctor", std::regex(R"(\{exchange: "[^"]+", routing_key: "[^"]+"\})"));
    s.config.error_bindings = "[" + item + "]";
    s.reload();
    REQUIRE(await([&] { return s.run("doctor").code == (s.has_quorum_ttl() ? 0 : 2); }));
    s.finds_nothing();
    s.comes_back_twice(orders, "", orders);
    s.stop();
}

TEST_CASE("misconfiguration: topic, fanout and headers exchanges of errors.bind take all, and nothing is found",
          "[one-version]") {
    Misconfigured s;
    std::vector<std::string> queues;
    for (const char* type : {"topic", "fanout", "headers"}) {
        const std::string exchange = s.exchange_name(type);
        s.client.declare_exchange(exchange, type);
        queues.push_back(s.plain_queue(std::string("of.") + type, {{"x-dead-letter-exchange", longstr(exchange)}}));
        s.retry(queues.back(), {"100ms", "100ms", "100ms"});
        std::string& bind = s.config.error_bindings;
        bind += (bind.empty() ? "[{exchange: \"" : ", {exchange: \"") + exchange + "\"}";
    }
    s.config.error_bindings += "]";
    s.start();
    s.finds_nothing();
    for (const std::string& queue : queues)
        s.comes_back_twice(queue, "", queue);
    s.stop();
}

TEST_CASE(
    "misconfiguration: a topic exchange bound with a key that matches nothing is found until it is bound with one",
    "[one-version]") {
    Misconfigured s;
    s.client.declare_exchange(s.legacy, "topic");
    const std::string orders = s.legacy_work_queue("orders");
    s.retry(orders, {"100ms", "100ms", "100ms"});
    s.config.error_bindings = "[{exchange: \"" + s.legacy + "\", routing_key: \"failed.#\"}]";
    s.Scenario::start();
    CHECK(s.soon_finds("unmatched-dead-letters", orders));
    CHECK(s.run("attach --apply").code == 0);
    CHECK(s.soon_finds_no("unmatched-dead-letters"));
    s.comes_back_twice(orders, "", orders);
    s.stop();
}

TEST_CASE("misconfiguration: who may not bind is told so, and nothing is said to be attached", "[one-version]") {
    Misconfigured s;
    s.client.declare_exchange(s.legacy, "direct");
    const std::string orders = s.legacy_work_queue("orders");
    s.retry(orders, {"1h"});
    s.config.error_bindings = "[{exchange: \"" + s.legacy + "\"}]";
    s.start();
    REQUIRE(s.run("attach --apply").code == 0);
    s.client.unbind(s.config.error_queue, s.legacy, orders);
    const BrokerUser user(s.queue_name("reader"), {}, "policymaker");
    s.config.management_url = "";
    s.daemon.write(s.config.yaml() + user.management_line());
    const CommandResult refused = run_retryd("attach --apply -c " + s.daemon.config_file());
    INFO(refused.out);
    CHECK(refused.code == 1);
    CHECK(refused.says({"not bound", "needs the permissions to write to the queue and to read from the exchange"}));
    s.stop();
}

TEST_CASE("misconfiguration: a TTL queue behind the dead-letter exchange multiplies, and is found until it is unbound",
          "[one-version]") {
    Misconfigured s;
    s.client.declare_exchange(s.legacy, "fanout");
    const std::string orders = s.legacy_work_queue("orders");
    const std::string retry = s.plain_queue("orders-waits", {{"x-message-ttl", int32(100)},
                                                             {"x-dead-letter-exchange", longstr("")},
                                                             {"x-dead-letter-routing-key", longstr(orders)}});
    s.client.bind(retry, s.legacy);
    s.retry(orders, {"100ms", "100ms"});
    s.config.error_bindings = "[{exchange: \"" + s.legacy + "\"}]";
    s.start();
    CHECK(s.soon_finds("sent-back-twice", "also goes to queue '" + retry + "'"));
    CHECK(s.run("doctor").says({"comes back from there as well as from retryd", "up to 4 at the end of its ladder"}));
    {
        Worker worker(orders);
        s.client.publish("", orders, {.body = "one"});
        worker.reject(worker.receive());
        worker.ack(worker.receive());
        worker.ack(worker.receive());  // both ways
    }
    s.client.unbind(retry, s.legacy);
    s.finds_nothing();
    Worker worker(orders);
    s.client.publish("", orders, {.body = "one"});
    worker.reject(worker.receive());
    worker.ack(worker.receive());
    CHECK(worker.stays_idle(milliseconds(1'000)));
    s.stop();
}

TEST_CASE("misconfiguration: a queue beside the error queue gets copies, and is found until it is unbound",
          "[one-version]") {
    Misconfigured s;
    const std::string orders = s.plain_queue("orders");
    const std::string copies = s.plain_queue("copies");
    s.retry(orders, {"1h"});
    s.start();
    s.finds_nothing();
    s.client.bind(copies, s.config.error_exchange);
    CHECK(s.soon_finds("copied-elsewhere", "also goes to queue '" + copies + "'"));
    s.client.unbind(copies, s.config.error_exchange);
    s.finds_nothing();
    s.stop();
}

TEST_CASE("misconfiguration: a consumer with no-ack is found until it consumes with acks", "[one-version]") {
    Misconfigured s;
    const std::string orders = s.plain_queue("orders");
    s.retry(orders, {"1h"});
    s.start();
    {
        Worker sound(orders);
        s.finds_nothing();
    }
    {
        Client careless(broker_address());
        careless.consume_without_acks(orders);
        // The management API lists a consumer some seconds later.
        CHECK(await([&] { return s.finds("no-ack-consumer", orders); }, patience, milliseconds(500)));
    }
    CHECK(await([&] { return s.run("doctor").code != 2 || !s.has_quorum_ttl(); }, patience, milliseconds(500)));
    CHECK(s.soon_finds_no("no-ack-consumer"));
    s.stop();
}

TEST_CASE("misconfiguration: a consumer that requeues for ever is found until it rejects", "[slow][one-version]") {
    Misconfigured s;
    const std::string orders = s.plain_queue("orders");
    s.retry(orders, {"1h"});
    s.start();
    Worker worker(orders);
    s.client.publish("", orders, {.body = "x"});
    std::atomic<bool> loops{true};
    std::thread endless([&] {
        while (loops) {
            const auto message = worker.client.next(milliseconds(100));
            if (message) worker.client.nack(message->tag, true);
        }
    });
    const bool found = await([&] { return s.finds("redelivery-loop", orders); }, seconds(60), milliseconds(500));
    loops = false;
    endless.join();
    CHECK(found);
    worker.reject(worker.receive());
    CHECK(await([&] { return !s.finds("redelivery-loop"); }, seconds(60), milliseconds(500)));
    s.finds_nothing();
    s.stop();
}

TEST_CASE("misconfiguration: what a glob names besides work queues is found, until the glob names work queues alone",
          "[one-version]") {
    Misconfigured s;
    const std::string orders = s.plain_queue("app.orders");
    s.retry(s.queue_name("*"), {"1h"});
    s.start();
    s.finds_nothing();
    s.client.declare_auto_delete_queue(s.queue_name("events"));
    s.plain_queue("answers", {{"x-expires", int32(3'600'000)}});
    s.plain_queue("waits", {{"x-message-ttl", int32(3'600'000)},
                            {"x-dead-letter-exchange", longstr("")},
                            {"x-dead-letter-routing-key", longstr(orders)}});
    const CommandResult result = s.run("doctor");
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says({"[plumbing-under-glob]"}));
    CHECK_FALSE(result.says({"Problem: "}));
    for (const char* name : {"events", "answers", "waits"})
        CHECK(result.out.find(s.queue_name(name)) != std::string::npos);
    const CommandResult attach = s.run("attach");
    INFO(attach.out);
    CHECK(attach.code == 0);
    CHECK(attach.says({"Hint: glob '" + s.queue_name("*") + "' leaves out "}));
    CHECK_FALSE(attach.says({"errors.bind"}));
    s.config.entries.front().match = s.queue_name("app.*");
    s.reload();
    REQUIRE(s.daemon.await_log("reloaded"));
    s.run("attach --apply");
    s.finds_nothing();
    s.stop();
}

TEST_CASE(
    "misconfiguration: the policy for a glob leaves out what would dead-letter by itself, until it is a work queue",
    "[one-version]") {
    Misconfigured s;
    const std::string orders = s.plain_queue("app.orders");
    const std::string events =
        s.plain_queue("app.events", {{"x-expires", int32(3'600'000)}, {"x-message-ttl", int32(100)}});
    const std::string delays = s.plain_queue("app_celery_delayed_3");
    s.retry(s.queue_name("*"), {"1h"});
    s.start();
    const auto reject_one = [&](const std::string& queue) {
        s.client.publish("", queue, {.body = queue});
        s.client.reject(s.client.get(queue).value().tag, false);
    };
    reject_one(orders);
    REQUIRE(s.await_depth(Scenario::rung(orders, "1h"), 1));  // the policy is in effect
    reject_one(delays);
    s.client.publish("", events, {.body = "expires"});
    REQUIRE(s.await_depth(events, 0));
    s.client.publish("", s.config.error_queue, {.body = "the last one"});
    CHECK(s.take(s.config.catch_all).body == "the last one");
    CHECK(s.run("attach").code == 0);
    s.client.delete_queue(events);
    CHECK(s.run("attach").code == 0);  // it may come back
    s.plain_queue("app.events");
    CHECK(s.run("attach").code == 2);
    CHECK(s.run("attach --apply").code == 0);
    CHECK(s.run("attach").code == 0);
    s.stop();
}

TEST_CASE("misconfiguration: a work queue that goes by itself is found until it is one that stays", "[one-version]") {
    Misconfigured s;
    const std::string orders = s.plain_queue("orders", {{"x-expires", int32(3'600'000)}});
    s.retry(orders, {"1h"});
    s.start();
    CHECK(s.soon_finds("short-lived-queue", orders));
    s.client.delete_queue(orders);
    s.plain_queue("orders");
    s.finds_nothing();
    s.stop();
}

TEST_CASE("misconfiguration: attach says where return: headers keeps what consumers tell messages apart by",
          "[one-version]") {
    Misconfigured s;
    const std::string events = s.exchange_name("events");
    s.client.declare_exchange(events, "topic");
    const std::string many = s.plain_queue("many");
    const std::string one = s.plain_queue("one");
    s.client.bind(many, events, "order.*");
    s.client.bind(one, events, "order.created");
    s.retry(many, {"1h"});
    s.retry(one, {"1h"});
    s.start();
    const CommandResult attach = s.run("attach");
    INFO(attach.out);
    CHECK(attach.code == 0);
    CHECK(attach.says({"Hint: queue '" + many + "' is bound with the keys order.*", "`return: headers`"}));
    CHECK_FALSE(attach.says({"queue '" + one + "' is bound"}));
    s.finds_nothing();
    s.config.ladders.front().return_path = "headers";
    CHECK_FALSE(s.run("attach").says({"Hint: "}));
    s.stop();
}

TEST_CASE("misconfiguration: what a glob leaves out is not retried; by its very name, and with work queues, it is",
          "[one-version]") {
    Misconfigured s;
    const Table dead_letters{{"x-dead-letter-exchange", longstr(s.config.error_exchange)}};
    Table expires = dead_letters;
    expires.push_back({"x-expires", int32(3'600'000)});
    const std::string answers = s.plain_queue("app.answers", expires);
    const std::string named = s.plain_queue("app.named", expires);
    const std::string events = s.queue_name("app.events");
    s.client.declare_auto_delete_queue(events, dead_letters);
    const std::string work = s.work_queue("app.work");
    s.retry(named, {"100ms"});
    s.retry(s.queue_name("app.*"), {"100ms"});
    s.start();
    const auto reject_one = [&](const std::string& queue) {
        s.client.publish("", queue, {.body = queue});
        const std::optional<Received> message = s.client.get(queue);
        REQUIRE(message.has_value());
        s.client.reject(message->tag, false);
    };
    for (const std::string& queue : {answers, events}) {
        CAPTURE(queue);
        reject_one(queue);
        const Received parked = s.take(s.config.catch_all);
        CHECK(parked.body == queue);
        CHECK(text_header(parked, "retryd-parked-reason") == "no-entry");
        CHECK(text_header(parked, "retryd-queue") == queue);
        CHECK_FALSE(s.exists(Scenario::rung(queue, "100ms")));
        CHECK_FALSE(s.exists(Scenario::parking_of(queue)));
    }
    for (const std::string& queue : {named, work}) {
        CAPTURE(queue);
        reject_one(queue);
        CHECK(long_header(s.take(queue), "retryd-attempt") == 1);
    }
    s.stop();
}

TEST_CASE("misconfiguration: without an answer of the management API a glob's work queues are retried all the same",
          "[one-version]") {
    Misconfigured s;
    const std::string work = s.work_queue("app.work");
    s.retry(s.queue_name("app.*"), {"100ms"});
    s.config.management_url = "http://127.0.0.1:1";
    s.Scenario::start();
    s.client.publish("", work, {.body = "x"});
    Worker worker(work);
    worker.reject(worker.receive());
    CHECK(long_header(worker.receive(), "retryd-attempt") == 1);
    s.stop();
}

TEST_CASE("misconfiguration: producers and consumers of AMQP 1.0 are a note, which changes no exit code",
          "[one-version][since-4.0]") {
    Misconfigured s;
    const std::string orders = s.plain_queue("orders");
    const std::string mails = s.plain_queue("mails");
    s.retry(orders, {"1h"});
    s.retry(mails, {"1h"});
    const std::string shop = s.exchange_name("shop");
    s.client.declare_exchange(shop, "direct");
    s.client.bind(mails, shop, "mail");
    s.start();
    s.finds_nothing();
    CHECK_FALSE(s.run("doctor").says({"AMQP 1.0"}));
    std::string trouble;
    std::jthread consumer([&] {
        try {
            amqp10::take_and_accept(orders);
        } catch (const std::exception& error) {
            trouble = error.what();  // else it would end the whole program
        }
    });
    const bool noted = await([&] { return s.run("doctor").says({"Note: ", orders + " speak AMQP 1.0"}); });
    s.client.publish("", orders, {.body = "the last one"});
    consumer.join();
    INFO(trouble);
    CHECK(trouble.empty());
    CHECK(noted);  // and for some minutes after: so long RabbitMQ lists a consumer whose session ended without a detach
    {
        const amqp10::Producer producer("/exchanges/" + shop + "/mail");
        const bool told = version_of(s.client) >= Version{4, 1};
        const auto result = [&] {
            return s.run("doctor").says({"Note: producers or consumers of ", mails, " speak AMQP 1.0"});
        };
        CHECK((told ? await(result) : !result()));
    }
    s.finds_nothing();
    s.stop();
}
