// `on:` - every reason of a death with every action.
#include <functional>
#include <optional>

#include "support/catch.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

const std::vector<std::string> actions{"retry", "park", "drop"};

/// Long enough for a consumer to come before the message is home: it would expire again there.
const std::string rung_delay = "3s";

/// basic.reject with requeue counts towards a delivery limit on every version.
void die_of_delivery_limit(Scenario&, const std::string& work) {
    Worker worker(work);
    worker.client.reject(worker.receive().tag, true);
    worker.client.reject(worker.receive().tag, true);
}

void die_of_rejection(Scenario&, const std::string& work) {
    Worker worker(work);
    worker.reject(worker.receive());
}

/// The next message drops the one that is there (max-length 1).
void die_of_maxlen(Scenario& s, const std::string& work) {
    s.client.publish("", work, {.body = "next"});
}

void wait_to_expire(Scenario&, const std::string&) {}

struct Reason {
    std::string name;
    Table queue_arguments;
    std::function<void(Scenario&, const std::string&)> die;
};

const std::vector<Reason> reasons{
    {"rejected", {}, die_of_rejection},
    {"delivery_limit", {{"x-queue-type", longstr("quorum")}, {"x-delivery-limit", int32(1)}}, die_of_delivery_limit},
    {"expired", {{"x-message-ttl", int32(50)}}, wait_to_expire},
    {"maxlen", {{"x-max-length", int32(1)}}, die_of_maxlen},
};

/// A work queue for each reason and action, and one daemon for all of them.
struct Matrix : Scenario {
    Matrix() {
        for (const Reason& reason : reasons) {
            for (const std::string& action : actions) {
                retry(work_queue(reason.name + "-" + action, reason.queue_arguments), {rung_delay});
                entry().on = "{" + reason.name + ": " + action + "}";
            }
        }
        start();
        await_declared();
    }

    std::string work_of(const Reason& reason, const std::string& action) {
        return queue_name(reason.name + "-" + action);
    }

    void let_die(const Reason& reason, const std::string& work) {
        client.publish("", work, {.body = "x"});
        reason.die(*this, work);
    }

    void check_retried(const Reason& reason, const std::string& work) {
        Client consumer(broker_address());  // first: to connect may take longer than the rung's delay
        let_die(reason, work);
        REQUIRE(await_depth(rung(work, rung_delay), 1));
        // Not earlier: with a consumer the message would not have expired or been dropped.
        consumer.consume(work, 100);
        std::optional<Received> next = consumer.next(patience);
        if (next && next->body == "next") {
            consumer.ack(next->tag);
            next = consumer.next(patience);
        }
        REQUIRE(next);
        const Received& back = *next;
        CHECK(back.body == "x");
        CHECK(long_header(back, "retryd-attempt") == 1);
        CHECK(text_header(back, "retryd-reason") == reason.name);
        consumer.ack(back.tag);
    }

    void check_parked(const Reason& reason, const std::string& work) {
        let_die(reason, work);
        const Received parked = take(parking_of(work));
        CHECK(parked.body == "x");
        CHECK(text_header(parked, "retryd-parked-reason") == "reason-" + reason.name);
        CHECK(text_header(parked, "retryd-reason") == reason.name);
        CHECK(text_header(parked, "retryd-queue") == work);
        CHECK(depth(rung(work, rung_delay)) == 0);
    }

    void check_dropped(const Reason& reason, const std::string& work) {
        let_die(reason, work);
        CHECK(await([&] { return daemon.lines_with({"dropped", "'" + work + "'"}) == 1; }));
    }

    void check_nowhere(const std::string& work) {
        CHECK(depth(rung(work, rung_delay)) == 0);
        CHECK(depth(parking_of(work)) == 0);
    }
};

}  // namespace

TEST_CASE("a death of any reason is retried, parked or dropped, as the entry says", "[two-versions]") {
    Matrix s;
    for (const std::string& action : actions) {
        for (const Reason& reason : reasons) {
            CAPTURE(action, reason.name);
            const std::string work = s.work_of(reason, action);
            if (action == "retry") s.check_retried(reason, work);
            if (action == "park") s.check_parked(reason, work);
            if (action == "drop") s.check_dropped(reason, work);
        }
    }
    s.stop();
    // Unacked messages would be in the error queue again by now.
    CHECK(s.depth(s.config.error_queue) == 0);
    CHECK(s.depth(s.config.catch_all) == 0);
    for (const Reason& reason : reasons)
        s.check_nowhere(s.work_of(reason, "drop"));
}

TEST_CASE("a message that is dropped for one reason is still retried for another", "[3.8][one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work", {{"x-message-ttl", int32(200)}});
    s.retry(work, {"50ms"});
    s.entry().on = "{expired: drop}";
    s.start();
    Worker worker(work);
    s.client.publish("", work, {.body = "x"});
    worker.reject(worker.receive());
    CHECK(text_header(worker.receive(), "retryd-reason") == "rejected");
}
