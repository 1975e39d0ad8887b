// Messages that others put straight into a queue of held messages, and what becomes of it under the operator's hands:
// what retryd holds there goes home all the same.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broker/held_scene.h"
#include "support/broker_queue.h"
#include "support/broker_user.h"
#include "support/forged.h"
#include "support/hanging_queue.h"

using namespace retryd::test;

namespace {

/// They may publish to any queue, and read none.
struct Stranger : BrokerUser {
    explicit Stranger(std::string name) : BrokerUser(std::move(name), {.write = ".*"}) {}

    void publish(const std::string& queue, Message message) const {
        Client client(address());
        message.properties.user_id = name();
        client.publish("", queue, message);
    }
};

/// The first ones to be held are behind what `before` puts there.
void hold_behind(HeldScene& s, int messages, const std::function<void()>& before) {
    s.start();
    REQUIRE(await([&] { return takes_messages(held_of(s.work)); }));
    before();
    Worker worker(s.work, 500);
    for (int i = 1; i <= messages; ++i) {
        s.client.publish("", s.work, {.body = std::to_string(i)});
        worker.reject(worker.receive());
        REQUIRE(s.await_depth(held_of(s.work), static_cast<std::uint32_t>(i + 1)));
    }
}

}  // namespace

TEST_CASE("somebody else's message with their user-id among the held ones: all go home", "[one-version]") {
    HeldScene s;
    const Stranger stranger(s.queue_name("stranger"));
    hold_behind(s, 10, [&] { stranger.publish(held_of(s.work), {.body = "0"}); });
    // At once: whose queue that is has not been looked at yet.
    s.take_away();
    Worker worker(s.work);
    s.take_home(worker, 11);
    CHECK(s.copies() == 11);
    CHECK(s.daemon.await_log("nothing of '" + s.work + "' is held any more"));
    CHECK(s.daemon.lines_with({"cannot be sent home"}) == 0);
    s.stop();
}

TEST_CASE("a message that nobody can read at the head of the held ones: it stays, the others are probed and go home",
          "[one-version]") {
    HeldScene s;
    hold_behind(s, 10, [&] {
        s.client.publish("", held_of(s.work), {.body = "0", .headers = {{"deep", nested_tables(150)}}});
    });
    s.stop();
    s.hold_by_itself();
    s.start();
    Worker worker(s.work);
    s.take_home(worker, 10);
    CHECK(s.copies() == 10);
    CHECK(s.daemon.await_log("nothing of '" + s.work + "' is held any more"));
    CHECK(s.daemon.lines_with({"cannot be sent home", "nest too deep"}) == 1);
    CHECK(s.await_depth(held_of(s.work), 1));
    s.stop();
}

TEST_CASE("the queue of held messages is deleted: what fails afterwards is held again, and goes home",
          "[one-version]") {
    HeldScene s;
    s.start();
    s.fill(20);
    s.client.delete_queue(held_of(s.work));
    Worker worker(s.work);
    s.send(5);
    s.reject(worker, 5);
    REQUIRE(s.await_depth(held_of(s.work), 5));
    s.take_away();
    s.take_home(worker, 5);
    CHECK(s.daemon.await_log("nothing of '" + s.work + "' is held any more"));
    s.stop();
}

TEST_CASE("five queues of held messages that hang: another one's go home, and theirs once they answer",
          "[slow][night][one-version]") {
    HeldScene s;
    std::vector<std::string> others;
    for (int i = 0; i < 5; ++i) {
        others.push_back(s.quorum_work_queue("other" + std::to_string(i)));
        s.retry(others.back(), {"100ms"});
        s.entry().hold = true;
    }
    s.start();
    s.fill(3);
    for (const std::string& other : others) {
        Worker worker(other);
        s.client.publish("", other, {.body = "0"});
        worker.reject(worker.receive());
        REQUIRE(s.await_depth(held_of(other), 1));
    }
    s.stop();
    for (EntrySpec& entry : s.config.entries)
        entry.hold = false;
    std::vector<std::unique_ptr<HangingQueue>> hanging;
    for (const std::string& other : others)
        hanging.push_back(std::make_unique<HangingQueue>(held_of(other)));
    s.start();
    Worker worker(s.work);
    s.take_home(worker, 3);
    CHECK(s.daemon.await_log("nothing of '" + s.work + "' is held any more"));
    hanging.clear();
    for (const std::string& other : others)
        CHECK(s.daemon.await_log("nothing of '" + other + "' is held any more", seconds(120)));
    s.stop();
}

TEST_CASE("probes without counters: a management API that is gone does not keep messages held",
          "[night][one-version]") {
    HeldScene s;
    s.start();
    s.fill(20);
    s.stop();
    s.hold_by_itself();
    s.config.management_url = "http://127.0.0.1:9";  // nobody listens there
    s.start();
    Worker worker(s.work);
    while (s.times.size() < 20) {
        const Received message = worker.receive(seconds(150));
        ++s.times[message.body];
        worker.ack(message);
    }
    CHECK(s.copies() == 20);
    s.stop();
}
