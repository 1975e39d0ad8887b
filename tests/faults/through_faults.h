// A daemon that is connected through the fault proxy, and messages that are counted by their ids.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "faults/faults.h"
#include "support/catch.h"
#include "support/forged.h"
#include "support/scenario.h"
#include "support/worker.h"

namespace retryd::test {

struct ThroughFaults : Scenario {
    ThroughFaults() : network(broker_address()), work(work_queue("work")), other(work_queue("other")) {
        config.uris = {uri_of(network.address())};
        retry(work, {"50ms"});
        retry(other, {"50ms"});
    }

    /// Publishes a message to the error exchange as if that work queue had rejected it.
    void reject(const std::string& id, const std::string& from, const std::string& body = "x") {
        client.send(config.error_exchange, "",
                    {.body = body, .headers = died_in(from), .properties = {.delivery_mode = 2, .message_id = id}});
        copies[id];
    }
    void reject_many(int count) {
        const std::size_t before = copies.size();
        for (int i = 0; i < count; ++i)
            reject(std::to_string(before) + "-" + std::to_string(i), work);
        client.await_confirms();
    }

    /// Starts the daemon, and the work queue's rung confirms some messages: so many may be under way to it then. One
    /// that has not confirmed any gets few.
    static constexpr int under_way_at_least = 30;
    void start_in_use() {
        start();
        reject_many(10);
        check_nothing_is_lost();
    }

    /// Publishes messages to the work queue, to be rejected by a consumer.
    void fill_work(int count) {
        for (int i = 0; i < count; ++i) {
            const std::string id = "waiting-" + std::to_string(i);
            client.send("", work, {.body = "x", .properties = {.delivery_mode = 2, .message_id = id}});
            copies[id];
        }
        client.await_confirms();
    }

    /// Consumes the work queues and the queues of parked messages until every message was seen at least once.
    void check_nothing_is_lost(milliseconds within = patience) {
        WorkQueues queues(*this);
        const Clock::time_point deadline = Clock::now() + within;
        while (!all_seen() && Clock::now() < deadline) {
            if (!queues.take(milliseconds(50))) drain_parked();
        }
        INFO(missing() << "of " << copies.size() << " messages are neither back in their work queue nor parked");
        CHECK(all_seen());
        CHECK(await([&] { return depth(config.error_queue) == 0; }));
    }
    /// To be called when all were seen, for faults that must not lead to a second copy.
    void check_nothing_came_twice() {
        drain_work_queues();
        for (const auto& [id, times] : copies) {
            CAPTURE(id);
            CHECK(times == 1);
        }
    }
    /// The daemon that was started first consumes, and retries a message.
    void check_goes_on() {
        REQUIRE(await([&] { return consuming(); }));
        reject_many(1);
        check_nothing_is_lost();
        CHECK(daemon.running());
    }

    /// Consumes the work queues until nothing comes for a while.
    void drain_work_queues(milliseconds quiet = milliseconds(500)) {
        WorkQueues queues(*this);
        while (queues.take(quiet)) {
        }
    }

    int came_twice() const {
        return static_cast<int>(std::count_if(copies.begin(), copies.end(), [](auto& id) { return id.second > 1; }));
    }
    bool all_seen() const { return missing().empty(); }
    std::string missing() const {
        std::string ids;
        for (const auto& [id, times] : copies) {
            if (times == 0) ids += id + " ";
        }
        return ids;
    }
    int reconnects() const { return network.accepted() / 2 - 1; }
    /// Whether it has reconnected so often, and not more often. It may be about to.
    bool reconnects_as_often_as(int times) const {
        return await([&] { return reconnects() >= times; }) && reconnects() == times;
    }

    FaultProxy network;
    std::string work;
    std::string other;
    std::map<std::string, int> copies;  // by id, parked ones included
    std::map<std::string, int> parked;  // found in the catch-all or in the parking queue

  private:
    /// A consumer of both work queues.
    struct WorkQueues {
        explicit WorkQueues(ThroughFaults& its) : s(its), worker(its.work, 500) {
            worker.client.consume(its.other, 500);
        }
        bool take(milliseconds within) {
            const auto message = worker.client.next(within);
            if (!message) return false;
            worker.ack(*message);
            count(s.copies, *message);
            return true;
        }
        ThroughFaults& s;
        Worker worker;
    };

    static void count(std::map<std::string, int>& where, const Message& message) {
        ++where[message.properties.message_id.value_or("(no id)")];
    }
    void drain_parked() {
        for (const std::string& queue : {config.catch_all, parking_of(work), parking_of(other)}) {
            // Only when it has messages: basic.get while a quorum queue is being declared ends the connection.
            while (const auto found = depth(queue) > 0 ? client.get(queue) : std::nullopt) {
                client.ack(found->tag);
                count(copies, *found);
                count(parked, *found);
            }
        }
    }
};

}  // namespace retryd::test
