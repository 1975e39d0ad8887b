#include "stress/soak.h"

#include <iostream>
#include <stop_token>
#include <thread>

#include "stress/disruption.h"

namespace retryd::stress {
namespace {

using test::Clock;
using test::milliseconds;
using test::seconds;

constexpr std::size_t messages_a_second = 100;
constexpr seconds between_readings{5};
constexpr int longest_pause_ms = 20'000;

/// Beside the disruptions, until it is stopped: allows the producer its messages and measures the daemon's footprint.
void load_and_measure(const std::stop_token& stopped, TestBed& bed, std::vector<Footprint>& readings) {
    constexpr milliseconds turn{100};
    constexpr std::size_t readings_a_minute = std::chrono::minutes(1) / between_readings;
    for (std::size_t turns = 1; !stopped.stop_requested(); ++turns) {
        std::this_thread::sleep_for(turn);
        bed.producer->allow(messages_a_second * static_cast<std::size_t>(turn.count()) / 1000);
        if (turns % (between_readings / turn) != 0) continue;
        readings.push_back(footprint_of(bed.first.pid()));
        if (readings.size() % readings_a_minute == 0)
            std::cerr << readings.size() / readings_a_minute << " min: " << to_string(readings.back()) << "; "
                      << bed.ledger.done_count() << " done" << std::endl;
    }
}

}  // namespace

std::vector<Footprint> soak(TestBed& bed, std::chrono::minutes time, Outcome& outcome) {
    const Clock::time_point end = Clock::now() + time;
    const std::vector<Disruption> kinds = mild_disruptions();
    std::vector<Footprint> readings;
    std::jthread beside([&](const std::stop_token& stopped) { load_and_measure(stopped, bed, readings); });
    while (Clock::now() < end) {
        const Disruption& disruption = kinds[static_cast<std::size_t>(bed.pick(0, static_cast<int>(kinds.size()) - 1))];
        disruption.run(bed) ? ++outcome.faults[disruption.name] : ++outcome.skipped;
        bed.first.restart_if_ended();
        bed.await_consuming(seconds(20));
        bed.wait_up_to(longest_pause_ms);
    }
    beside.request_stop();
    beside.join();
    return readings;
}

}  // namespace retryd::stress
