// A random mix of load and faults on one broker; at the end every message is looked for.
//
//   stress [--broker-dir DIR] [--messages N] [--faults N] [--seed N] [--kill-only]
//   stress [--broker-dir DIR] --soak MINUTES [--seed N]
//
// The second form is a steady load with faults that retryd survives, and measures memory, descriptors and threads of
// retryd. Exit code 1 when a message was lost or is in a wrong place, or when retryd has grown. The seed gives the same
// faults in the same order, but not the same run: that depends on threads, broker and clock too.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "stress/disruption.h"
#include "stress/report.h"
#include "stress/settle.h"
#include "stress/soak.h"
#include "stress/test_bed.h"

namespace {

using namespace retryd::stress;
using namespace retryd::test;

/// Longer than RabbitMQ waits (3 min) before it tries again to dead-letter from a rung to a work queue that was
/// missing.
constexpr seconds longest_settling{420};

/// All kinds in a random order, again and again.
class ShuffledDisruptions {
  public:
    ShuffledDisruptions(const Options& options, std::mt19937& random)
        : kinds_(options.kill_only ? std::vector{kill_retryd()} : all_disruptions()), random_(random) {}

    const Disruption& next() {
        if (position_ == 0) std::shuffle(kinds_.begin(), kinds_.end(), random_);
        const Disruption& disruption = kinds_[position_];
        position_ = (position_ + 1) % kinds_.size();
        return disruption;
    }

  private:
    std::vector<Disruption> kinds_;
    std::mt19937& random_;
    std::size_t position_ = 0;
};

void print_progress(const Disruption& disruption, std::size_t number, bool happened, Clock::time_point begin,
                    const TestBed& bed) {
    std::cerr << clock_time(std::chrono::system_clock::now()) << " " << number << ": " << disruption.name
              << (happened ? "" : ": not possible now") << ", " << since(begin).count() << " ms; "
              << bed.ledger.done_count() << " done" << std::endl;
}

/// Until so many have happened. The messages are published evenly between them.
void run_disruptions(TestBed& bed, const Options& options, Outcome& outcome) {
    std::size_t allowed = 0;
    ShuffledDisruptions disruptions(options, bed.random);
    for (std::size_t number = 1; number <= options.faults;) {
        const std::size_t by_now = options.messages * number / options.faults;
        bed.producer->allow(by_now - allowed);
        allowed = by_now;
        const auto begin = Clock::now();
        const Disruption& disruption = disruptions.next();
        const bool happened = disruption.run(bed);
        bed.first.restart_if_ended();
        print_progress(disruption, number, happened, begin, bed);
        happened ? ++outcome.faults[disruption.name] : ++outcome.skipped;
        if (happened) ++number;
        // Now and then the next one comes while retryd still recovers from this one.
        if (bed.pick(0, 3) > 0) bed.await_consuming(seconds(20));
        await([&] { return bed.producer->caught_up(); }, seconds(20));
        bed.wait_up_to(1'000);
    }
}

/// How many messages the broker has dropped so far, by its log, on their way to the error queue.
std::size_t drops_in_log(const Options& options) {
    std::ifstream log(options.broker_dir + "/node/log/rabbit.log");
    std::size_t drops = 0;
    for (std::string line; std::getline(log, line);) {
        const bool of_errors = line.find("queue '" + error_queue + "' in vhost '" + vhost + "'") != std::string::npos;
        if (of_errors && line.find("Command is dropped") != std::string::npos) ++drops;
    }
    return drops;
}

void settle(TestBed& bed, Outcome& outcome) {
    std::cerr << "waiting until everything is idle ..." << std::endl;
    await([&] { return bed.producer->caught_up(); }, seconds(60));
    outcome.at_rest = await_idle(longest_settling);
    bed.producer.reset();
    bed.first.restart_if_ended();
    bed.first.terminate();
    bed.second.terminate();
    bed.consumers.clear();
    collect_all(bed.addresses, bed.ledger);
    outcome.held_by_broker = busy_queues();
    outcome.summary = bed.ledger.summary();
    for (const Sidecar* sidecar : {&bed.first, &bed.second})
        outcome.retryd_failures.insert(outcome.retryd_failures.end(), sidecar->failures().begin(),
                                       sidecar->failures().end());
}

bool run(const Options& options) {
    const std::string folder =
        std::filesystem::temp_directory_path() / ("retryd-stress-" + std::to_string(options.seed));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const auto begin = Clock::now();
    const std::size_t drops_before = drops_in_log(options);
    Outcome outcome;
    std::cerr << "seed " << options.seed << ", retryd's logs in " << folder << std::endl;
    TestBed bed(options.seed, folder);
    if (options.soak_minutes > 0)
        outcome.growth = growth_of(soak(bed, std::chrono::minutes(options.soak_minutes), outcome));
    else
        run_disruptions(bed, options, outcome);
    settle(bed, outcome);
    outcome.dropped_by_broker = drops_in_log(options) - drops_before;
    outcome.took = since(begin);
    const bool fine = print(options, connect(bed.addresses)->broker_version(), outcome);
    if (fine) std::filesystem::remove_all(folder);
    return fine;
}

}  // namespace

int main(int argc, char* argv[]) {
    Options options = read_options(argc, argv);
    enter_environment_of(options, argv);
    try {
        return run(options) ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << "stress: " << error.what() << std::endl;
        return 1;
    }
}
