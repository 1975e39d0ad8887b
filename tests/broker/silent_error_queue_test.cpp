// The error queue itself answers nothing: then nothing comes from it, as if no message were ever rejected. That is
// told.
#include <string>
#include <thread>

#include "support/broker_queue.h"
#include "support/catch.h"
#include "support/hanging_queue.h"
#include "support/machine.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

struct Silent : Scenario {
    std::string work = work_queue("work");

    explicit Silent(const std::string& queue_type, const std::string& heartbeat = "5s") {
        config.error_queue_type = queue_type;
        config.heartbeat = heartbeat;
        config.http = "127.0.0.1:0";
        retry(work, {"100ms"});
        start();
    }

    std::string ready() const { return Served(daemon).get("/readyz").body; }

    void check_comes_back() {
        Worker worker(work);
        client.publish("", work, {.body = "message"});
        worker.reject(worker.receive());
        worker.ack(worker.receive());
    }
};

}  // namespace

TEST_CASE("a classic error queue that hangs: within about a minute the log and /readyz say so, until it goes on",
          "[slow][one-version]") {
    Silent s("classic");
    s.check_comes_back();
    HangingQueue hang(s.config.error_queue);
    const Machine machine;
    const Clock::time_point begin = Clock::now();
    CHECK(await([&] { return s.ready().starts_with("not ready: the broker has not answered"); }, seconds(90)));
    CHECK(since(begin) < seconds(65) + machine.slack());
    const auto told = [&] {
        return s.daemon.lines_with(
            {"error", "error queue '" + s.config.error_queue + "'", "neither retried nor parked", "rabbitmqctl"});
    };
    REQUIRE(await([&] { return told() > 0; }));  // another thread answers /readyz, and may be the first
    CHECK(told() == 1);
    CHECK(s.daemon.lines_with({"everything else goes on"}) == 0);
    hang.end();
    CHECK(await([&] { return s.ready().starts_with("ready"); }));
    CHECK(await([&] { return s.daemon.lines_with({"answers again"}) == 1; }));
    s.check_comes_back();
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

namespace {

/// What consumes that queue does nothing for so long: `what` is an Erlang expression of its channel.
void suspend(const std::string& what, const std::string& queue, seconds time) {
    erlang("spawn(fun() -> {ok, Q} = " + erlang_lookup(queue) +
           ", Channel = element(1, hd(rabbit_amqqueue:consumers(Q))), erlang:suspend_process(" + what +
           "), receive after " + std::to_string(milliseconds(time).count()) + " -> ok end end).");
}

}  // namespace

// Before 3.10 there are no spare channels.
TEST_CASE("the channel that consumes is busy: messages come on others, and that is told once",
          "[slow][one-version][since-3.10]") {
    Silent s("quorum");
    s.check_comes_back();
    const Machine machine;
    const Clock::time_point asked = Clock::now();
    suspend("Channel", s.config.error_queue, seconds(30));
    const Clock::time_point begin = Clock::now();  // to ask the node for it takes up to a second
    CHECK(s.daemon.await_log("answers nothing on the channel that consumes the error queue '" + s.config.error_queue +
                             "'"));
    CHECK(since(begin) < seconds(3) + machine.slack());
    int came_back = 0;  // while it is busy: on a busy machine fewer than ten
    for (; came_back < 10 && since(asked) < seconds(20); ++came_back)
        s.check_comes_back();
    CHECK(came_back >= 2);
    CHECK(since(asked) < seconds(30));
    CHECK(s.ready().starts_with("ready"));
    std::this_thread::sleep_until(begin + seconds(31));
    for (int i = 0; i < 10; ++i)
        s.check_comes_back();
    CHECK(s.daemon.lines_with({"answers nothing on the channel"}) == 1);
    CHECK(s.daemon.lines_with({"neither retried nor parked"}) == 0);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("a minute after the channel that consumes has been busy, messages come on one channel again",
          "[slow][one-version][night]") {
    Silent s("quorum");
    s.check_comes_back();
    suspend("Channel", s.config.error_queue, seconds(10));
    REQUIRE(s.daemon.await_log("answers nothing on the channel"));
    // The line is written when the spare channels begin to be opened; each registers its consumer by itself.
    CHECK(await([&] { return s.client.look_at(s.config.error_queue)->consumers >= 8; }));
    s.check_comes_back();
    CHECK(s.daemon.await_log("messages come on one again", seconds(120)));
    CHECK(await([&] { return s.client.look_at(s.config.error_queue)->consumers == 1; }));
    s.check_comes_back();
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("the connection that consumes answers nothing: the log and /readyz say so, until it goes on",
          "[slow][one-version]") {
    // RabbitMQ itself ends a connection whose process has read nothing for two heartbeats.
    Silent s("quorum", "30s");
    s.check_comes_back();
    suspend("begin [{connection, C}] = rabbit_channel:info(Channel, [connection]), C end", s.config.error_queue,
            seconds(25));  // it is told after 15 s
    CHECK(await([&] { return s.ready().starts_with("not ready: the broker has not answered"); }, seconds(24)));
    CHECK(s.daemon.await_log("on any channel that consumes the error queue '" + s.config.error_queue + "'"));
    CHECK(await([&] { return s.ready().starts_with("ready"); }));
    CHECK(await([&] { return s.daemon.lines_with({"answers again"}) == 1; }));
    CHECK(s.daemon.lines_with({"answers nothing on the channel"}) == 0);
    s.check_comes_back();
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}
