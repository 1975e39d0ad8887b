// Headers that nest tens of thousands of levels deep take RabbitMQ long to send, with the square of the depth: that is
// the matter of their message alone.
#include <cstdio>
#include <string>
#include <thread>

#include "support/catch.h"
#include "support/deep_stack.h"
#include "support/forged.h"
#include "support/machine.h"
#include "support/other_protocols.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/steady_neighbour.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

constexpr milliseconds home_after(200);
/// RabbitMQ has the channel busy for seconds with them.
constexpr std::uint32_t few = 3;
/// It is known after two seconds that the channel is stuck, and then all comes that waited.
constexpr milliseconds late_at_most(3'000);

struct DeepHeaders : Scenario {
    std::string good = work_queue("good");
    /// What is published there is dead-lettered at once.
    std::string strange = work_queue("strange", {{"x-message-ttl", int32(1)}});

    explicit DeepHeaders(const std::string& error_queue_type = "quorum") {
        config.error_queue_type = error_queue_type;
        config.http = "127.0.0.1:0";
        retry(good, {"200ms"});
        start();
    }

    void publish_amqp10(int levels) const {
        amqp10::publish(strange, {.annotations = {{"x-deep", amqp10::nested_lists(levels)}}, .body = "deep"});
    }
    void publish(std::uint32_t messages, int levels) {
        const DeepStack stack;
        Message message{.body = "deep", .headers = Table(1)};
        message.headers[0].name = "deep";
        message.headers[0].value = nested_arrays(levels);
        for (std::uint32_t i = 0; i < messages; ++i)
            client.publish("", strange, message);
    }
    bool is_told() const { return daemon.lines_with({"answers nothing on the channel"}) > 0; }
    /// So many at once that the channel counts as stuck: a fast machine is through with fewer before. Returns how many.
    std::uint32_t publish_until_told(std::uint32_t at_once, int levels) {
        std::uint32_t published = 0;
        for (const std::uint32_t most = at_once + 3; !is_told() && at_once <= most; ++at_once) {
            publish(at_once, levels);
            published += at_once;
            REQUIRE(await([&] { return is_told() || depth(config.catch_all) == published; }, seconds(200)));
        }
        return published;
    }
    bool is_ready() const { return Served(daemon).get("/readyz").body.starts_with("ready"); }

    /// `begin`: when the first deep one was published.
    void check_goes_on(SteadyNeighbour& neighbour, const Machine& machine, Clock::time_point begin,
                       std::uint32_t deep) {
        CHECK(await([&] { return since(begin) >= seconds(12); }, seconds(13)));
        CHECK(is_ready());
        const auto late = neighbour.between(begin - seconds(3), Clock::now());
        REQUIRE(late.size() >= 125);
        const auto part = [&](std::size_t percent) {
            return static_cast<long>(late[(late.size() - 1) * percent / 100].count());
        };
        std::printf("        %zu messages: p50 %ld p90 %ld p99 %ld max %ld ms late, slack %ld ms\n", late.size(),
                    part(50), part(90), part(99), part(100), static_cast<long>(machine.slack().count()));
        CHECK(late.back() <= late_at_most + machine.slack());
        CHECK(await_depth(config.catch_all, deep, seconds(200)));
        std::printf("        the last deep one after %ld ms\n", static_cast<long>(since(begin).count()));
        CHECK(neighbour.second_copies() == 0);
        CHECK(daemon.lines_with({"warning", "answers nothing on the channel", config.error_queue}) == 1);
        CHECK(daemon.lines_with({"connected to"}) == 1);
        CHECK(daemon.lines_with({"neither retried nor parked"}) == 0);
    }
};

}  // namespace

TEST_CASE("a message of AMQP 1.0 with headers that nest 60,000 levels deep delays the others by seconds at most",
          "[flood][busiest][night][since-4.0]") {
    DeepHeaders s;
    SteadyNeighbour neighbour(broker_address(), s.good, home_after);
    const Machine machine;
    std::this_thread::sleep_for(seconds(3));
    const auto begin = Clock::now();
    s.publish_amqp10(60'000);
    s.check_goes_on(neighbour, machine, begin, 1);
    s.stop();
}

TEST_CASE("messages with headers that nest 26,000 levels deep delay the others by seconds at most",
          "[flood][busiest][night]") {
    DeepHeaders s;
    SteadyNeighbour neighbour(broker_address(), s.good, home_after);
    const Machine machine;
    std::this_thread::sleep_for(seconds(3));
    const auto begin = Clock::now();
    // Before 4.0 the broker builds each level anew as one binary: several at once make it slow as a whole.
    const std::uint32_t at_once = this_many("RETRYD_DEEP", version_of(s.client) < Version{4, 0} ? 1 : 5);
    const std::uint32_t deep = s.publish_until_told(at_once, 26'000);
    s.check_goes_on(neighbour, machine, begin, deep);
    s.stop();
}

TEST_CASE("a stop while a message with very deep headers is under way loses nothing, and gives no second copies",
          "[flood][busiest][night][one-version]") {
    DeepHeaders s;
    SteadyNeighbour neighbour(broker_address(), s.good, home_after);
    std::this_thread::sleep_for(seconds(2));
    const auto begin = Clock::now();
    s.publish(few, 26'000);
    REQUIRE(s.daemon.await_log("answers nothing on the channel"));
    std::this_thread::sleep_for(milliseconds(300));
    CHECK(s.daemon.terminate(seconds(15)) == 0);
    s.start();
    CHECK(s.await_depth(s.config.catch_all, few, seconds(200)));
    const auto late = neighbour.between(begin - seconds(2), Clock::now());
    REQUIRE_FALSE(late.empty());
    CHECK(late.back() < seconds(400));
    CHECK(neighbour.second_copies() == 0);
    s.stop();
}

TEST_CASE("a reload while a message with very deep headers is under way is in force at once",
          "[flood][busiest][night][one-version]") {
    DeepHeaders s;
    SteadyNeighbour neighbour(broker_address(), s.good, home_after);
    const Machine machine;
    std::this_thread::sleep_for(seconds(2));
    const auto begin = Clock::now();
    s.publish(few, 26'000);
    REQUIRE(s.daemon.await_log("answers nothing on the channel"));
    const std::string more = s.work_queue("more");
    s.retry(more, {"100ms"});
    s.reload();
    CHECK(s.daemon.await_log("connection kept"));
    Worker worker(more);
    s.client.publish("", more, {.body = "message"});
    worker.reject(worker.receive());
    worker.ack(worker.receive());
    CHECK(s.depth(s.config.catch_all) < few);  // not all are through
    CHECK(s.await_depth(s.config.catch_all, few, seconds(200)));
    const auto late = neighbour.between(begin - seconds(2), Clock::now());
    REQUIRE_FALSE(late.empty());
    CHECK(late.back() <= late_at_most + machine.slack());
    CHECK(neighbour.second_copies() == 0);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}
