// A work queue whose entry holds by hand, with its consumer.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/environment.h"
#include "support/scenario.h"
#include "support/worker.h"

namespace retryd::test {

inline constexpr const char* hold_in_force = "in force from the next message on";

inline std::string held_of(const std::string& work_queue) {
    return work_queue + ".held";
}

/// A work queue whose entry holds.
struct HeldScene : Scenario {
    HeldScene() : work(quorum_work_queue("work")) {
        retry(work, {"100ms", "200ms"});
        entry().hold = true;
    }

    void send(int messages) {
        for (int i = 0; i < messages; ++i)
            client.send("", work, {.body = std::to_string(i), .properties = {.delivery_mode = 2}});
        client.await_confirms();
    }
    void reject(Worker& worker, int messages) {
        for (int i = 0; i < messages; ++i)
            worker.reject(worker.receive());
    }
    /// `messages` of them are held, in their order: so few at a time that a target takes them all at once, however slow
    /// it is (TargetFlow::first_window). What it does not take would come later, by a detour.
    void fill(int messages) {
        Worker worker(work, 500);
        send(messages);
        for (int done = 0; done < messages;) {
            const int some = std::min(4, messages - done);
            reject(worker, some);
            done += some;
            REQUIRE(await_depth(held_of(work), static_cast<std::uint32_t>(done)));
        }
    }
    /// To be taken with a reload, or with the next start: then it holds, and probes.
    void hold_by_itself() {
        config.management_url = management_url();
        entry().hold = false;
        entry().outage = "{of: 20, within: 5s, probe: 1s, release: 20/s}";
    }
    void take_away() {
        entry().hold = false;
        reload_and_await();
    }
    /// In force when this returns.
    void reload_and_await() {
        const int before = daemon.lines_with({hold_in_force});
        reload();
        REQUIRE(await([&] { return daemon.lines_with({hold_in_force}) > before; }));
    }
    /// Acks what comes until that many different ones have come; how often each did, and in which order at first.
    void take_home(Worker& worker, int messages) {
        while (static_cast<int>(times.size()) < messages) {
            INFO(times.size() << " of " << messages << " are home");
            const Received message = worker.receive();
            if (++times[message.body] == 1) order.push_back(std::stoi(message.body));
            attempts[message.body] = long_header(message, "retryd-attempt");
            worker.ack(message);
        }
    }
    /// Where a broker was too slow to take them one after the other, some have waited on a detour: those come later.
    bool in_order() const {
        return std::is_sorted(order.begin(), order.end()) || daemon.lines_with({"waits on the detour"}) > 0;
    }
    int copies() const {
        int sum = 0;
        for (const auto& [body, count] : times)
            sum += count;
        return sum;
    }

    std::string work;
    std::map<std::string, int> times;
    std::map<std::string, std::int64_t> attempts;
    std::vector<int> order;
};

}  // namespace retryd::test
