#include "report.h"

#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "plot_data.h"
#include "summary.h"
#include "tables.h"

namespace retryd::bench {

using nlohmann::json;

namespace {

json read(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    return json::parse(file);
}

void write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

/// A comparison and a growth of the same broker are one.
std::vector<json> by_broker(const std::vector<std::string>& files) {
    std::vector<json> all;
    std::map<std::string, std::size_t> place;
    for (const std::string& file : files) {
        const json results = read(file);
        const auto [at, is_new] = place.try_emplace(results.at("machine").at("broker"), all.size());
        if (is_new) {
            all.push_back(results);
        } else {
            const bool quick = results.at("quick").get<bool>() || all[at->second].at("quick").get<bool>();
            json failures = all[at->second].value("failures", json::array());
            for (const json& failure : results.value("failures", json::array()))
                failures.push_back(failure);
            all[at->second].update(results);
            all[at->second]["failures"] = failures;
            all[at->second]["quick"] = quick;
        }
    }
    return all;
}

/// Beside every single run, for who wants to see how far they lie apart.
json summaries(const json& results) {
    json all = json::array();
    const json runs = results.value("runs", json::array());
    for (const json& queues : distinct(runs, "queues")) {
        for (const json& size : distinct(runs, "size")) {
            for (const json& contender : distinct(runs, "contender")) {
                const json place{{"queues", queues}, {"size", size}, {"contender", contender}};
                json row = to_json(summarize(runs, place));
                row.update(place);
                all.push_back(row);
            }
        }
    }
    const json growth = results.value("growth", json::array());
    for (const json& row_name : distinct(growth, "row")) {
        json row = to_json(summarize(growth, {{"row", row_name}}));
        row["row"] = row_name;
        all.push_back(row);
    }
    return all;
}

}  // namespace

void report(const std::vector<std::string>& files, const std::string& folder) {
    std::vector<json> all = by_broker(files);
    std::string text;
    for (json& results : all) {
        text += (text.empty() ? "" : "\n") + heading(results) + aims_table(results) + comparison_tables(results) +
                latency_table(results) + growth_tables(results);
        results["summary"] = summaries(results);
    }
    write(folder + "/results.json", json(all).dump(1) + "\n");
    write(folder + "/results.md", text);
    write(folder + "/ratio.tsv", ratio_data(all));
    write(folder + "/cpu.tsv", cpu_data(all));
    write(folder + "/own-cpu.tsv", own_cpu_data(all));
    std::cout << text;
}

}  // namespace retryd::bench
