// A broker under a memory alarm: it takes no messages, but the daemon must not suffer from it, nor the messages.
#include <set>
#include <string>

#include "support/catch.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// The broker is out of memory, it believes, until the end of the scope.
class MemoryAlarm {
  public:
    MemoryAlarm() { rabbitmqctl("set_vm_memory_high_watermark 0.000001"); }
    ~MemoryAlarm() { end(); }
    MemoryAlarm(const MemoryAlarm&) = delete;
    MemoryAlarm& operator=(const MemoryAlarm&) = delete;

    void end() { rabbitmqctl("set_vm_memory_high_watermark 0.8"); }
};

struct Backlog : Scenario {
    explicit Backlog(int messages) : work(work_queue("work")) {
        retry(work, {"200ms"});
        start();
        stop();
        for (int i = 0; i < messages; ++i)
            client.send("", work, {.body = std::to_string(i)});
        client.await_confirms();
        Worker worker(work);
        for (int i = 0; i < messages; ++i)
            worker.reject(worker.receive());
        REQUIRE(await_depth(config.error_queue, static_cast<std::uint32_t>(messages)));
    }

    /// Each at least once: what was on its way when a connection ended may come twice.
    void check_all_come_home(std::size_t messages) {
        Worker worker(work);
        std::set<std::string> home;
        while (home.size() < messages) {
            const Received back = worker.receive();
            home.insert(back.body);
            worker.ack(back);
        }
        CHECK(await_depth(config.error_queue, 0));
    }

    std::string work;
};

}  // namespace

TEST_CASE("while the broker takes no messages the daemon says so, holds them, and goes on by itself afterwards") {
    Backlog s(20);
    MemoryAlarm alarm;
    s.start();
    CHECK(s.daemon.await_log("the broker takes no messages"));
    CHECK(s.depth(s.work) == 0);
    alarm.end();
    CHECK(s.daemon.await_log("the broker takes messages again"));
    s.check_all_come_home(20);
    s.stop();
}

TEST_CASE("SIGTERM ends a daemon whose broker takes no messages, and nothing is lost") {
    Backlog s(20);
    s.config.shutdown_timeout = "1s";
    MemoryAlarm alarm;
    s.start();
    CHECK(s.daemon.await_log("the broker takes no messages"));
    CHECK(s.daemon.terminate(seconds(5)) == 0);
    alarm.end();
    s.start();
    s.check_all_come_home(20);
    s.stop();
}
