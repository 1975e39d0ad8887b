// Standard error is a pipe that nobody reads: the daemon blocks in its log, as any program would, but SIGTERM must end
// it.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <string>

#include "support/catch.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

constexpr int more_than_a_pipe = 1'000;  // a pipe takes 64 KiB

struct UnreadPipe {
    UnreadPipe() { REQUIRE(::pipe(ends) == 0); }
    ~UnreadPipe() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    /// The path of the writing end.
    std::string path() const { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(ends[1]); }
    bool full() const {
        ::pollfd end{ends[1], POLLOUT, 0};
        return ::poll(&end, 1, 0) == 0;
    }
    int ends[2] = {-1, -1};
};

}  // namespace

TEST_CASE("SIGTERM ends a daemon that hangs in its log, within the shutdown time-out, and nothing is lost", "[slow]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"1s"});
    s.config.shutdown_timeout = "1s";
    s.config.heartbeat = "1s";
    s.daemon.write(s.config.yaml());
    UnreadPipe pipe;
    Process daemon({retryd_binary(), "run", "-c", s.daemon.config_file()}, pipe.path());
    REQUIRE(await([&] { return s.consuming(); }));
    Worker worker(work);
    for (int i = 0; i < more_than_a_pipe; ++i)
        s.client.send("", work, {.body = std::to_string(i)});
    s.client.await_confirms();
    for (int i = 0; i < more_than_a_pipe; ++i)
        worker.reject(worker.receive());
    REQUIRE(await([&] { return pipe.full(); }));
    // Longer than the daemon waits before it checks whether its loop hangs.
    CHECK_FALSE(daemon.wait(seconds(4)).has_value());
    daemon.signal(SIGTERM);
    CHECK(daemon.wait(seconds(4)) == 1);
    s.start();
    std::set<std::string> returned;
    while (returned.size() < std::size_t{more_than_a_pipe}) {
        const Received back = worker.receive();
        returned.insert(back.body);
        worker.ack(back);
    }
    s.stop();
}
