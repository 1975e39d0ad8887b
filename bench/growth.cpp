#include "growth.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backlog.h"
#include "contender.h"
#include "measurement.h"
#include "progress.h"
#include "stage.h"

namespace retryd::bench {

namespace {

using nlohmann::json;

// ── What grows, in which steps ──────────────────────────────────────────────────────────────────────────────────

struct GrowthRow {
    std::string name;
    Layout layout;
    Load load;
    int daemons = 1;
    bool once = false;  // takes too long for several rounds
};

struct GrowthPart {
    std::string name;
    std::vector<GrowthRow> rows;
};

std::vector<std::string> delays(int count) {
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i)
        all.push_back(i == 0 ? "1h" : "1h" + std::to_string(i) + "m");  // as a rung's name writes it
    return all;
}

/// All on one shared ladder, the first too: what differs is nothing but their number.
GrowthPart work_queues(std::uint32_t messages, bool quick) {
    GrowthPart part{"queues", {}};
    for (const int count : quick ? std::vector{1, 100} : std::vector{1, 10, 100, 1000}) {
        part.rows.push_back({count_text(static_cast<std::size_t>(count), "work queue"),
                             {.work_queues = count, .shared = true},
                             {.messages = messages}});
    }
    return part;
}

GrowthPart rungs(std::uint32_t messages, bool quick) {
    GrowthPart part{"rungs", {}};
    for (const int count : quick ? std::vector{1, 10} : std::vector{1, 5, 20, 50}) {
        const auto steps = static_cast<std::uint32_t>(count);
        part.rows.push_back({count_text(steps, "rung"),
                             {.delays = delays(count)},
                             {.messages = messages / steps * steps, .steps = count}});
    }
    return part;
}

GrowthPart backlog(bool quick) {
    if (quick)
        return {"backlog",
                {{"10,000 waiting", {}, {.messages = 10'000}}, {"50,000 waiting", {}, {.messages = 50'000}}}};
    return {"backlog",
            {{"10,000 waiting", {}, {.messages = 10'000}},
             {"100,000 waiting", {}, {.messages = 100'000}},
             {.name = "1,000,000 waiting", .layout = {}, .load = {.messages = 1'000'000}, .once = true}}};
}

GrowthPart daemons(std::uint32_t messages) {
    GrowthPart part{"daemons", {}};
    for (const int count : {1, 2, 4})
        part.rows.push_back({count_text(static_cast<std::size_t>(count), "daemon"), {}, {.messages = messages}, count});
    return part;
}

GrowthPart headers(std::uint32_t messages, bool quick) {
    GrowthPart part{"headers", {}};
    for (const int count : quick ? std::vector{1, 50} : std::vector{1, 10, 50, 200}) {
        part.rows.push_back({count_text(static_cast<std::size_t>(count), "header"),
                             {},
                             {.messages = messages * 2 / 3, .headers = count}});
    }
    return part;
}

/// With at most so many messages, except where their number is what grows.
std::vector<GrowthPart> growth_parts(std::uint32_t messages, bool quick) {
    return {work_queues(messages, quick), rungs(messages, quick), backlog(quick), daemons(messages),
            headers(messages, quick)};
}

// ── The measurements ────────────────────────────────────────────────────────────────────────────────────────────

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
