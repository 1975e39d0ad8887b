// A daemon that reaches the broker through a network that fails where a test says, and messages that are counted by
// their ids.
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

    /// One that was rejected by that work queue comes to the error queue.
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

    /// So many wait in the work queue, to be rejected by whoever consumes it.
    void fill_work(int count) {
        for (int i = 0; i < count; ++i) {
            const std::string id = "waiting-" + std::to_string(i);
            client.send("", work, {.body = "x", .properties = {.delivery_mode = 2, .message_id = id}});
            copies[id];
        }
        client.await_confirms();
    }

    /// Takes out what comes home or is set aside until every message was seen at least once.
    void check_nothing_is_lost(milliseconds within = patience) {
        Homes homes(*this);
        const Clock::time_point deadline = Clock::now() + within;
        while (!all_seen() && Clock::now() < deadline) {
            if (!homes.take(milliseconds(50))) take_aside();
        }
        INFO(missing() << "of " << copies.size() << " messages are neither home nor set aside");
        CHECK(all_seen());
        CHECK(await([&] { return depth(config.error_queue) == 0; }));
    }
    /// After all were seen: no copy of any is still under way. For faults that are no reason for a second copy.
    void check_nothing_came_twice() {
        take_home();
        for (const auto& [id, times] : copies) {
            CAPTURE(id);
            CHECK(times == 1);
        }
    }
    /// The daemon that was started first consumes, and takes a message home.
    void check_goes_on() {
        REQUIRE(await([&] { return consuming(); }));
        reject_many(1);
        check_nothing_is_lost();
        CHECK(daemon.running());
    }

    /// What comes until nothing comes for a while.
    void take_home(milliseconds quiet = milliseconds(500)) {
        Homes homes(*this);
        while (homes.take(quiet)) {
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

    FaultProxy network;
    std::string work;
    std::string other;
    std::map<std::string, int> copies;  // by id; those set aside included
    std::map<std::string, int> aside;   // found in the catch-all or in the parking queue

  private:
    /// A consumer of both work queues.
    struct Homes {
        explicit Homes(ThroughFaults& its) : s(its), worker(its.work, 500) { worker.client.consume(its.other, 500); }
        bool take(milliseconds within) {
            const auto home = worker.client.next(within);
            if (!home) return false;
            worker.ack(*home);
            count(s.copies, *home);
            return true;
        }
        ThroughFaults& s;
        Worker worker;
    };

    static void count(std::map<std::string, int>& where, const Message& message) {
        ++where[message.properties.message_id.value_or("(no id)")];
    }
    void take_aside() {
        for (const std::string& queue : {config.catch_all, parking_of(work), parking_of(other)}) {
            // Not before something is there: a get in the moment of a quorum queue's making costs the connection.
            while (const auto found = depth(queue) > 0 ? client.get(queue) : std::nullopt) {
                client.ack(found->tag);
                count(copies, *found);
                count(aside, *found);
            }
        }
    }
};

}  // namespace retryd::test
