// A broker does not answer everything it is asked: the process of a classic queue may hang, and whoever asks for that
// queue waits with it. That concerns nobody else.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broker/declare_time.h"
#include "core/names.h"
#include "support/catch.h"
#include "support/forged.h"
#include "support/hanging_queue.h"
#include "support/machine.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

struct Stall : Scenario {
    std::string hanging = work_queue("glob.hanging");
    /// Of each type three.
    std::vector<std::vector<std::string>> others{
        {work_queue("glob.a"), work_queue("glob.b"), work_queue("glob.c")},
        {quorum_work_queue("glob.d"), quorum_work_queue("glob.e"), quorum_work_queue("glob.f")}};

    /// That many messages of the queue that will hang wait in the error queue, and the daemon is not there.
    explicit Stall(int messages) {
        retry(queue_name("glob.*"), {"300ms"});
        start();
        stop();
        Worker worker(hanging);
        for (int i = 0; i < messages; ++i) {
            client.publish("", hanging, {.body = std::to_string(i)});
            worker.reject(worker.receive());
        }
        REQUIRE(await_depth(config.error_queue, static_cast<std::uint32_t>(messages)));
    }

    /// Until all is there that is declared at the start: a check would wait for that.
    void start_up() {
        start();
        for (const core::Milliseconds delay : core::detour_delays)
            REQUIRE(await([&] { return exists(core::detour_name(delay)); }));
        REQUIRE(await_depth(config.error_queue, 0));
    }

    /// The first messages of queues, all at one moment: each queue is looked for, and its rung declared. What holds
    /// them up holds up all of them.
    void check_come_back_in_time(const std::vector<std::string>& queues, milliseconds late = milliseconds(1'000)) {
        CAPTURE(queues);
        Worker worker(queues.front());
        for (std::size_t i = 1; i < queues.size(); ++i)
            worker.client.consume(queues[i], 100);
        std::vector<Received> messages;
        for (const std::string& queue : queues) {
            client.publish("", queue, {.body = "neighbour"});
            messages.push_back(worker.receive());
        }
        const Machine machine;
        const DeclareTime declaring(queues.front() + ".beside");
        const Clock::time_point rejected = Clock::now();
        for (const Received& message : messages)
            worker.reject(message);
        Lateness lateness;
        for (std::size_t i = 0; i < queues.size(); ++i) {
            const Received back = worker.receive();
            lateness.add(since(rejected), milliseconds(300));
            worker.ack(back);
        }
        const milliseconds slack = std::max(machine.slack(), declaring.slowest());
        // In the 300 ms that a message waits, its queue is looked for and its rung is declared. Where the broker is too
        // slow for both, the message takes the shortest detour.
        const milliseconds detour = 2 * slack > milliseconds(300) ? milliseconds(2'000) : milliseconds(0);
        CHECK(lateness.least() < late + slack + detour);
    }

    void check_all_come_back(std::size_t messages) {
        Worker worker(hanging);
        std::set<std::string> back;
        while (back.size() < messages) {
            const Received message = worker.receive();
            back.insert(message.body);
            worker.ack(message);
        }
        CHECK(await_depth(config.error_queue, 0));
        CHECK(depth(config.catch_all) == 0);
        CHECK(depth(parking_of(hanging)) == 0);
    }
};

}  // namespace

TEST_CASE("a work queue whose process hangs holds up no other, and its messages come once it goes on",
          "[two-versions]") {
    constexpr int messages = 20;
    Stall s(messages);
    HangingQueue hang(s.hanging);
    const Clock::time_point begin = Clock::now();
    s.start_up();
    for (const auto& alike : s.others)
        s.check_come_back_in_time(alike);
    hang.end();
    const milliseconds hung = since(begin);
    s.check_all_come_back(messages);
    if (hung < seconds(30)) CHECK(s.daemon.lines_with({"has not answered"}) == 0);  // then it is told, rightly
    s.stop();
}

// Whoever comes while they are found out takes the shortest detour once.
TEST_CASE("a dozen work queues whose processes hang hold up others for seconds, not for as long as they hang",
          "[one-version]") {
    Stall s(1);
    std::vector<std::unique_ptr<HangingQueue>> hang;
    for (int i = 0; i < 12; ++i) {
        const std::string queue = s.work_queue("glob.many" + std::to_string(i));
        hang.push_back(std::make_unique<HangingQueue>(queue));
        s.client.send(s.config.error_exchange, "", {.body = "x", .headers = died_in(queue)});
    }
    s.client.await_confirms();
    s.start_up();
    for (const auto& alike : s.others)
        s.check_come_back_in_time(alike, milliseconds(3'500));
    hang.clear();
    s.stop();
}

TEST_CASE("a work queue whose process hangs for long is named in the log, and nothing is lost",
          "[slow][one-version][night]") {
    constexpr int messages = 20;
    Stall s(messages);
    HangingQueue hang(s.hanging);
    s.start();
    const std::string told = "has not answered for 30s when asked to look for queue '" + s.hanging + "'";
    CHECK(s.daemon.await_log(told));
    for (const auto& alike : s.others)
        s.check_come_back_in_time(alike);
    hang.end();
    s.check_all_come_back(messages);
    CHECK(s.daemon.lines_with({told}) == 1);
    CHECK(s.daemon.lines_with({"connected to"}) == 2);  // one of them before it hung
    s.stop();
}
