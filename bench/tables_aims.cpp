#include <nlohmann/json.hpp>

#include "markdown.h"
#include "progress.h"
#include "summary.h"
#include "tables.h"

namespace retryd::bench {

using nlohmann::json;

namespace {

/// A ratio that is to be reached, or not to be exceeded.
struct Aim {
    std::string text;
    double limit;
    bool at_least;
};

class Aims {
  public:
    void add(const Aim& aim, const std::string& where, double measured, int decimals = 2) {
        const bool met = aim.at_least ? measured >= aim.limit : measured <= aim.limit;
        rows_.push_back({aim.text, where, with_decimals(measured, decimals), met ? "yes" : "**no**"});
    }
    std::string text() const { return rows_.size() < 2 ? "" : "\n### Aims\n\n" + markdown_table(rows_); }

  private:
    std::vector<Cells> rows_{{"aim", "measured at", "measured", "met"}};
};

const std::vector<std::pair<std::string, Aim>> rates{{"ceiling", {"rate, to ceiling's: at least 0.95", 0.95, true}},
                                                     {"shovel", {"rate, to shovel's: at least 1.3", 1.3, true}},
                                                     {"amqplib", {"rate, to amqplib's: at least 3", 3, true}},
                                                     {"pika", {"rate, to pika's: at least 5", 5, true}}};
const std::vector<std::pair<std::string, Aim>> costs{
    {"ceiling", {"CPU a message, to ceiling's: at most 1.25", 1.25, false}},
    {"amqplib", {"CPU a message, to amqplib's: at most 0.33", 1.0 / 3, false}}};

void add_comparison(Aims& aims, const json& runs, const json& queues, const json& size) {
    const auto found = [&](const std::string& contender) {
        return summarize(runs, {{"queues", queues}, {"size", size}, {"contender", contender}});
    };
    const Summary retryd = found("retryd");
    if (retryd.runs == 0) return;
    const std::string where = size_text(size) + ", " + count_text(queues, "work queue");
    for (const auto& [name, aim] : rates) {
        if (const Summary other = found(name); other.runs > 0)
            aims.add(aim, where, retryd.rate.median / other.rate.median);
    }
    for (const auto& [name, aim] : costs) {
        if (const Summary other = found(name); other.runs > 0)
            aims.add(aim, where, retryd.cpu_us.median / other.cpu_us.median);
    }
}

void add_growth(Aims& aims, const json& runs) {
    const Summary one = summarize(runs, {{"part", "queues"}, {"row", "1 work queue"}});
    const Summary thousand = summarize(runs, {{"part", "queues"}, {"row", "1000 work queues"}});
    if (one.runs > 0 && thousand.runs > 0) {
        aims.add({"rate with 1,000 work queues, to that with one: at least 0.9", 0.9, true}, "1 KiB",
                 thousand.rate.median / one.rate.median);
    }
    const Summary million = summarize(runs, {{"part", "backlog"}, {"row", "1,000,000 waiting"}});
    if (million.runs > 0) {
        aims.add({"memory with a million waiting, MiB: at most 32", 32, false}, "1 KiB", million.peak_kib.max / 1024,
                 1);
    }
}

}  // namespace

std::string aims_table(const json& results) {
    Aims aims;
    const json runs = results.value("runs", json::array());
    for (const json& queues : distinct(runs, "queues")) {
        for (const json& size : distinct(runs, "size")) {
            if (size == 1024) add_comparison(aims, runs, queues, size);
        }
    }
    for (const json& row : results.value("latency", json::array())) {
        if (row["contender"] == "retryd" && row["load"] == "idle")
            aims.add({"p99 from rejection to rung, ms: at most 10", 10, false}, "idle", row["p99_ms"]);
    }
    add_growth(aims, results.value("growth", json::array()));
    return aims.text();
}

}  // namespace retryd::bench
