#include "compare.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "measurement.h"
#include "processes.h"
#include "progress.h"
#include "statistics.h"
#include "time_to_rung.h"

namespace retryd::bench {

namespace {

using nlohmann::json;

class Comparison {
  public:
    Comparison(const Options& options, std::string folder)
        : options_(options),
          folder_(std::move(folder)),
          contenders_(options.contenders.empty() ? all_contenders() : options.contenders),
          progress_(options.queues.size() * options.sizes.size() * static_cast<std::size_t>(options.rounds) *
                    contenders_.size()) {}

    json run() {
        for (const int queues : options_.queues) {
            Stage stage(layout_of(queues), folder_);
            for (const std::size_t size : options_.sizes) {
                for (int round = 0; round < options_.rounds; ++round)
                    take_turns(stage, size, round);
            }
        }
        const json times = options_.probes > 0 ? latency() : json::array();
        return {{"runs", runs_}, {"latency", times}, {"failures", progress_.failures()}};
    }

  private:
    /// Another one begins in each round: who comes first finds the broker in another state than who comes last.
    void take_turns(Stage& stage, std::size_t size, int round) {
        for (std::size_t i = 0; i < contenders_.size(); ++i)
            try_to_measure(stage, contenders_[(i + static_cast<std::size_t>(round)) % contenders_.size()], size, round);
    }

    void try_to_measure(Stage& stage, const std::string& name, std::size_t size, int round) {
        try {
            measure(stage, name, size, round);
        } catch (const std::exception& error) {
            progress_.fail(error.what());
        }
    }

    void measure(Stage& stage, const std::string& name, std::size_t size, int round) {
        const int queues = stage.layout().work_queues;
        progress_.begin(name + ", " + size_text(size) + ", " +
                        count_text(static_cast<std::size_t>(queues), "work queue") + ", round " +
                        std::to_string(round + 1));
        const Load load{.messages = messages_of(options_, size), .body_bytes = size};
        const auto contender = make_contender(name, stage);
        const Measurement measured = measure_backlog(stage, *contender, load);
        progress_.end(measured);
        json run = measured;
        run.update(
            {{"contender", name}, {"queues", queues}, {"size", size}, {"messages", load.messages}, {"round", round}});
        runs_.push_back(run);
    }

    json latency() {
        json all = json::array();
        Stage stage({.work_queues = 2}, folder_);
        const auto time = [&](const std::string& name, const std::string& load, double background) {
            progress_.say("time to the rung: " + name + ", " + load + " ...");
            stage.reset();
            const auto contender = make_contender(name, stage);
            contender->start();
            json row = time_to_rung(stage, options_.probes, background);
            contender->stop();
            row.update({{"contender", name}, {"load", load}});
            all.push_back(row);
        };
        time("ceiling", "idle", 0);
        time("retryd", "idle", 0);
        time("retryd", "half load", rate_of_retryd(stage) / 2);
        return all;
    }

    /// At 1 KiB, as measured before; else measured now.
    double rate_of_retryd(Stage& stage) {
        std::vector<double> rates;
        for (const json& run : runs_) {
            if (run["contender"] == "retryd" && run["size"] == 1024 && run["queues"] == 1) rates.push_back(run["rate"]);
        }
        if (rates.empty())
            rates.push_back(measure_backlog(stage, *make_contender("retryd", stage), {.messages = 20'000}).rate);
        return median(rates);
    }

    const Options& options_;
    std::string folder_;
    std::vector<std::string> contenders_;
    Progress progress_;
    json runs_ = json::array();
};

}  // namespace

json compare(const Options& options, const std::string& folder) {
    return Comparison(options, folder).run();
}

}  // namespace retryd::bench
