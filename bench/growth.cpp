#include "growth.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "growth_parts.h"
#include "measurement.h"
#include "progress.h"

namespace retryd::bench {

namespace {

using nlohmann::json;

std::vector<GrowthPart> wanted(const Options& options) {
    std::vector<GrowthPart> parts = growth_parts(options.messages, options.quick);
    const auto unwanted = [&](const GrowthPart& part) {
        const auto& names = options.parts;
        return !names.empty() && std::find(names.begin(), names.end(), part.name) == names.end();
    };
    parts.erase(std::remove_if(parts.begin(), parts.end(), unwanted), parts.end());
    return parts;
}

std::size_t measurements(const std::vector<GrowthPart>& parts, int rounds) {
    std::size_t sum = 0;
    for (const GrowthPart& part : parts) {
        for (const GrowthRow& row : part.rows)
            sum += row.once ? 1 : static_cast<std::size_t>(rounds);
    }
    return sum;
}

Measurement measure(const GrowthRow& row, const std::string& folder) {
    Stage stage(row.layout, folder);
    const auto contender = make_contender("retryd", stage, row.daemons);
    return measure_backlog(stage, *contender, row.load);
}

}  // namespace

json growth(const Options& options, const std::string& folder) {
    const std::vector<GrowthPart> parts = wanted(options);
    Progress progress(measurements(parts, options.rounds));
    json runs = json::array();
    for (const GrowthPart& part : parts) {
        for (int round = 0; round < options.rounds; ++round) {
            for (const GrowthRow& row : part.rows) {
                if (row.once && round > 0) continue;
                progress.begin(row.name + ", round " + std::to_string(round + 1));
                try {
                    const Measurement measured = measure(row, folder);
                    progress.end(measured);
                    json run = measured;
                    run.update(
                        {{"part", part.name}, {"row", row.name}, {"messages", row.load.messages}, {"round", round}});
                    runs.push_back(run);
                } catch (const std::exception& error) {
                    progress.fail(error.what());
                }
            }
        }
    }
    return {{"growth", runs}, {"failures", progress.failures()}};
}

}  // namespace retryd::bench
