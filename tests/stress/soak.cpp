#include "stress/soak.h"

#include <iostream>
#include <stop_token>
#include <thread>

#include "stress/trouble.h"

namespace retryd::stress {
namespace {

using test::Clock;
using test::milliseconds;
using test::seconds;

constexpr std::size_t messages_a_second = 100;
constexpr seconds between_readings{5};
constexpr int longest_peace_ms = 20'000;

/// Lets the producer have its messages and reads the daemon's footprint, beside the faults, until it is stopped.
void beat(const std::stop_token& stopped, Stage& stage, std::vector<Footprint>& readings) {
    constexpr milliseconds turn{100};
    constexpr std::size_t readings_a_minute = std::chrono::minutes(1) / between_readings;
    for (std::size_t turns = 1; !stopped.stop_requested(); ++turns) {
        std::this_thread::sleep_for(turn);
        stage.producer->allow(messages_a_second * static_cast<std::size_t>(turn.count()) / 1000);
        if (turns % (between_readings / turn) != 0) continue;
        readings.push_back(footprint_of(stage.first.pid()));
        if (readings.size() % readings_a_minute == 0)
            std::cerr << readings.size() / readings_a_minute << " min: " << to_string(readings.back()) << "; "
                      << stage.ledger.done_count() << " done" << std::endl;
    }
}

}  // namespace

std::vector<Footprint> soak(Stage& stage, std::chrono::minutes time, Outcome& outcome) {
    const Clock::time_point end = Clock::now() + time;
    const std::vector<Trouble> kinds = mild_troubles();
    std::vector<Footprint> readings;
    std::jthread beside([&](const std::stop_token& stopped) { beat(stopped, stage, readings); });
    while (Clock::now() < end) {
        const Trouble& trouble = kinds[static_cast<std::size_t>(stage.pick(0, static_cast<int>(kinds.size()) - 1))];
        trouble.happen(stage) ? ++outcome.faults[trouble.name] : ++outcome.skipped;
        stage.first.look_after();
        stage.await_consuming(seconds(20));
        stage.wait_up_to(longest_peace_ms);
    }
    beside.request_stop();
    beside.join();
    return readings;
}

}  // namespace retryd::stress
