// Medians and spreads of what several rounds gave.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retryd::bench {

struct Figure {
    double median = 0;
    double min = 0;
    double max = 0;
};

/// What the runs that `match` says alike have in common.
struct Summary {
    Figure rate;
    Figure cpu_us;
    Figure broker_cpu_us;
    Figure peak_kib;
    std::vector<std::string> notes;
    std::size_t runs = 0;

    /// A contender inside of the broker has no CPU of its own.
    bool own_process() const { return peak_kib.max > 0; }
    /// Messages a second that one core of its own would carry were the broker free; 0 where there is none.
    double rate_of_own_cpu() const { return own_process() ? 1e6 / cpu_us.median : 0; }
};

/// Of those runs in which all keys of `match` have these values.
Summary summarize(const nlohmann::json& runs, const nlohmann::json& match);

/// The values of that key, each once, in the order of their coming.
std::vector<nlohmann::json> distinct(const nlohmann::json& runs, const std::string& key);

nlohmann::json to_json(const Summary& summary);

}  // namespace retryd::bench
