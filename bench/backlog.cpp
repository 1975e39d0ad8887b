#include "backlog.h"

#include <algorithm>
#include <future>
#include <stdexcept>

#include "support/environment.h"
#include "support/proof.h"

namespace retryd::bench {

using namespace retryd::test;

namespace {

constexpr seconds long_enough{900};
constexpr seconds without_progress{60};

/// As a producer writes it; behind the first step of the ladder as retryd gave it back.
ConfigFile config_of_proof() {
    ConfigFile config;
    config.uris = {uri_of(broker_address())};
    config.error_queue = error_queue;
    return config;
}

Message message_of(const Stage& stage, const Load& load, int work_queue, int steps_done) {
    Message message;
    message.body.assign(load.body_bytes, 'x');
    message.properties.content_type = "application/octet-stream";
    message.properties.delivery_mode = std::uint8_t{2};
    message.properties.message_id = "5f0c6f9e-8d0b-4c55-9f63-6f2f9a4f4d11";
    for (int i = 0; i < load.headers; ++i)
        message.headers.push_back({"x-header-" + std::to_string(i), longstr("a header's value")});
    if (steps_done > 0) {
        message.headers.push_back({"retryd-queue", longstr(stage.work_queue(work_queue))});
        message.headers.push_back({"retryd-attempt", int64(steps_done)});
    }
    if (steps_done > 0) message.headers = proven(std::move(message.headers), config_of_proof());
    return message;
}

void publish_all(const Stage& stage, const Load& load) {
    Client producer(broker_address());
    const int queues = stage.layout().work_queues;
    std::vector<Message> messages;
    for (int step = 0; step < load.steps; ++step)
        messages.push_back(message_of(stage, load, 0, step));
    for (std::uint32_t i = 0; i < load.messages; ++i) {
        const auto round = i / static_cast<std::uint32_t>(queues);
        const int queue = static_cast<int>(i) % queues;
        producer.send("", stage.work_queue(queue), messages[round % messages.size()]);
        // Work queues stay short: what is rejected in time is never written twice.
        if (i % 2000 == 1999) producer.await_confirms(without_progress);
    }
    producer.await_confirms(without_progress);
}

}  // namespace

void reject_messages(Stage& stage, const Load& load) {
    if (load.steps > 1 && stage.layout().work_queues > 1) throw std::logic_error("steps are for one work queue only");
    Client worker(broker_address());
    constexpr std::uint16_t unacknowledged = 1000;
    for (int n = 0; n < stage.layout().work_queues; ++n)
        worker.consume(stage.work_queue(n), unacknowledged);
    auto producing = std::async(std::launch::async, [&] { publish_all(stage, load); });
    for (std::uint32_t i = 0; i < load.messages; ++i) {
        const auto received = worker.next(without_progress);
        if (!received) throw std::runtime_error("the work queues deliver no more: no backlog can be made");
        worker.reject(received->tag, false);
    }
    producing.get();
    // Its rejections must have been read before it goes: an answer on the same connection follows them.
    worker.look_at(error_queue);
}

void make_backlog(Stage& stage, const Load& load, std::uint32_t held) {
    reject_messages(stage, load);
    const std::uint32_t ready = load.messages - std::min(held, load.messages);
    if (!await([&] { return stage.depth(error_queue) == ready; }, long_enough)) {
        throw std::runtime_error("of " + std::to_string(ready) + " rejected messages " +
                                 std::to_string(stage.depth(error_queue)) + " arrived in the error queue");
    }
}

}  // namespace retryd::bench
