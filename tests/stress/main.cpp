// A random mix of load and faults on one broker; at the end every message is looked for.
//
//   stress [--broker-dir DIR] [--messages N] [--faults N] [--seed N] [--kill-only]
//   stress [--broker-dir DIR] --soak MINUTES [--seed N]
//
// The second is a steady load with faults that retryd lives through, and reads what retryd takes of the machine.
// Exit code 1 when a message was lost or is where it cannot belong, or retryd has grown. The seed gives the same faults
// in the same order, not the same run: the threads, the broker and the clock have their part in it.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "stress/report.h"
#include "stress/settle.h"
#include "stress/soak.h"
#include "stress/stage.h"
#include "stress/trouble.h"

namespace {

using namespace retryd::stress;
using namespace retryd::test;

/// Longer than RabbitMQ waits (3 min) before it tries again to bring home what waits on a rung for a missing queue.
constexpr seconds longest_settling{420};

/// All kinds in a random order, again and again.
class Deck {
  public:
    Deck(const Options& options, std::mt19937& random)
        : kinds_(options.kill_only ? std::vector{kill_retryd()} : all_troubles()), random_(random) {}

    const Trouble& draw() {
        if (next_ == 0) std::shuffle(kinds_.begin(), kinds_.end(), random_);
        const Trouble& drawn = kinds_[next_];
        next_ = (next_ + 1) % kinds_.size();
        return drawn;
    }

  private:
    std::vector<Trouble> kinds_;
    std::mt19937& random_;
    std::size_t next_ = 0;
};

void say(const Trouble& trouble, std::size_t number, bool happened, Clock::time_point begin, const Stage& stage) {
    std::cerr << clock_time(std::chrono::system_clock::now()) << " " << number << ": " << trouble.name
              << (happened ? "" : ": not possible now") << ", " << since(begin).count() << " ms; "
              << stage.ledger.done_count() << " done" << std::endl;
}

/// Until so many have happened; with each its share of the messages.
void make_trouble(Stage& stage, const Options& options, Outcome& outcome) {
    std::size_t allowed = 0;
    Deck deck(options, stage.random);
    for (std::size_t number = 1; number <= options.faults;) {
        const std::size_t by_now = options.messages * number / options.faults;
        stage.producer->allow(by_now - allowed);
        allowed = by_now;
        const auto begin = Clock::now();
        const Trouble& trouble = deck.draw();
        const bool happened = trouble.happen(stage);
        stage.first.look_after();
        say(trouble, number, happened, begin, stage);
        happened ? ++outcome.faults[trouble.name] : ++outcome.skipped;
        if (happened) ++number;
        // Now and then the next one comes while retryd still recovers from this one.
        if (stage.pick(0, 3) > 0) stage.await_consuming(seconds(20));
        await([&] { return stage.producer->caught_up(); }, seconds(20));
        stage.wait_up_to(1'000);
    }
}

/// Deaths that the broker's log has given up so far.
std::size_t drops_in_log(const Options& options) {
    std::ifstream log(options.broker_dir + "/node/log/rabbit.log");
    std::size_t drops = 0;
    for (std::string line; std::getline(log, line);) {
        const bool of_errors = line.find("queue '" + error_queue + "' in vhost '" + vhost + "'") != std::string::npos;
        if (of_errors && line.find("Command is dropped") != std::string::npos) ++drops;
    }
    return drops;
}

void settle(Stage& stage, Outcome& outcome) {
    std::cerr << "waiting until everything has come to rest ..." << std::endl;
    await([&] { return stage.producer->caught_up(); }, seconds(60));
    outcome.at_rest = come_to_rest(longest_settling);
    stage.producer.reset();
    stage.first.look_after();
    stage.first.terminate();
    stage.second.terminate();
    stage.consumers.clear();
    collect_all(stage.addresses, stage.ledger);
    outcome.held_by_broker = under_way();
    outcome.book = stage.ledger.summary();
    for (const Sidecar* sidecar : {&stage.first, &stage.second})
        outcome.troubles.insert(outcome.troubles.end(), sidecar->troubles().begin(), sidecar->troubles().end());
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
    Stage stage(options.seed, folder);
    if (options.soak_minutes > 0)
        outcome.growth = growth_of(soak(stage, std::chrono::minutes(options.soak_minutes), outcome));
    else
        make_trouble(stage, options, outcome);
    settle(stage, outcome);
    outcome.dropped_by_broker = drops_in_log(options) - drops_before;
    outcome.took = since(begin);
    const bool fine = print(options, connect(stage.addresses)->broker_version(), outcome);
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
