// Bodies that fit no socket, on their way to a broker that stops reading: an alarm is nobody's fault, however long it
// lasts and wherever it catches a message.
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "support/alarm.h"
#include "support/catch.h"
#include "support/forged.h"
#include "support/machine.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

/// 17 s in every run of the tests; by hand as long as one likes.
milliseconds alarm_time() {
    const char* const seconds_of_alarm = std::getenv("RETRYD_TEST_ALARM_SECONDS");
    return seconds(seconds_of_alarm == nullptr ? 17 : std::stoi(seconds_of_alarm));
}

struct Bodies : Scenario {
    explicit Bodies(bool over_tls) : work(work_queue("work")) {
        retry(work, {"200ms"});
        // So that two pass during the alarm. RabbitMQ 3.10 with 100 MiB in hand has been silent for 8 s on a busy
        // machine.
        config.heartbeat = "8s";
        if (over_tls) {
            config.uris = {tls_broker_uri()};
            config.tls = "{ca_file: " + certificate("ca.pem") + ", cert_file: " + certificate("client.pem") +
                         ", key_file: " + certificate("client.key") + "}";
        }
    }

    void make_queues() {
        start();
        stop();
        connected_before = daemon.lines_with({"consuming '"});
    }

    /// One message of each size, as if the work queue had rejected it, and small ones around them.
    void reject_all() {
        for (const std::size_t size : sizes) {
            reject(size);
            reject(100);
        }
        client.await_confirms();
    }
    void reject_largest() {
        const Clock::time_point start = Clock::now();
        reject(largest());
        client.await_confirms();
        largest_takes = since(start);
    }
    void reject(std::size_t size) {
        const std::string id = std::to_string(copies.size()) + " of " + std::to_string(size);
        std::string body(size, '.');
        for (std::size_t i = 0; i < size; i += 997)
            body[i] = static_cast<char>(i / 997 + copies.size());
        sent[id] = std::hash<std::string>{}(body);
        copies[id] = 0;
        client.send(config.error_exchange, "",
                    {.body = body, .headers = died_in(work), .properties = {.delivery_mode = 2, .message_id = id}});
    }

    /// From 4.0 on a broker takes at most 16 MiB, before at most 128 MiB; but with 100 MiB the log of 3.8.9's quorum
    /// queues hangs for good in a write (ra_log_wal).
    std::size_t largest() {
        const Version version = version_of(client);
        return version < Version{4, 0} && has_quorum_ttl() ? 100 * mib : 16 * mib;
    }

    void check_all_come_home_once() {
        Worker worker(work);
        std::size_t home = 0;
        while (home < copies.size()) {
            const Received back = worker.receive();
            const std::string id = back.properties.message_id.value_or("");
            CAPTURE(id);
            CHECK(copies.count(id) == 1);
            CHECK(sent[id] == std::hash<std::string>{}(back.body));
            CHECK(++copies[id] == 1);
            ++home;
            worker.ack(back);
        }
        CHECK(await_depth(config.error_queue, 0));
        CHECK(worker.stays_idle(milliseconds(500)));
        CHECK(depth(config.catch_all) == 0);
        CHECK(depth(parking_of(work)) == 0);
    }
    void check_never_reconnected() {
        CHECK(daemon.lines_with({"was lost"}) == 0);
        CHECK(daemon.lines_with({"closed the connection"}) == 0);
        CHECK(daemon.lines_with({"has hung"}) == 0);
        CHECK(daemon.lines_with({"consuming '"}) == connected_before + 1);
    }

    /// It answers, and reads what the broker says, all the time. Where the machine takes long to move a large body, the
    /// daemon may too: it receives it, and copies what has to wait.
    void sit_out() {
        const Machine machine;
        milliseconds longest{0};
        const Clock::time_point end = Clock::now() + alarm_time();
        while (Clock::now() < end) {
            const Clock::time_point asked = Clock::now();
            const int before = daemon.lines_with({"nonsense"});
            daemon.reload(config.yaml() + "nonsense: 1\n");
            REQUIRE(machine.await([&] { return daemon.lines_with({"nonsense"}) > before; },
                                  seconds(3) + 3 * largest_takes));
            longest = std::max(longest, since(asked));
            await([] { return false; }, milliseconds(500));
        }
        CHECK(daemon.running());
    }

    std::string work;
    int connected_before = 0;
    milliseconds largest_takes{0};
    std::vector<std::size_t> sizes{100 * kib, 256 * kib, mib, 8 * mib};
    std::map<std::string, int> copies;
    std::map<std::string, std::size_t> sent;
};

}  // namespace

// The broker says that it is blocked only once it has got the beginning of a publication: the first one is sent by a
// daemon that knows of no alarm.
TEST_CASE("large bodies and an alarm that is there before them: they wait, and all come home once",
          "[own-broker][night]") {
    const auto [over_tls, first] =
        GENERATE(std::pair{false, 256 * kib}, std::pair{false, 8 * mib}, std::pair{true, 8 * mib});
    CAPTURE(over_tls, first);
    Bodies s(over_tls);
    s.make_queues();
    s.reject(first);
    s.reject_all();
    s.reject_largest();
    Alarm alarm(Alarm::Cause::memory);
    s.start();
    CHECK(s.daemon.await_log("the broker takes no messages"));
    s.sit_out();
    alarm.end();
    s.check_all_come_home_once();
    s.check_never_reconnected();
    s.stop();
}

TEST_CASE("large bodies and an alarm while they are sent: what is half sent waits as well, and all come home once",
          "[own-broker][one-version][night]") {
    const bool over_tls = GENERATE(false, true);
    CAPTURE(over_tls);
    Bodies s(over_tls);
    s.make_queues();
    std::unique_ptr<Alarm> alarm;
    const Machine machine;
    for (int round = 0; round < 5 && !alarm; ++round) {
        for (int i = 0; i < 8; ++i)
            s.reject_all();
        if (round == 0) s.start();
        alarm = std::make_unique<Alarm>(Alarm::Cause::memory);  // while it sends: it catches some message at some byte
        const auto caught = [&] { return s.daemon.lines_with({"the broker takes no messages"}) > 0; };
        if (!machine.await(caught, seconds(3))) alarm.reset();  // all had been sent
    }
    REQUIRE(alarm);
    s.sit_out();
    alarm->end();
    s.check_all_come_home_once();
    s.check_never_reconnected();
    s.stop();
}
