// Messages that RabbitMQ cannot hand over: it ends the consuming connection with 541, for it cannot express them in
// AMQP 0-9-1. Sent as an attacker sends them, who may publish to a queue of his own and nowhere else.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "broker/connect_time.h"
#include "core/names.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/forged.h"
#include "support/hanging_queue.h"
#include "support/machine.h"
#include "support/management.h"
#include "support/other_protocols.h"
#include "support/process.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

const std::string too_long(300, 'x');

/// As many, one after the other, as it takes to use up the delivery limits, on a busy machine.
constexpr milliseconds a_hundred_connections = seconds(200);

/// Nobody consumes it, and what comes in dies at once.
struct Attack : Scenario {
    Attack()
        : work(work_queue("work")),
          attackers(work_queue("attackers", {{"x-message-ttl", int32(1)}})),
          version(version_of(client)) {
        retry(work, {"500ms"});
        client.bind(attackers, "amq.topic", "#");
    }

    /// Before 3.13 the broker counts on with a fraction of a producer's, which it cannot write as a number.
    void counted_in_fractions() {
        Table death = std::get<Table>(death_entry(work).data);
        std::erase_if(death, [](const Field& field) { return field.name == "count"; });
        death.push_back({"count", Value{'d', 1.5}});
        client.publish("", attackers, {.headers = {{"x-death", array({table(death)})}}});
    }

    void undeliverable() {
        if (version < Version{4, 0}) return amqp10::publish(attackers, {.message_id = amqp10::ulong(1)});
        amqp10::publish(attackers, {.application_properties = {{"a", amqp10::uuid()}}});
    }

    /// All ways that are known for this version. Returns how many messages that were.
    int undeliverable_in_every_way() {
        publish_mqtt(too_long, "mqtt");
        amqp10::publish(attackers, {.content_type = too_long});
        if (version < Version{4, 0}) {
            undeliverable();
            publish_stomp(attackers, too_long, "stomp");
            counted_in_fractions();
            return 5;
        }
        undeliverable();
        amqp10::publish(attackers, {.application_properties = {{"a", amqp10::character(U'ü')}}});
        amqp10::publish(attackers, {.annotations = {{"x-opt-a", amqp10::uuid()}}});
        return 5;
    }

    /// Good ones, which fail once.
    void reject(int count) {
        Worker worker(work);
        std::set<std::string> fresh;
        for (int i = 0; i < count; ++i) {
            fresh.insert(std::to_string(++good));
            client.send("", work, {.body = std::to_string(good)});
        }
        client.await_confirms();
        while (!fresh.empty()) {
            const Received message = worker.receive();
            if (fresh.erase(message.body) > 0) {
                worker.reject(message);
            } else {
                settle(worker, message);
            }
        }
    }

    void settle(Worker& worker, const Received& message) {
        ++home[message.body];
        worker.ack(message);
    }

    /// Waits until every good one is home again, and a little longer.
    void come_home(milliseconds within) {
        Worker worker(work);
        const auto deadline = Clock::now() + within;
        const auto take = [&](milliseconds wait) {
            const auto message = worker.client.next(wait);
            if (message) settle(worker, *message);
            return message.has_value();
        };
        while (static_cast<int>(home.size()) < good && Clock::now() < deadline)
            take(milliseconds(200));
        while (take(milliseconds(1500))) {
        }
    }

    void check_home(int at_most) {
        CHECK(static_cast<int>(home.size()) == good);
        for (const auto& [body, count] : home) {
            INFO("message " << body);
            CHECK(count <= at_most);
        }
        CHECK(depth(parking_of(work)) == 0);
    }

    void check_none_accused() const {
        CHECK(daemon.lines_with({"cannot be published again"}) == 0);
        CHECK(daemon.lines_with({"ended the connection: "}) == 0);
    }

    std::string work;
    std::string attackers;
    Version version;
    int good = 0;
    std::map<std::string, int> home;  // how often each has come
};

}  // namespace

TEST_CASE(
    "a message that RabbitMQ cannot hand over is in the catch-all after 30 s, and accuses none of those around it",
    "[slow][two-versions]") {
    Attack s;
    s.config.management_url = management_url();  // so that the daemon makes its checks, which a fault begins
    s.start();
    s.stop();
    s.reject(60);
    s.undeliverable();
    s.reject(60);
    REQUIRE(s.await_depth(s.config.error_queue, 121));
    const ConnectTime connecting;
    const auto begin = Clock::now();
    s.start();
    // As many as the delivery limit takes.
    const auto within = [&] { return seconds(30) + connecting.of(100); };
    CHECK(await([&] { return s.depth(s.config.catch_all) == 1 || since(begin) > within(); }, seconds(200)));
    CHECK(s.depth(s.config.catch_all) == 1);
    s.come_home(patience);
    s.check_home(2);
    s.check_none_accused();
    CHECK(s.depth(s.config.catch_all) == 1);
    CHECK(s.daemon.await_log("is out of the way now"));
    CHECK(s.daemon.lines_with({"could not hand over", "is out of the way now", s.config.catch_all}) == 1);
    CHECK(s.daemon.lines_with({"nobody consumes"}) == 0);
    s.reject(1);
    s.come_home(patience);
    s.check_home(2);
    s.stop();
}

TEST_CASE("messages that RabbitMQ cannot hand over for any reason leave one after the other, while good ones come home",
          "[slow][one-version]") {
    Attack s;
    s.start();
    // What each of them costs is shown above.
    set_policy("undeliverable-test", "^" + s.config.error_queue + "$", R"({"delivery-limit": 20})");
    s.stop();
    s.reject(30);
    const int bad = s.undeliverable_in_every_way();
    s.reject(30);
    s.start();
    CHECK(s.await_depth(s.config.catch_all, static_cast<std::uint32_t>(bad), a_hundred_connections));
    s.come_home(patience);
    s.check_home(2);
    s.check_none_accused();
    s.stop();
}

// Before 3.10 quorum queues know no strategy.
TEST_CASE("where the error queue of an earlier retryd has no limit that is reached, the policy that mends it is told",
          "[slow][two-versions][since-3.10]") {
    Attack s;
    Table arguments = {{"x-queue-type", longstr("quorum")},
                       {"x-dead-letter-exchange", longstr("")},
                       {"x-dead-letter-routing-key", longstr(s.config.catch_all)},
                       {"x-dead-letter-strategy", longstr("at-least-once")},
                       {"x-overflow", longstr("reject-publish")}};
    if (s.version >= Version{4, 0}) arguments.push_back({"x-delivery-limit", int32(1'000'000)});
    s.client.declare_queue(s.config.error_queue, arguments);
    s.start();
    const std::string command = "'{\"delivery-limit\": 100}' --apply-to queues --priority 2000";
    CHECK(await([&] { return s.daemon.lines_with({s.config.error_queue, "cannot hand over", command}) == 1; }));
    s.undeliverable();
    REQUIRE(s.daemon.await_log("no delivery limit takes it away"));
    // The next look at the head, seconds later, says it at the level "debug".
    CHECK(s.daemon.lines_with({" error ", "no delivery limit takes it away", command}) == 1);
    s.reject(20);
    set_policy("undeliverable-test", "^" + s.config.error_queue + "$", R"({"delivery-limit": 100})");
    CHECK(s.await_depth(s.config.catch_all, 1, a_hundred_connections));
    s.come_home(patience);
    s.check_home(2);
    s.stop();
}

TEST_CASE("two daemons on one error queue both meet what RabbitMQ cannot hand over, and the good ones come home",
          "[one-version]") {
    Attack s;
    s.start();
    set_policy("undeliverable-test", "^" + s.config.error_queue + "$", R"({"delivery-limit": 20})");
    s.stop();
    s.reject(40);
    s.undeliverable();
    s.reject(40);
    s.start();
    Daemon second;
    second.start(s.config.yaml());
    CHECK(s.await_depth(s.config.catch_all, 1, a_hundred_connections));
    s.come_home(patience);
    s.check_home(3);
    s.check_none_accused();
    CHECK(second.terminate() == 0);
    s.stop();
}

TEST_CASE("what waits on a rung that hangs comes home at most twice, whatever RabbitMQ cannot hand over beside it",
          "[slow][one-version]") {
    Attack s;
    const std::string stuck = s.work_queue("stuck");
    s.retry(stuck, {"500ms"});
    s.start();
    s.await_declared();
    set_policy("undeliverable-test", "^" + s.config.error_queue + "$", R"({"delivery-limit": 20})");
    HangingQueue hang(s.rung(stuck, "500ms"));
    std::map<std::string, int> copies;
    {
        Worker worker(stuck);
        s.client.publish("", stuck, {.body = "a"});
        worker.reject(worker.receive());
    }
    REQUIRE(s.daemon.await_log("does not confirm messages for queue '" + s.rung(stuck, "500ms") + "'"));
    // The rung is tried again 15 s after it fell silent, and a copy that is sent to it then comes home, too: the rounds
    // are over before that.
    const Clock::time_point hung = Clock::now();
    for (std::uint32_t bad = 1; bad <= 3 && (bad == 1 || since(hung) < seconds(8)); ++bad) {
        s.undeliverable();
        s.reject(10);
        CHECK(s.await_depth(s.config.catch_all, bad, a_hundred_connections));
    }
    s.come_home(patience);
    hang.end();
    Worker worker(stuck);
    // The first one may be on a detour of 30 s, and take another while its rung is still taken for one that hangs.
    for (auto message = worker.client.next(seconds(150)); message; message = worker.client.next(seconds(6))) {
        ++copies[message->body];
        worker.ack(*message);
    }
    CHECK(copies["a"] >= 1);
    CHECK(copies["a"] <= 2);
    s.check_home(2);
    s.stop();
}

TEST_CASE(
    "a rung and a detour that hang beside what RabbitMQ cannot hand over hold up retries no longer than they hang",
    "[slow][one-version]") {
    Attack s;
    const std::string stuck = s.work_queue("stuck");
    s.retry(stuck, {"1s"});
    s.start();
    s.await_declared();
    Worker worker(stuck);
    std::set<std::string> away;
    const auto take = [&](milliseconds within) {
        const auto message = worker.client.next(within);
        if (!message) return false;
        if (long_header(*message, "retryd-attempt") < 1) {
            worker.reject(*message);
        } else {
            away.erase(message->body);
            worker.ack(*message);
        }
        return true;
    };
    const Machine machine;
    {
        const HangingQueue rung(s.rung(stuck, "1s"));
        const HangingQueue detour(retryd::core::detour_name(retryd::core::detour_delays.front()));
        // Longer than a target may take before it counts as silent.
        for (const auto begin = Clock::now(); since(begin) < seconds(5);) {
            const std::string body = "stuck " + std::to_string(away.size());
            away.insert(body);
            s.client.publish("", stuck, {.body = body});
            take(patience);
            s.reject(1);
            take(milliseconds(500));
        }
        s.undeliverable();
        REQUIRE(s.daemon.await_log("ended the connection that consumes"));
    }
    const auto answers_again = Clock::now();
    s.come_home(patience);
    CHECK(since(answers_again) < seconds(15) + machine.slack());
    while (!away.empty())
        REQUIRE(take(patience));
    // Some have taken the detour of 30 s.
    CHECK(since(answers_again) < seconds(45) + machine.slack());
    CHECK(s.await_depth(s.config.catch_all, 1, a_hundred_connections));
    s.check_home(2);
    s.stop();
}

TEST_CASE("a dead-letter-routing-key of its own keeps what an MQTT client publishes with a long topic from being one",
          "[two-versions]") {
    Attack s;
    s.retry(s.attackers, {"100ms"});
    s.start();
    set_policy("mqtt-dies-so", "^" + s.attackers + "$", R"({"dead-letter-routing-key": "mqtt"})");
    publish_mqtt(too_long, "mqtt");
    const Received parked = s.take(s.parking_of(s.attackers));
    CHECK(parked.body == "mqtt");
    CHECK(text_header(parked, "retryd-parked-reason") == "reason-expired");
    CHECK(s.depth(s.config.catch_all) == 0);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    s.stop();
}

TEST_CASE("twelve messages that are headers for the most part cost no connection, and hold up none",
          "[slow][one-version][night][since-4.0]") {
    Attack s;
    s.start();
    s.reject(20);
    for (int i = 0; i < 12; ++i) {
        const std::string large(std::size_t{15} * 1024 * 1024, '.');
        amqp10::publish(s.attackers, {.application_properties = {{"large", amqp10::text(large)}}});
    }
    s.reject(20);
    CHECK(s.await_depth(s.config.catch_all, 12));
    s.come_home(patience);
    s.check_home(1);
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    CHECK(s.daemon.lines_with({"warning", "do not fit an AMQP frame"}) == 1);
    s.stop();
}

namespace {

std::ptrdiff_t lines_in(const std::string& file) {
    std::ifstream text(file);
    return std::count(std::istreambuf_iterator<char>(text), {}, '\n');
}

}  // namespace

// Of 3.8 they say only that nothing behind such a message can be reached.
TEST_CASE("parked commands step over what RabbitMQ cannot hand over, count it, and drop it",
          "[slow][one-version][since-3.10]") {
    Attack s;
    s.start();
    s.stop();
    const std::string queue = s.config.catch_all;
    const auto park = [&](int count) {
        for (int i = 0; i < count; ++i)
            s.client.publish("", queue, {.body = "good", .headers = died_in(s.work)});
    };
    const auto parked = [&](const std::string& words) {
        return run_retryd("parked " + words + " -c " + s.daemon.config_file() + " --from " + queue);
    };
    s.attackers = queue;
    park(100);
    s.undeliverable();
    park(30);
    amqp10::publish(queue, {.content_type = too_long});
    s.undeliverable();
    park(70);

    const CommandResult list = parked("list");
    CAPTURE(list.out, list.err);
    CHECK(list.code == 0);
    CHECK(list.says({queue + ": 203 messages"}));
    CHECK(list.says({s.work, " 200 "}));
    CHECK(list.says({"3 messages that RabbitMQ cannot hand over"}));
    CHECK(list.says({"xxxxx"}));
    CHECK(s.await_depth(queue, 203));
    const CommandResult json = parked("list --json");
    CHECK(json.code == 0);
    CHECK(json.says({"\"content_type\": \"xxxxx"}));
    CHECK(json.says({"\"looked_at\": 200"}));
    CHECK(s.await_depth(queue, 203));
    const std::string file = s.daemon.config_file() + ".ndjson";
    const CommandResult exported = parked("export " + file);
    CAPTURE(exported.out, exported.err);
    CHECK(exported.code == 1);
    CHECK(exported.says({"200 messages exported"}));
    CHECK(exported.says({"3 messages in", "cannot be exported"}));
    CHECK(lines_in(file) == 200);
    std::filesystem::remove(file);
    const CommandResult some = parked("drop --queue " + s.work + " --first 150 --yes");
    CAPTURE(some.out, some.err);
    CHECK(some.code == 0);
    CHECK(s.await_depth(queue, 53));
    const CommandResult replay = parked("replay --all");
    CAPTURE(replay.out, replay.err);
    CHECK(replay.code == 1);
    CHECK(replay.says({"50 of 50"}));
    CHECK(replay.says({"3 messages in", "cannot be replayed and stay"}));
    CHECK(s.await_depth(s.work, 50));
    CHECK(s.await_depth(queue, 3));
    const CommandResult nothing = parked("replay --all");
    CHECK(nothing.code == 1);
    CHECK(nothing.says({"Nothing that is selected can be replayed"}));
    s.client.publish("", queue, {.body = "good", .headers = died_in(s.work)});
    const CommandResult dropped = parked("drop --reason undeliverable --yes");
    CAPTURE(dropped.out, dropped.err);
    CHECK(dropped.code == 0);
    CHECK(dropped.says({"3 of 3"}));
    CHECK(s.await_depth(queue, 1));
    s.undeliverable();
    const CommandResult all = parked("drop --all --yes");
    CHECK(all.code == 0);
    CHECK(all.says({"2 of 2"}));
    CHECK(s.await_depth(queue, 0));
}

// Each connection that ends counts, and with which of them the limit is reached differs by version.
TEST_CASE("parked drop deletes nothing that comes while a delivery limit takes away what it has found",
          "[slow][two-versions]") {
    constexpr int highest_limit = 6;
    Attack s;
    s.daemon.write(s.config.yaml());
    const std::string coming = s.exchange_name("coming");
    const std::string gone = s.exchange_name("gone");
    s.client.declare_exchange(coming, "direct");
    s.client.declare_exchange(gone, "direct");
    for (int limit = 1; limit <= highest_limit; ++limit) {
        CAPTURE(limit);
        const std::string number = std::to_string(limit);
        const std::string queue = s.plain_queue("parked" + number, {{"x-queue-type", longstr("quorum")},
                                                                    {"x-delivery-limit", int32(limit)},
                                                                    {"x-dead-letter-exchange", longstr(gone)}});
        const std::string dead = s.plain_queue("dead" + number);
        s.client.bind(queue, coming, number);
        s.client.bind(dead, gone, number);
        s.attackers = queue;
        s.undeliverable();
        const std::string output = s.daemon.config_file() + number + ".out";
        Process drop({retryd_binary(), "parked", "drop", "--reason", "undeliverable", "--despite-delivery-limit",
                      "--yes", "--from", queue, "-c", s.daemon.config_file()},
                     output);
        std::uint32_t came = 0;
        for (const Clock::time_point deadline = Clock::now() + patience; Clock::now() < deadline;) {
            s.client.publish(coming, number, {.body = "good", .headers = died_in(s.work)});
            ++came;
            if (drop.wait(milliseconds(200))) break;
        }
        CHECK_FALSE(drop.running());
        std::uint32_t there = 0;
        await([&] { return (there = s.depth(queue) + s.depth(dead)) >= came; });
        CHECK(there >= came);
        std::filesystem::remove(output);
    }
}

// Each of them ends a connection; the broker would forget those beyond the first 32 of an answer in many frames.
TEST_CASE("parked drop takes out hundreds of messages that RabbitMQ cannot hand over", "[slow][night]") {
    constexpr std::uint32_t bad = 200;
    constexpr std::uint32_t good_beside_each = 3;
    Attack s;
    s.start();
    s.stop();
    const std::string queue = s.config.catch_all;
    s.attackers = queue;
    for (std::uint32_t i = 0; i < bad; ++i) {
        for (std::uint32_t n = 0; n < good_beside_each; ++n)
            s.client.send("", queue, {.body = "good", .headers = died_in(s.work)});
        s.client.await_confirms();
        s.undeliverable();
    }
    REQUIRE(s.await_depth(queue, (good_beside_each + 1) * bad));
    const CommandResult dropped =
        run_retryd("parked drop --reason undeliverable --yes --from " + queue + " -c " + s.daemon.config_file());
    CAPTURE(dropped.out, dropped.err);
    CHECK(dropped.code == 0);
    CHECK(dropped.says({"200 of 200"}));
    CHECK(s.await_depth(queue, good_beside_each * bad, a_hundred_connections));
}
