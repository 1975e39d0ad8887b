// Ten thousand messages at once, some of which fail several times.
#include <map>
#include <memory>

#include "support/catch.h"
#include "support/environment.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

constexpr int volume = 10'000;
constexpr int work_queues = 5;
constexpr int rungs = 4;

/// How often message n fails. If that is more often than there are rungs, it is parked. 16 messages have 26 failures.
int failures_of(int n) {
    static constexpr int fates[] = {0, 1, 2, 0, 1, 3, 0, 1, 5, 1, 2, 4, 0, 1, 3, 2};
    return fates[n % 16];
}
int queue_of(int n) {
    return n % work_queues;
}
bool is_parked_in_the_end(int n) {
    return failures_of(n) > rungs;
}

struct Mix {
    Mix() {
        for (int q = 0; q < work_queues; ++q) {
            const std::string name = "work" + std::to_string(q);
            queues.push_back(q % 2 == 0 ? s.work_queue(name) : s.quorum_work_queue(name));
            s.retry(queues.back(), {"100ms", "200ms", "300ms", "400ms"});
        }
        for (const std::string& queue : queues)
            workers.push_back(std::make_unique<Worker>(queue, 500));
    }

    void publish_all() {
        for (int n = 0; n < volume; ++n) {
            s.client.send("", queues[static_cast<std::size_t>(queue_of(n))],
                          {.body = std::to_string(n), .properties = {.delivery_mode = 2}});
        }
        s.client.await_confirms();
    }

    /// Rejects or acks a delivery, as failures_of() says; what is wrong with it is added to `wrong`.
    void settle(Worker& worker, int queue, const Received& message) {
        const int n = std::stoi(message.body);
        int& deaths = seen[n];
        const std::int64_t attempt =
            find(message.headers, "retryd-attempt") ? long_header(message, "retryd-attempt") : 0;
        if (queue_of(n) != queue) wrong += "message " + message.body + " came to queue " + std::to_string(queue) + "\n";
        if (attempt != deaths)
            wrong += "message " + message.body + " came with attempt " + std::to_string(attempt) + " after " +
                     std::to_string(deaths) + " deaths\n";
        if (deaths > failures_of(n)) wrong += "message " + message.body + " came after it was done\n";
        if (deaths++ < failures_of(n)) return worker.reject(message);
        worker.ack(message);
        ++finished;
    }

    /// Whether a message arrived in any queue.
    bool work_once() {
        bool any = false;
        for (std::size_t q = 0; q < workers.size(); ++q) {
            while (const auto message = workers[q]->client.next(milliseconds(any ? 0 : 10))) {
                settle(*workers[q], static_cast<int>(q), *message);
                any = true;
            }
        }
        return any;
    }

    /// Which have not come as often as they should, and where messages lie.
    std::string missing() {
        std::string text;
        for (int n = 0; n < volume; ++n) {
            if (is_parked_in_the_end(n) || seen[n] > failures_of(n)) continue;
            text += "message " + std::to_string(n) + " of " + queues[static_cast<std::size_t>(queue_of(n))] + " came " +
                    std::to_string(seen[n]) + " times, not " + std::to_string(failures_of(n) + 1) + "\n";
        }
        return text + rabbitmqctl("--silent list_queues -p " + broker_address().vhost +
                                  " name type messages messages_ready messages_unacknowledged");
    }

    std::uint32_t parked() {
        std::uint32_t total = 0;
        for (const std::string& queue : queues)
            total += s.depth(s.parking_of(queue));
        return total;
    }

    Scenario s;
    std::vector<std::string> queues;
    std::vector<std::unique_ptr<Worker>> workers;
    std::map<int, int> seen;  // message → deliveries so far
    int finished = 0;
    std::string wrong;
};

}  // namespace

TEST_CASE("of 10,000 messages over 5 queues and 4 rungs each comes back exactly as often as it should",
          "[flood][slow][night]") {
    Mix mix;
    int to_finish = 0;
    std::uint32_t to_park = 0;
    for (int n = 0; n < volume; ++n)
        is_parked_in_the_end(n) ? static_cast<void>(++to_park) : static_cast<void>(++to_finish);
    mix.s.start();
    // A broker that is flooded before all queues are declared may fail a declaration, and close the connection.
    for (const std::string& queue : mix.queues)
        REQUIRE(await([&] { return mix.s.exists(Scenario::parking_of(queue)); }));
    mix.publish_all();

    Clock::time_point last_arrival = Clock::now();
    while (mix.finished < to_finish && since(last_arrival) < patience) {
        if (mix.work_once()) last_arrival = Clock::now();
    }
    if (mix.finished != to_finish) FAIL_CHECK(mix.missing());
    CHECK(await([&] {
        mix.work_once();
        return mix.parked() == to_park;
    }));
    for (std::size_t q = 0; q < mix.queues.size(); ++q) {
        while (const auto message = mix.s.client.get(mix.s.parking_of(mix.queues[q]))) {
            const int n = std::stoi(message->body);
            if (!is_parked_in_the_end(n) || queue_of(n) != static_cast<int>(q) || mix.seen[n]++ != rungs + 1)
                mix.wrong += "message " + message->body + " was parked in " + mix.queues[q] + "\n";
            --to_park;
        }
    }
    CHECK(to_park == 0);
    CHECK_FALSE(mix.work_once());
    CHECK(mix.s.depth(mix.s.config.error_queue) == 0);
    CHECK(mix.s.depth(mix.s.config.catch_all) == 0);
    CHECK(mix.wrong == "");
    mix.s.stop();
}
