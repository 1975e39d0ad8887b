// `x_death: keep`: on every version of RabbitMQ a consumer sees its message's deaths in its queue, counted on from
// round to round, and nothing of retryd's queues.
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

struct Seen {
    std::string queue;
    std::string reason;
    std::int64_t count = 0;
    bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << seen.count << " x " << seen.reason << " in " << seen.queue;
}

std::int64_t number_in(const Table& entry, std::string_view name) {
    const Value* value = find(entry, name);
    const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->data);
    return number == nullptr ? -1 : *number;
}

std::string text_in(const Table& entry, std::string_view name) {
    const Value* value = find(entry, name);
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(&value->data);
    return text == nullptr ? "(none)" : *text;
}

std::vector<Seen> deaths_of(const Message& message) {
    std::vector<Seen> deaths;
    const Value* const header = find(message.headers, "x-death");
    if (header == nullptr) return deaths;
    for (const Value& entry : std::get<Array>(header->data)) {
        const auto& fields = std::get<Table>(entry.data);
        deaths.push_back({text_in(fields, "queue"), text_in(fields, "reason"), number_in(fields, "count")});
    }
    return deaths;
}

using Deaths = std::vector<Seen>;

/// As RabbitMQ writes them beside x-death.
void check_first_and_last(const Received& message, const Seen& first, const Seen& last) {
    CHECK(text_header(message, "x-first-death-queue") == first.queue);
    CHECK(text_header(message, "x-first-death-reason") == first.reason);
    CHECK(text_header(message, "x-last-death-queue") == last.queue);
    CHECK(text_header(message, "x-last-death-reason") == last.reason);
}

/// Of an exchange with a routing key of the producer's.
struct Kept : Scenario {
    explicit Kept(bool shared, const std::string& work_type = "quorum", const std::string& second_delay = "1s") {
        work = work_type == "quorum" ? quorum_work_queue("work") : work_queue("work");
        exchange = exchange_name("events");
        client.declare_exchange(exchange, "topic");
        client.bind(work, exchange, "order.#");
        const std::vector<std::string> delays{"100ms", second_delay, "150ms"};
        shared ? void(share({work}, delays)) : retry(work, delays);
        entry().x_death = "keep";
        start();
        await_declared();
    }

    void publish(const std::string& body, const Table& headers = {}) {
        client.publish(exchange, "order.made", {.body = body, .headers = headers});
    }
    std::string replay() const {
        return "parked replay --all --from " + parking_of(work) + " -c " + daemon.config_file();
    }

    std::string work;
    std::string exchange;
};

void go_through_ladder(bool shared, const std::string& work_type) {
    Kept s(shared, work_type);
    Worker worker(s.work);
    s.publish("payload", {{"own", longstr("stays")}});
    Received message = worker.receive();
    CHECK(deaths_of(message).empty());
    for (std::int64_t attempt = 1; attempt <= 3; ++attempt) {
        worker.reject(message);
        message = worker.receive();
        INFO("attempt " << attempt);
        const Seen death{s.work, "rejected", attempt};
        CHECK(deaths_of(message) == Deaths{death});
        check_first_and_last(message, death, death);
        CHECK(long_header(message, "retryd-attempt") == attempt);
        CHECK(message.body == "payload");
        CHECK(text_header(message, "own") == "stays");
        CHECK(message.exchange == (shared ? "retryd.return" : ""));
        CHECK(message.routing_key == (shared ? "order.made" : s.work));
        CHECK_FALSE(message.redelivered);
        const Value* const header = find(message.headers, "x-death");
        REQUIRE(header != nullptr);
        const auto& entry = std::get<Table>(std::get<Array>(header->data).front().data);
        CHECK(text_in(entry, "exchange") == s.exchange);
        CHECK(*find(entry, "routing-keys") == array({longstr("order.made")}));
    }
    worker.reject(message);
    REQUIRE(s.await_depth(s.parking_of(s.work), 1));
    CHECK(worker.stays_idle(milliseconds(200)));

    // As when somebody moves it back by hand: x-death goes on, the ladder begins anew.
    REQUIRE(run_retryd(s.replay()).code == 0);
    message = worker.receive();
    CHECK(deaths_of(message) == Deaths{{s.work, "rejected", 4}});
    CHECK(find(message.headers, "retryd-attempt") == nullptr);
    worker.reject(message);
    message = worker.receive();
    CHECK(deaths_of(message) == Deaths{{s.work, "rejected", 5}});
    CHECK(long_header(message, "retryd-attempt") == 1);
    worker.ack(message);
    CHECK(worker.stays_idle(milliseconds(200)));
    CHECK(s.depth(s.config.error_queue) == 0);
    s.stop();
}

}  // namespace

TEST_CASE("x_death: keep: a consumer sees the deaths in its queue counted on, parked and replayed; rungs of its own",
          "[one-version]") {
    go_through_ladder(false, "quorum");
}

TEST_CASE("x_death: keep: the same with a shared ladder, which keeps the producer's routing key", "[one-version]") {
    go_through_ladder(true, "quorum");
}

TEST_CASE("x_death: keep: the same with a classic work queue", "[one-version]") {
    go_through_ladder(false, "classic");
}

TEST_CASE("x_death: keep: what was parked shows all deaths", "[one-version]") {
    Kept s(false);
    Worker worker(s.work);
    s.publish("payload");
    for (int attempt = 0; attempt <= 3; ++attempt)
        worker.reject(worker.receive());
    const Received parked = s.take(s.parking_of(s.work));
    CHECK(deaths_of(parked) == Deaths{{s.work, "rejected", 4}});
    CHECK(long_header(parked, "retryd-attempt") == 4);
    s.stop();
}

TEST_CASE("x_death: keep: a CC that stands in too many headers to fit a frame ends in the catch-all, and is all there",
          "[one-version]") {
    Kept s(false);
    Worker worker(s.work);
    const auto with_cc = [&](std::size_t bytes) {
        constexpr std::size_t length = 200;
        Array keys;
        for (std::size_t i = 0; i * length < bytes; ++i)
            keys.push_back(longstr(std::string(length - 4, 'k') + std::to_string(1'000 + i)));
        return Table{{"CC", array(keys)}};
    };
    s.publish("fits", with_cc(38'000));
    worker.reject(worker.receive());
    const Received home = worker.receive();
    CHECK(home.body == "fits");
    worker.ack(home);
    s.publish("does not fit", with_cc(45'000));
    worker.reject(worker.receive());
    const Received parked = s.take(s.config.catch_all);
    CHECK(parked.body == "does not fit");
    CHECK(text_header(parked, "retryd-queue") == s.work);
    CHECK(find(parked.headers, "retryd-cc") != nullptr);
    CHECK(find(parked.headers, "retryd-parked-reason") == nullptr);
    CHECK(s.daemon.await_log("its headers do not fit an AMQP frame"));
    CHECK(worker.stays_idle(milliseconds(200)));
    s.stop();
}

TEST_CASE("x_death: keep: what dies without a rejection is not taken for a cycle, and each reason is counted",
          "[one-version][since-3.10]") {
    Scenario s;
    const std::string work = s.quorum_work_queue("work", {{"x-message-ttl", int64(300)}});
    s.retry(work, {"100ms", "9s", "100ms", "100ms"});
    s.entry().x_death = "keep";
    s.entry().on = "{expired: retry}";
    s.start();
    s.await_declared();
    Client consumer(broker_address());  // to connect may take longer than the rung's delay
    s.client.publish("", work, {.body = "nobody consumes it"});
    REQUIRE(s.await_depth(s.rung(work, "9s") + ".x-death", 1));  // it has come back, and expired again
    // Not earlier: with a consumer it would not have expired. And before it is home, where it would expire once more.
    consumer.consume(work, 100);
    const std::optional<Received> message = consumer.next(patience);
    REQUIRE(message);
    CHECK(deaths_of(*message) == Deaths{{work, "expired", 2}});
    consumer.reject(message->tag, false);
    const std::optional<Received> again = consumer.next(patience);
    REQUIRE(again);
    CHECK(deaths_of(*again) == Deaths{{work, "rejected", 1}, {work, "expired", 2}});
    check_first_and_last(*again, {work, "expired", 2}, {work, "rejected", 1});
    CHECK(long_header(*again, "retryd-attempt") == 3);
    consumer.ack(again->tag);
    s.stop();
}

TEST_CASE("x_death: keep: a consumer that republishes, rejects the copy and waits for its own x-death is called",
          "[one-version]") {
    Kept s(false);
    Worker worker(s.work);
    s.publish("payload");
    std::vector<std::int64_t> handled;  // what x-death counted, each time that the handler was called
    // Rascal's `republish` with `immediateNack`, three times.
    while (handled.size() < 3) {
        const Received message = worker.receive();
        const Deaths deaths = deaths_of(message);
        const std::int64_t count = deaths.empty() ? 0 : deaths.front().count;
        if (find(message.headers, "to-nack") != nullptr && count <= long_header(message, "to-nack")) {
            worker.reject(message);
            continue;
        }
        handled.push_back(count);
        if (handled.size() < 3) {
            Message copy = message;
            copy.headers = without(copy.headers, {"to-nack"});
            copy.headers.push_back({"to-nack", int64(count)});
            s.client.publish("", s.work, copy);
        }
        worker.ack(message);
    }
    CHECK(handled == std::vector<std::int64_t>{0, 1, 2});
    CHECK(worker.stays_idle(milliseconds(300)));
    s.stop();
}

TEST_CASE("x_death: keep: what a producer forges is not handed on, and gains nothing", "[one-version]") {
    Kept s(false);
    Worker worker(s.work);
    const auto entry = [](const std::string& queue, const Value& reason, const Value& count) {
        return table({{"queue", longstr(queue)}, {"reason", reason}, {"count", count}, {"time", longstr("never")}});
    };
    const std::vector<Table> forged{
        {{"retryd-x-death", array({entry(s.work, longstr("rejected"), int64(500))})}},
        {{"retryd-x-death", array({longstr("x"), array({})})}, {"retryd-queue", longstr(s.work)}},
        {{"retryd-x-death", longstr("x")}, {"retryd-attempt", int64(-9)}, {"retryd-queue", longstr(s.work)}},
        {{"x-death", array({entry("other", longstr("weird"), longstr("many")), entry("", int64(1), int64(-7))})}},
        {{"x-first-death-queue", longstr("forged")}, {"x-last-death-queue", int64(7)}},
    };
    for (const Table& headers : forged) {
        INFO(describe(headers));
        s.publish("forged", headers);
        for (std::int64_t attempt = 1; attempt <= 2; ++attempt) {
            worker.reject(worker.receive());
        }
        const Received back = worker.receive();
        CHECK(deaths_of(back) == Deaths{{s.work, "rejected", 2}});
        check_first_and_last(back, {s.work, "rejected", 2}, {s.work, "rejected", 2});
        CHECK(long_header(back, "retryd-attempt") == 2);
        worker.ack(back);
    }
    CHECK(worker.stays_idle(milliseconds(200)));
    s.stop();
}

TEST_CASE("x_death: keep: a work queue that is gone when its message comes home gets it once it is there again",
          "[one-version]") {
    Kept s(false, "quorum", "9s");  // before it is home its queue must be gone, and to delete that takes a while
    {
        Worker worker(s.work);
        s.publish("payload");
        worker.reject(worker.receive());
        worker.reject(worker.receive());
        REQUIRE(s.await_depth(s.rung(s.work, "9s") + ".x-death", 1));
    }
    s.client.delete_queue(s.work);
    REQUIRE(s.await_depth("retryd.detour.2s", 1));
    // What is put into a quorum queue that is being made RabbitMQ 3.8 may never confirm, and to make it takes a while.
    s.daemon.signal(SIGSTOP);
    CHECK(s.quorum_work_queue("work") == s.work);
    s.daemon.signal(SIGCONT);
    Worker worker(s.work);
    const Received back = worker.receive();
    CHECK(deaths_of(back) == Deaths{{s.work, "rejected", 2}});
    CHECK(long_header(back, "retryd-attempt") == 2);
    worker.ack(back);
    s.stop();
}

TEST_CASE("x_death: keep can be set and taken away while messages wait, and none loses its attempts", "[one-version]") {
    Kept s(false, "quorum", "9s");  // it must still wait when the reload comes
    Worker worker(s.work);
    s.publish("payload");
    worker.reject(worker.receive());
    worker.reject(worker.receive());
    REQUIRE(s.await_depth(s.rung(s.work, "9s") + ".x-death", 1));
    s.entry().x_death = "remove";
    s.reload();
    REQUIRE(s.daemon.await_log("in force from the next message on"));
    s.await_declared();  // the rungs without x-death: none of them has been there before
    const Received last_with = worker.receive();
    CHECK(deaths_of(last_with) == Deaths{{s.work, "rejected", 2}});
    worker.reject(last_with);
    const Received without_it = worker.receive();
    CHECK(long_header(without_it, "retryd-attempt") == 3);
    CHECK(deaths_of(without_it) == Deaths{{s.rung(s.work, "150ms"), "expired", 1}});
    worker.reject(without_it);
    CHECK(text_header(s.take(s.parking_of(s.work)), "retryd-parked-reason") == "attempts-exhausted");
    s.stop();
}

TEST_CASE("x_death: keep: what is sent home from its rung before its time shows its deaths as well, or is parked",
          "[one-version]") {
    Scenario s;
    const std::string work = s.quorum_work_queue("work");
    s.retry(work, {"1h"});
    s.entry().x_death = "keep";
    s.start();
    s.await_declared();
    Worker worker(work);
    for (const char* const body : {"one", "two"}) {
        s.client.publish("", work, {.body = body});
        worker.reject(worker.receive());
    }
    const std::string rung = Scenario::rung(work, "1h") + ".x-death";
    REQUIRE(s.await_depth(rung, 2));
    const std::string file = " -c " + s.daemon.config_file();
    REQUIRE(run_retryd("waiting send --first 1 --from " + rung + file).code == 0);
    const Received message = worker.receive();
    CHECK(deaths_of(message) == Deaths{{work, "rejected", 1}});
    CHECK(long_header(message, "retryd-attempt") == 1);
    worker.ack(message);
    REQUIRE(run_retryd("waiting park --all --from " + rung + file).code == 0);
    CHECK(s.await_depth(rung, 0));
    CHECK(deaths_of(s.take(Scenario::parking_of(work))) == Deaths{{work, "rejected", 1}});
    s.stop();
}
