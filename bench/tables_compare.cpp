#include <nlohmann/json.hpp>

#include "markdown.h"
#include "progress.h"
#include "summary.h"
#include "tables.h"

namespace retryd::bench {

using nlohmann::json;

namespace {

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

}  // namespace

namespace {

std::string failures_of(const json& results) {
    std::string text;
    for (const json& failure : results.value("failures", json::array()))
        text += "\nNot measured: " + failure.get<std::string>() + "\n";
    return text;
}

}  // namespace

std::string heading(const json& results) {
    const json& machine = results.at("machine");
    const auto text = [&](const char* key) { return machine.at(key).get<std::string>(); };
    return "## RabbitMQ " + text("broker") + "\n\n" + "Measured " + text("date") + " on " +
           std::to_string(machine.at("cores").get<int>()) + " cores of " + text("processor") + ", Linux " +
           text("kernel") + "; " + text("retryd") + ", amqplib " + text("amqplib") + " on node " + text("node") +
           ", pika " + text("pika") + " on " + text("python") + "; medians of " +
           count_text(results.at("rounds").get<std::size_t>(), "round") +
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

}  // namespace retryd::bench
