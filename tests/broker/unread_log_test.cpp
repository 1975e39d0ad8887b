// Standard error is a pipe that nobody reads: that costs lines of the log, and nothing else.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
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
    /// Makes room.
    void read_some() {
        std::array<char, 16 * 1024> part{};
        REQUIRE(::read(ends[0], part.data(), part.size()) > 0);
    }
    /// Once nobody writes any more.
    std::string rest() {
        ::close(ends[1]);
        ends[1] = -1;
        std::string text;
        std::array<char, 4096> part{};
        for (ssize_t size = 0; (size = ::read(ends[0], part.data(), part.size())) > 0;)
            text.append(part.data(), static_cast<std::size_t>(size));
        return text;
    }
    int ends[2] = {-1, -1};
};

}  // namespace

TEST_CASE("a log that nobody reads holds up no message, SIGTERM ends the daemon in order, and what is lost is said",
          "[one-version]") {
    Scenario s;
    const std::string work = s.work_queue("work");
    s.retry(work, {"1s"});
    s.daemon.write(s.config.yaml());
    UnreadPipe pipe;
    Process daemon({retryd_binary(), "run", "-c", s.daemon.config_file()}, pipe.path());
    REQUIRE(await([&] { return s.consuming(); }));
    Worker worker(work);
    const auto reject_all = [&](int messages) {
        for (int i = 0; i < messages; ++i)
            s.client.send("", work, {.body = std::to_string(i)});
        s.client.await_confirms();
        for (int i = 0; i < messages; ++i)
            worker.reject(worker.receive());
        for (int i = 0; i < messages; ++i)
            worker.ack(worker.receive());
    };
    reject_all(more_than_a_pipe);
    CHECK(pipe.full());
    pipe.read_some();
    reject_all(1);
    daemon.signal(SIGTERM);
    CHECK(daemon.wait(patience) == 0);
    CHECK(pipe.rest().find("lines of this log are lost") != std::string::npos);
}
