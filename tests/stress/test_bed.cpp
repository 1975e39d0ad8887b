#include "stress/test_bed.h"

#include <thread>

namespace retryd::stress {
namespace {

std::vector<std::string> loaded_queues() {
    std::vector<std::string> names;
    for (const WorkQueue& queue : work_queues()) {
        if (queue.random_load) names.push_back(queue.name);
    }
    return names;
}

}  // namespace

TestBed::TestBed(unsigned seed, std::string folder)
    : random(seed),
      addresses{as_team(test::broker_address())},
      network(test::broker_address()),
      first(folder, "first"),
      second(folder, "second") {
    create_vhost(addresses);
    first.write(yaml());
    first.start();
    if (!await_consuming(test::patience)) throw std::runtime_error("retryd does not begin: read " + first.log_file());
    for (const WorkQueue& queue : work_queues()) {
        if (queue.time_to_live == 0) consumers.push_back(std::make_unique<Consumer>(addresses, ledger, queue.name));
    }
    producer = std::make_unique<Producer>(addresses, ledger, loaded_queues(), seed);
}

void TestBed::wait_up_to(int longest_ms) {
    std::this_thread::sleep_for(test::milliseconds(pick(0, longest_ms)));
}

bool TestBed::await_consuming(test::milliseconds within) {
    return test::await(
        [&] {
            try {
                const auto state = connect(addresses)->look_at(error_queue);
                return state && state->consumers > 0;
            } catch (const std::exception&) {
                return false;
            }
        },
        within, test::milliseconds(50));
}

void TestBed::without_classic_deaths(const std::function<void()>& disrupt_broker) {
    const auto hold = [&](bool held) {
        for (const auto& consumer : consumers) {
            if (work_queue(consumer->queue()).type == "classic") consumer->hold(held);
        }
    };
    constexpr test::seconds on_the_way{1};
    constexpr test::seconds until_led{3};  // a queue without a leader reports its former consumers, so wait longer
    hold(true);
    std::this_thread::sleep_for(on_the_way);
    disrupt_broker();
    await_consuming(test::seconds(60));
    std::this_thread::sleep_for(until_led);
    hold(false);
}

Consumer& TestBed::consumer_of(const std::string& queue) {
    for (const auto& consumer : consumers) {
        if (consumer->queue() == queue) return *consumer;
    }
    throw std::runtime_error("nobody consumes " + queue);
}

}  // namespace retryd::stress
