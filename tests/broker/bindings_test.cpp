// `errors.bind`: dead-letter exchanges that work queues name by argument, which no policy can override.
#include "support/catch.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

struct Legacy : Scenario {
    Legacy() : exchange(exchange_name("legacy.dlx")) {}

    std::string legacy_work_queue(const std::string& name) {
        return plain_queue(name, {{"x-dead-letter-exchange", longstr(exchange)}});
    }

    void check_retried(const std::string& work) {
        Worker worker(work);
        client.publish("", work, {.body = "x"});
        worker.reject(worker.receive());
        const Received back = worker.receive();
        CHECK(long_header(back, "retryd-attempt") == 1);
        CHECK(text_header(back, "retryd-queue") == work);
        worker.ack(back);
    }

    std::string exchange;
};

}  // namespace

TEST_CASE("a work queue that names a topic exchange of its team as dead-letter exchange is retried") {
    Legacy s;
    s.client.declare_exchange(s.exchange, "topic");
    const std::string work = s.legacy_work_queue("work.orders");
    s.retry(work, {"100ms"});
    s.config.error_bindings = "[{exchange: \"" + s.exchange + "\"}]";
    s.start();
    s.check_retried(work);
    s.stop();
}

TEST_CASE("only what the binding's routing key takes comes from a dead-letter exchange", "[one-version]") {
    Legacy s;
    s.client.declare_exchange(s.exchange, "direct");
    const std::string work = s.legacy_work_queue("work");
    const std::string other = s.legacy_work_queue("other");
    const std::string teams = s.plain_queue("teams-own");
    s.client.bind(teams, s.exchange, other);
    s.retry(work, {"100ms"});
    s.config.error_bindings = "[{exchange: \"" + s.exchange + "\", routing_key: \"" + work + "\"}]";
    s.start();
    s.check_retried(work);
    Worker worker(other);
    s.client.publish("", other, {.body = "not ours"});
    worker.reject(worker.receive());
    CHECK(s.take(teams).body == "not ours");
    CHECK(s.depth(s.config.catch_all) == 0);
}

TEST_CASE("a missing dead-letter exchange is told and holds nobody up; once it is there the next start binds it") {
    Legacy s;
    const std::string work = s.legacy_work_queue("work");
    const std::string neighbour = s.work_queue("neighbour");
    s.retry(work, {"100ms"});
    s.retry(neighbour, {"100ms"});
    s.config.error_bindings = "[{exchange: \"" + s.exchange + "\"}]";
    s.start();
    CHECK(await([&] { return s.daemon.lines_with({"'" + s.exchange + "'"}) == 1; }));
    s.check_retried(neighbour);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();

    s.client.declare_exchange(s.exchange, "topic");
    s.start();
    s.check_retried(work);
}
