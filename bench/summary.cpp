#include "summary.h"

#include <algorithm>

#include "statistics.h"

namespace retryd::bench {

using nlohmann::json;

namespace {

bool matches(const json& run, const json& match) {
    return std::all_of(match.items().begin(), match.items().end(),
                       [&](const auto& item) { return run.contains(item.key()) && run[item.key()] == item.value(); });
}

Figure figure_of(const std::vector<const json*>& runs, const char* key) {
    std::vector<double> values;
    for (const json* run : runs)
        values.push_back(run->at(key).get<double>());
    if (values.empty()) return {};
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    return {median(values), *min, *max};
}

json figure_json(const Figure& figure) {
    return {{"median", figure.median}, {"min", figure.min}, {"max", figure.max}};
}

}  // namespace

Summary summarize(const json& runs, const json& match) {
    std::vector<const json*> found;
    Summary summary;
    for (const json& run : runs) {
        if (!matches(run, match)) continue;
        found.push_back(&run);
        const auto note = run.at("note").get<std::string>();
        if (!note.empty()) summary.notes.push_back(note);
    }
    summary.runs = found.size();
    summary.rate = figure_of(found, "rate");
    summary.cpu_us = figure_of(found, "cpu_us");
    summary.broker_cpu_us = figure_of(found, "broker_cpu_us");
    summary.peak_kib = figure_of(found, "peak_kib");
    return summary;
}

std::vector<json> distinct(const json& runs, const std::string& key) {
    std::vector<json> values;
    for (const json& run : runs) {
        const json& value = run.at(key);
        if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
    return values;
}

json to_json(const Summary& summary) {
    return {{"runs", summary.runs},
            {"rate", figure_json(summary.rate)},
            {"cpu_us", figure_json(summary.cpu_us)},
            {"broker_cpu_us", figure_json(summary.broker_cpu_us)},
            {"peak_kib", figure_json(summary.peak_kib)},
            {"notes", summary.notes}};
}

}  // namespace retryd::bench
