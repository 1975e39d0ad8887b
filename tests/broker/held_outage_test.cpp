// An outage with a real consumer: what the consumer needs dies in the midst of steady traffic, and comes back. Nobody
// pays with an attempt, nothing is parked, and the consumer is not flooded afterwards.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/environment.h"
#include "support/machine.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// A consumer in a thread of its own that rejects everything while what it needs is down, and now and then what it
/// always rejects.
class DependentService {
  public:
    explicit DependentService(const std::string& queue) : thread_([this, queue] { run(queue); }) {}
    ~DependentService() {
        stop_ = true;
        thread_.join();
    }
    DependentService(const DependentService&) = delete;
    DependentService& operator=(const DependentService&) = delete;

    std::atomic<bool> down = false;
    std::atomic<int> poison_of_hundred = 0;  // these fail once, at their first attempt
    std::atomic<int> milliseconds_each = 0;
    std::atomic<int> deliveries = 0;
    std::atomic<int> rejected = 0;
    std::atomic<int> probes = 0;  // deliveries of held messages while it was down

    std::size_t done() const {
        const std::lock_guard lock(mutex_);
        return done_.size();
    }
    std::map<std::string, std::int64_t> attempts() const {
        const std::lock_guard lock(mutex_);
        return done_;
    }
    int copies() const {
        const std::lock_guard lock(mutex_);
        return copies_;
    }
    /// When the held messages came that it could process.
    std::vector<Clock::time_point> released() const {
        const std::lock_guard lock(mutex_);
        return released_;
    }

  private:
    void run(const std::string& queue) {
        Worker worker(queue, 50);
        while (!stop_) {
            const auto message = worker.client.next(milliseconds(20));
            if (!message) continue;
            ++deliveries;
            const bool was_held = find(message->headers, "retryd-held-since") != nullptr;
            const bool fresh = find(message->headers, "retryd-attempt") == nullptr;
            const bool poison = fresh && std::stoi(message->body) % 100 < poison_of_hundred;
            if (milliseconds_each > 0) std::this_thread::sleep_for(milliseconds(milliseconds_each));
            if (down || poison) {
                if (was_held) ++probes;
                ++rejected;
                worker.reject(*message);
                continue;
            }
            const std::lock_guard lock(mutex_);
            if (was_held) released_.push_back(Clock::now());
            if (!done_.emplace(message->body, fresh ? 0 : long_header(*message, "retryd-attempt")).second) ++copies_;
            worker.ack(*message);
        }
    }

    std::atomic<bool> stop_ = false;
    mutable std::mutex mutex_;
    std::map<std::string, std::int64_t> done_;
    int copies_ = 0;
    std::vector<Clock::time_point> released_;
    std::thread thread_;
};

/// Sends so many a second, in a thread of its own.
class SteadyTraffic {
  public:
    SteadyTraffic(const std::string& queue, int per_second)
        : per_second_(per_second), thread_([this, queue, per_second] { run(queue, per_second); }) {}
    ~SteadyTraffic() { stop(); }
    SteadyTraffic(const SteadyTraffic&) = delete;
    SteadyTraffic& operator=(const SteadyTraffic&) = delete;
    int sent() const { return sent_; }
    /// As much more as is sent in that time.
    bool await_more(milliseconds time) const {
        const int until = sent_ + static_cast<int>(time.count() * per_second_ / 1'000);
        return await([&] { return sent_ >= until; }, time + seconds(60));
    }
    int stop() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
        return sent_;
    }

  private:
    void run(const std::string& queue, int per_second) {
        Client client(broker_address());
        const Clock::time_point start = Clock::now();
        while (!stop_) {
            const auto due = static_cast<int>(since(start).count() * per_second / 1'000);
            for (; sent_ < due; ++sent_)
                client.send("", queue, {.body = std::to_string(sent_), .properties = {.delivery_mode = 2}});
            client.await_confirms();
            std::this_thread::sleep_for(milliseconds(20));
        }
    }

    std::atomic<bool> stop_ = false;
    std::atomic<int> sent_ = 0;
    const int per_second_;
    std::thread thread_;
};

struct OutageScene : Scenario {
    explicit OutageScene(const std::string& rule = "{of: 20, within: 5s, probe: 1s, release: 50/s}",
                         milliseconds probe_every = seconds(1))
        : work(quorum_work_queue("work")), probe(probe_every) {
        config.management_url = management_url();
        retry(work, {"1s", "2s", "3s"});
        entry().outage = rule;
    }

    bool await_outage(milliseconds within = seconds(30)) { return daemon.await_log("an outage", within); }
    bool await_end(milliseconds within = seconds(90)) { return daemon.await_log("is held any more", within); }
    std::uint32_t held() { return depth(work + ".held"); }
    bool await_held(std::uint32_t messages) {
        return await([&] { return held() >= messages; }, seconds(60));
    }

    std::string work;
    milliseconds probe;
};

/// No second has seen more than the rate of that moment: 50 at first, twice as many every 3 s. A consumer that was held
/// up itself sees later what had come before.
void check_rate(const std::vector<Clock::time_point>& released, int first, milliseconds slack) {
    REQUIRE(!released.empty());
    const Clock::time_point begin = released.front();
    std::map<std::int64_t, int> by_second;
    for (const Clock::time_point at : released)
        ++by_second[std::chrono::duration_cast<std::chrono::seconds>(at - begin).count()];
    for (const auto& [second, count] : by_second) {
        CAPTURE(second, count);
        const double rate = first * static_cast<double>(1 << std::min<std::int64_t>((second + 1) / 3, 7));
        CHECK(count <= rate * 1.1 + 3 + rate * static_cast<double>(slack.count()) / 1'000);
    }
}

void prove(OutageScene& s, int per_second, milliseconds before, milliseconds outage) {
    s.start();
    const Machine machine;
    DependentService service(s.work);
    SteadyTraffic producer(s.work, per_second);
    REQUIRE(producer.await_more(before));
    CHECK(s.daemon.lines_with({"an outage"}) == 0);
    const Clock::time_point died = Clock::now();
    service.down = true;
    REQUIRE(s.await_outage(seconds(45) + machine.slack()));
    std::cout << "noticed after " << since(died).count() << " ms\n";
    const Clock::time_point noticed = Clock::now();
    service.probes = 0;
    const int deliveries_before = service.deliveries;
    REQUIRE(producer.await_more(std::max(milliseconds(seconds(4)), outage - since(died))));
    const int probes = service.probes;
    const int deliveries = service.deliveries - deliveries_before;
    std::cout << probes << " probes among " << deliveries << " deliveries, " << s.held() << " held\n";
    INFO(probes << " probes among " << deliveries << " deliveries");
    CHECK(probes <= since(noticed) / s.probe + 2);
    // Fresh ones that fail tell as much.
    if (since(noticed) > 3 * s.probe) CHECK(machine.await([&] { return service.probes > 0; }, milliseconds(0)));
    CHECK(s.held() > 0);
    service.down = false;
    const Clock::time_point recovered = Clock::now();
    CHECK(s.daemon.await_log("sending home what is held", seconds(30) + machine.slack()));
    std::cout << "released after " << since(recovered).count() << " ms\n";
    REQUIRE(s.await_end(seconds(120)));
    std::cout << "nothing held after " << since(recovered).count() << " ms\n";
    const auto sent = static_cast<std::size_t>(producer.stop());
    CHECK(await([&] { return service.done() == sent; }, seconds(60)));
    CHECK(service.done() == sent);
    std::cout << sent << " sent, " << service.deliveries << " deliveries, " << service.rejected << " rejected, "
              << s.depth(s.parking_of(s.work)) << " parked\n";
    CHECK(s.depth(s.parking_of(s.work)) == 0);
    CHECK(s.depth(s.config.catch_all) == 0);
    for (const auto& [body, attempt] : service.attempts()) {
        CAPTURE(body);
        CHECK(attempt == 0);
    }
    if (s.daemon.lines_with({"was lost"}) == 0) CHECK(service.copies() == 0);  // a connection that ends may make some
    check_rate(service.released(), 50, machine.slack());
    s.stop();
}

/// After so much traffic it would be an outage, if it were one.
bool await_judgement(const SteadyTraffic& producer) {
    return producer.await_more(seconds(15));
}

}  // namespace

TEST_CASE("a dependency dies in the midst of traffic and comes back: nothing parked, no attempt spent, no flood",
          "[slow][one-version]") {
    OutageScene s;
    prove(s, 50, seconds(3), seconds(10));
}

TEST_CASE("20,000 messages and five minutes of outage: nothing parked, no attempt spent, no flood",
          "[slow][night][one-version]") {
    const char* const shorter = std::getenv("RETRYD_OUTAGE_SECONDS");  // to try out a change
    OutageScene s("{of: 20, within: 30s, probe: 10s, release: 50/s}", seconds(10));
    prove(s, 60, seconds(15), seconds(shorter == nullptr ? 300 : std::stoi(shorter)));
}

TEST_CASE("the same five minutes without `outage`: most of them are parked", "[slow][night][one-version]") {
    OutageScene s;
    s.entry().outage.clear();
    s.start();
    DependentService service(s.work);
    SteadyTraffic producer(s.work, 60);
    REQUIRE(producer.await_more(seconds(15)));
    const int before = producer.sent();
    service.down = true;
    REQUIRE(producer.await_more(seconds(300)));
    const int meanwhile = producer.sent() - before;
    service.down = false;
    REQUIRE(producer.await_more(seconds(15)));
    const auto sent = static_cast<std::size_t>(producer.stop());
    CHECK(await([&] { return service.done() + s.depth(s.parking_of(s.work)) == sent; }, seconds(60)));
    const std::uint32_t parked = s.depth(s.parking_of(s.work));
    std::cout << sent << " sent, " << service.deliveries << " deliveries, " << service.rejected << " rejected, "
              << parked << " parked\n";
    CHECK(2 * parked >= static_cast<std::uint32_t>(meanwhile));  // the rest waits for a slow consumer meanwhile
    s.stop();
}

TEST_CASE("one in a hundred is poison: nothing is held", "[night][one-version]") {
    OutageScene s;
    s.start();
    DependentService service(s.work);
    service.poison_of_hundred = 1;
    SteadyTraffic producer(s.work, 200);
    REQUIRE(await_judgement(producer));
    const auto sent = static_cast<std::size_t>(producer.stop());
    CHECK(await([&] { return service.done() == sent; }, seconds(30)));
    CHECK(service.rejected > 10);
    CHECK(s.daemon.lines_with({"an outage"}) == 0);
    CHECK(s.held() == 0);
    s.stop();
}

TEST_CASE("two messages that fail again and again: parked when their ladder is used up, never held", "[one-version]") {
    OutageScene s;
    s.start();
    Worker worker(s.work);
    s.client.publish("", s.work, {.body = "0"});
    s.client.publish("", s.work, {.body = "1"});
    for (int deliveries = 0; deliveries < 8; ++deliveries)
        worker.reject(worker.receive());
    REQUIRE(s.await_depth(s.parking_of(s.work), 2));
    CHECK(s.held() == 0);
    s.stop();
}

TEST_CASE("a slow consumer is no outage", "[night][one-version]") {
    OutageScene s;
    s.start();
    DependentService service(s.work);
    service.milliseconds_each = 100;
    service.poison_of_hundred = 10;
    SteadyTraffic producer(s.work, 20);
    REQUIRE(await_judgement(producer));
    CHECK(service.rejected > 5);
    CHECK(s.daemon.lines_with({"an outage"}) == 0);
    CHECK(s.held() == 0);
    s.stop();
}

TEST_CASE("counters that cannot be asked for: all fails, and nothing is held", "[night][one-version]") {
    OutageScene s;
    s.config.management_url = "http://127.0.0.1:1";
    s.start();
    DependentService service(s.work);
    service.poison_of_hundred = 100;
    SteadyTraffic producer(s.work, 20);
    REQUIRE(await_judgement(producer));
    CHECK(service.rejected > 100);
    CHECK(s.daemon.lines_with({"an outage"}) == 0);
    CHECK(s.held() == 0);
    s.stop();
}

TEST_CASE("kill -9 while it holds and while it releases: held messages are found, probed and sent home",
          "[night][one-version]") {
    OutageScene s;
    s.start();
    DependentService service(s.work);
    SteadyTraffic producer(s.work, 50);
    REQUIRE(await([&] { return service.done() > 50; }, seconds(30)));
    service.down = true;
    REQUIRE(s.await_outage());
    REQUIRE(s.await_held(100));
    s.daemon.kill();
    s.start();
    REQUIRE(s.await_outage());
    REQUIRE(await([&] { return service.probes > 2; }, seconds(30)));
    service.down = false;
    REQUIRE(s.daemon.await_log("sending home what is held", seconds(60)));
    s.daemon.kill();
    s.start();
    REQUIRE(s.await_end(seconds(120)));
    const auto sent = static_cast<std::size_t>(producer.stop());
    CHECK(await([&] { return service.done() == sent; }, seconds(60)));
    CHECK(s.depth(s.parking_of(s.work)) == 0);
    s.stop();
}

TEST_CASE("two daemons, and an outage: one of them releases, and nothing is lost", "[night][one-version]") {
    OutageScene s;
    s.start();
    Daemon second;
    second.start(s.config.yaml());
    REQUIRE(await([&] { return s.client.look_at(s.config.error_queue)->consumers == 2; }));
    DependentService service(s.work);
    SteadyTraffic producer(s.work, 50);
    REQUIRE(await([&] { return service.done() > 200; }, seconds(30)));
    service.down = true;
    REQUIRE(s.await_outage(seconds(45)));
    REQUIRE(second.await_log("an outage", seconds(45)));
    REQUIRE(s.await_held(300));
    service.down = false;
    CHECK(await([&] { return s.held() == 0; }, seconds(90)));
    const auto sent = static_cast<std::size_t>(producer.stop());
    CHECK(await([&] { return service.done() == sent; }, seconds(60)));
    if (s.daemon.lines_with({"was lost"}) + second.lines_with({"was lost"}) == 0) CHECK(service.copies() == 0);
    CHECK(s.depth(s.parking_of(s.work)) == 0);
    CHECK(second.terminate() == 0);
    s.stop();
}

TEST_CASE("a relapse: what is sent home fails again, and is held again", "[night][one-version]") {
    OutageScene s;
    s.start();
    DependentService service(s.work);
    SteadyTraffic producer(s.work, 50);
    REQUIRE(await([&] { return service.done() > 50; }, seconds(30)));
    service.down = true;
    REQUIRE(s.await_outage());
    REQUIRE(s.await_held(300));
    service.down = false;
    REQUIRE(s.daemon.await_log("sending home what is held", seconds(30)));
    service.down = true;
    CHECK(s.daemon.await_log("failed again", seconds(30)));
    service.down = false;
    REQUIRE(s.await_end(seconds(120)));
    const auto sent = static_cast<std::size_t>(producer.stop());
    CHECK(await([&] { return service.done() == sent; }, seconds(60)));
    CHECK(s.depth(s.parking_of(s.work)) == 0);
    s.stop();
}
