#include "tables.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "markdown.h"
#include "progress.h"
#include "summary.h"

namespace retryd::bench {

using nlohmann::json;

namespace {

// ── Contenders side by side ─────────────────────────────────────────────────────────────────────────────────────

std::string ratio_cell(double of, double to) {
    return to > 0 ? times(of / to) : "-";
}

std::string notes_of(const Summary& summary) {
    std::string text;
    for (const std::string& note : summary.notes)
        text += (text.empty() ? "" : "; ") + note;
    return text;
}

Cells row_of(const std::string& contender, const Summary& found, const Summary& ceiling, const Summary& retryd) {
    const bool own = found.own_process();
    return {contender,
            whole(found.rate.median),
            ratio_cell(found.rate.median, ceiling.rate.median),
            ratio_cell(retryd.rate.median, found.rate.median),
            own ? with_decimals(found.cpu_us.median, 1) : "in the broker",
            own ? ratio_cell(found.cpu_us.median, ceiling.cpu_us.median) : "-",
            own ? whole(found.rate_of_own_cpu()) : "-",
            with_decimals(found.broker_cpu_us.median, 1),
            with_decimals(found.cpu_us.median + found.broker_cpu_us.median, 1),
            own ? mebibytes(found.peak_kib.max) : "-",
            notes_of(found)};
}

std::string table_of(const json& runs, const json& place) {
    std::vector<Cells> rows{{"contender", "messages/s", "to ceiling", "retryd to it", "own CPU, µs a message",
                             "to ceiling", "its CPU would allow, /s", "broker's CPU, µs a message",
                             "both, µs a message", "peak memory, MiB", "note"}};
    const auto found = [&](const json& contender) {
        json match = place;
        match["contender"] = contender;
        return summarize(runs, match);
    };
    for (const json& contender : distinct(runs, "contender"))
        rows.push_back(row_of(contender, found(contender), found("ceiling"), found("retryd")));
    return markdown_table(rows);
}

std::string failures_of(const json& results) {
    std::string text;
    for (const json& failure : results.value("failures", json::array()))
        text += "\nNot measured: " + failure.get<std::string>() + "\n";
    return text;
}

// ── How the cost grows ──────────────────────────────────────────────────────────────────────────────────────────

Cells growth_row(const std::string& name, const Summary& found, const Summary& first) {
    return {name,
            whole(found.rate.median),
            times(found.rate.median / first.rate.median),
            with_decimals(found.cpu_us.median, 1),
            times(found.cpu_us.median / first.cpu_us.median),
            with_decimals(found.broker_cpu_us.median, 1),
            mebibytes(found.peak_kib.max),
            notes_of(found)};
}

std::string part_table(const json& runs, const std::string& part) {
    std::vector<Cells> rows{{part, "messages/s", "to first row", "own CPU, µs a message", "to first row",
                             "broker's CPU, µs a message", "peak memory, MiB", "note"}};
    json of_part = json::array();
    for (const json& run : runs) {
        if (run.at("part") == part) of_part.push_back(run);
    }
    const std::vector<json> names = distinct(of_part, "row");
    const Summary first = summarize(of_part, {{"row", names.front()}});
    for (const json& name : names)
        rows.push_back(growth_row(name, summarize(of_part, {{"row", name}}), first));
    return markdown_table(rows);
}

// ── The aims ────────────────────────────────────────────────────────────────────────────────────────────────────

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

/// Of a comparison and of a growth run, which may have had different numbers of rounds.
std::string rounds_of(const json& results) {
    const auto told = [&](const char* name, const char* key) -> std::string {
        if (!results.contains(key) || results[key].empty()) return "";
        const std::size_t rounds = distinct(results[key], "round").size();
        return std::string{"; "} + name +
               (rounds == 1 ? ": measured once" : ": medians of " + count_text(rounds, "round"));
    };
    return told("side by side", "runs") + told("growth", "growth");
}

}  // namespace

std::string heading(const json& results) {
    const json& machine = results.at("machine");
    const auto text = [&](const char* key) { return machine.at(key).get<std::string>(); };
    return "## RabbitMQ " + text("broker") + "\n\n" + "Measured " + text("date") + " on " +
           std::to_string(machine.at("cores").get<int>()) + " cores of " + text("processor") + ", Linux " +
           text("kernel") + "; " + text("retryd") + ", amqplib " + text("amqplib") + " on node " + text("node") +
           ", pika " + text("pika") + " on " + text("python") + rounds_of(results) +
           (results.at("quick").get<bool>() ? ", **a quick run: for a first look only**" : "") + ".\n" +
           failures_of(results);
}

std::string comparison_tables(const json& results) {
    if (!results.contains("runs") || results["runs"].empty()) return "";
    const json& runs = results["runs"];
    std::string text;
    for (const json& queues : distinct(runs, "queues")) {
        for (const json& size : distinct(runs, "size")) {
            const json place{{"queues", queues}, {"size", size}};
            std::size_t messages = 0;
            for (const json& run : runs) {
                if (run["size"] == size) messages = run["messages"];
            }
            text += "\n### " + size_text(size) + ", " + count_text(queues, "work queue") + "\n\n" +
                    whole(static_cast<double>(messages)) + " messages a backlog.\n\n" + table_of(runs, place);
        }
    }
    return text;
}

std::string latency_table(const json& results) {
    if (!results.contains("latency") || results["latency"].empty()) return "";
    std::vector<Cells> rows{
        {"who, load", "p50, ms", "p99, ms", "p99.9, ms", "largest, ms", "probes", "background, /s"}};
    for (const json& row : results["latency"]) {
        const auto ms = [&](const char* key) { return with_decimals(row.at(key), 2); };
        rows.push_back({row["contender"].get<std::string>() + ", " + row["load"].get<std::string>(), ms("p50_ms"),
                        ms("p99_ms"), ms("p999_ms"), ms("max_ms"), whole(row["probes"]), whole(row["background"])});
    }
    return "\n### From the rejection to the rung\n\n" + markdown_table(rows);
}

std::string growth_tables(const json& results) {
    if (!results.contains("growth") || results["growth"].empty()) return "";
    std::string text = "\n### How the cost grows\n";
    for (const json& part : distinct(results["growth"], "part"))
        text += "\n" + part_table(results["growth"], part);
    return text;
}

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
