// Held messages survive what ends retryd or the broker, in each phase: while they are held, probed, and sent home.
#include <functional>
#include <optional>

#include "broker/held_scene.h"

using namespace retryd::test;

namespace {

constexpr int held_in_each_phase = 60;

/// `strike` ends something and waits until it works again, with a daemon of the configuration as it is by then. After a
/// start held messages are probed first: nobody knows whether the outage is over.
void strike_in_each_phase(HeldScene& s, const std::function<void()>& strike) {
    s.start();
    s.fill(held_in_each_phase);
    s.hold_by_itself();
    strike();  // while they are held
    REQUIRE(s.daemon.await_log("an outage"));
    std::optional<Worker> worker(s.work);
    for (int probes = 0; probes < 2; ++probes)
        worker->reject(worker->receive());
    worker.reset();
    strike();  // while they are probed
    worker.emplace(s.work);
    worker->reject(worker->receive());
    s.take_home(*worker, 10);
    REQUIRE(s.daemon.await_log("sending home what is held"));
    worker.reset();
    strike();  // while they are sent home
    worker.emplace(s.work);
    s.take_home(*worker, held_in_each_phase);
    for (const auto& [body, attempt] : s.attempts)
        CHECK(attempt == 0);
    CHECK(s.daemon.await_log("is held any more", seconds(30)));
    s.stop();
    Client client(broker_address());
    for (const std::string& queue : {s.parking_of(s.work), s.config.catch_all}) {
        CAPTURE(queue);
        const auto parked = client.look_at(queue);
        CHECK((!parked || parked->messages == 0));
    }
}

}  // namespace

TEST_CASE("kill -9 while messages are held, probed and sent home: none is lost, none pays with an attempt", "[night]") {
    HeldScene s;
    strike_in_each_phase(s, [&] {
        s.daemon.kill();
        s.start();
    });
}

TEST_CASE("a restart of the broker while messages are held, probed and sent home: none is lost, none pays",
          "[own-broker][night]") {
    HeldScene s;
    bool first = true;
    strike_in_each_phase(s, [&] {
        if (std::exchange(first, false)) s.stop();  // only a start probes what was held by hand
        control_broker("restart");
        Client again(broker_address());
        if (!s.daemon.running()) s.daemon.start(s.config.yaml());
        REQUIRE(await(
            [&] {
                const auto errors = again.look_at(s.config.error_queue);
                return errors && errors->consumers > 0;
            },
            seconds(60)));
    });
}

TEST_CASE("a reload that takes the entry away: what is held goes home, and what fails again is parked as no-entry") {
    HeldScene s;
    s.config.management_url = management_url();
    const std::string other = s.work_queue("other");
    s.retry(other, {"1s"});
    s.start();
    s.fill(3);
    s.config.entries.erase(s.config.entries.begin());
    s.reload();
    Worker worker(s.work);
    worker.reject(worker.receive());
    s.take_home(worker, 2);
    const Received parked = s.take(s.config.catch_all);
    CHECK(text_header(parked, "retryd-parked-reason") == "no-entry");
    CHECK(s.daemon.await_log("is held any more", seconds(30)));
    s.stop();
}
