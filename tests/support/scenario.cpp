#include "support/scenario.h"

#include <unistd.h>

#include "core/names.h"
#include "support/catch.h"

namespace retryd::test {

namespace {

const std::string return_exchange = "retryd.return";

std::string unique_prefix() {
    static int number = 0;
    return "t" + std::to_string(::getpid()) + "-" + std::to_string(++number) + ".";
}

/// In this process.
int scenarios_made = 0;
int scenarios_alive = 0;
Clock::time_point last_end;

/// If a quorum queue is deleted while its dead-letter worker starts, the worker's supervisor gives up (seen on RabbitMQ
/// 3.10.8 and 4.0.5), and from then on the node answers nearly everything with 541.
void await_dead_letter_worker(Clock::time_point declared) {
    constexpr milliseconds old_enough{3'000};
    await([&] { return since(declared) >= old_enough; });
}

}  // namespace

Scenario::Scenario() : client(broker_address()), prefix_(unique_prefix()) {
    config.uris = {uri_of(broker_address())};
    config.error_exchange = exchange_name("errors");
    config.error_queue = queue_name("errors");
    config.catch_all = queue_name("catch-all");
    // From the password it takes 200,000 rounds, in each process that a test starts.
    config.key_file = RETRYD_PROOF_KEY;
    if (scenarios_made++ > 0 && scenarios_alive == 0) delete_earlier_detours();
    ++scenarios_alive;
}

/// There is one set of detours in a vhost, and they lead to one error exchange: that of an earlier scenario is in the
/// way of the next.
void Scenario::delete_earlier_detours() {
    try {
        for (const core::Milliseconds delay : core::detour_delays) {
            const std::string detour = core::detour_name(delay);
            if (!exists(detour)) continue;
            await_dead_letter_worker(last_end);
            client.delete_queue(detour);
        }
    } catch (const std::exception&) {
        return;  // the test may have taken the broker away
    }
}

Scenario::~Scenario() {
    if (daemon.running()) daemon.kill();
    --scenarios_alive;
    last_end = Clock::now();
}

std::string Scenario::plain_queue(const std::string& name, const Table& arguments) {
    const std::string queue = queue_name(name);
    client.declare_queue(queue, arguments);
    return queue;
}

std::string Scenario::work_queue(const std::string& name, const Table& more_arguments) {
    Table arguments = more_arguments;
    arguments.push_back({"x-dead-letter-exchange", longstr(config.error_exchange)});
    return plain_queue(name, arguments);
}

std::string Scenario::quorum_work_queue(const std::string& name, const Table& more_arguments) {
    Table arguments = more_arguments;
    arguments.push_back({"x-queue-type", longstr("quorum")});
    return work_queue(name, arguments);
}

void Scenario::retry(const std::string& match, const std::vector<std::string>& delays, const std::string& queue_type) {
    const std::string ladder = "ladder" + std::to_string(config.ladders.size());
    config.ladders.push_back({ladder, delays, queue_type});
    config.entries.push_back({.match = match, .ladder = ladder});
}

std::string Scenario::share(const std::vector<std::string>& matches, const std::vector<std::string>& delays,
                            const std::string& queue_type) {
    // One for all of a vhost, leading to one error exchange: another scenario of the test may have left its own behind.
    client.delete_exchange(return_exchange);
    const std::string ladder =
        prefix_.substr(0, prefix_.size() - 1) + "-shared" + std::to_string(config.ladders.size());
    config.ladders.push_back({ladder, delays, queue_type, "headers"});
    for (const std::string& match : matches)
        config.entries.push_back({.match = match, .ladder = ladder});
    return ladder;
}

bool Scenario::consuming() {
    const auto state = client.look_at(config.error_queue);
    return state && state->consumers > 0;
}

void Scenario::start() {
    const std::string word = "connected to";
    const int before = daemon.lines_with({word});
    daemon.start(config.yaml());
    // The broker knows of the consumer before the daemon knows that it does, and may still know of an earlier one's. It
    // is asked last: RabbitMQ 3.8 may end the connection (541) when it is asked for a queue that is being declared.
    const auto connected = [&] { return daemon.lines_with({word}) > before && consuming(); };
    const bool ready = await([&] { return connected() || !daemon.running(); }) && daemon.running();
    INFO("the daemon must consume the error queue");
    REQUIRE(ready);
    declared_ = Clock::now();
}

void Scenario::await_declared() {
    std::vector<std::string> queues{config.catch_all};
    for (const core::Milliseconds delay : core::detour_delays)
        queues.push_back(core::detour_name(delay));
    for (const EntrySpec& entry : config.entries) {
        if (core::is_glob(entry.match)) continue;
        if (entry.parked_to.empty())
            queues.push_back(entry.parked.value_or(core::expand_queue(config.parking_template, entry.match)));
        for (const LadderSpec& ladder : config.ladders) {
            if (ladder.name != entry.ladder) continue;
            const std::string kind = entry.x_death == "keep" ? ".x-death" : "";
            for (const std::string& delay : ladder.delays)
                queues.push_back(
                    (ladder.return_path == "headers" ? shared_rung(ladder.name, delay) : rung(entry.match, delay)) +
                    kind);
        }
    }
    for (const std::string& queue : queues) {
        INFO("queue " << queue << " must be declared");
        REQUIRE(await([&] { return exists(queue); }));
    }
    declared_ = Clock::now();
}

void Scenario::delete_declared(const std::string& queue) {
    await_dead_letter_worker(declared_);
    client.delete_queue(queue);
}

void Scenario::reload_and_say_so() {
    if (has_quorum_ttl()) {
        reload();
        REQUIRE(daemon.await_log("in force from the next message on"));
    } else {
        stop();
        start();
    }
}

void Scenario::stop() {
    const std::optional<int> code = daemon.terminate();
    INFO("SIGTERM must end the daemon within " << patience.count() << " ms with exit code 0");
    REQUIRE(code.has_value());
    REQUIRE(*code == 0);
}

Received Scenario::take(const std::string& queue, milliseconds within) {
    std::optional<Received> received;
    await(
        [&] {
            // Only when it has messages: RabbitMQ 4 closes the connection (541) on a basic.get while the quorum queue
            // is being declared.
            if (depth(queue) > 0) received = client.get(queue);
            return received.has_value();
        },
        within);
    INFO("a message must come to " << queue << " within " << within.count() << " ms");
    REQUIRE(received.has_value());
    client.ack(received->tag);
    return *received;
}

std::uint32_t Scenario::depth(const std::string& queue) {
    const auto state = client.look_at(queue);
    return state ? state->messages : 0;
}

bool Scenario::await_depth(const std::string& queue, std::uint32_t messages, milliseconds within) {
    return await([&] { return depth(queue) == messages; }, within);
}

}  // namespace retryd::test
