#include <nlohmann/json.hpp>

#include "markdown.h"
#include "summary.h"
#include "tables.h"

namespace retryd::bench {

using nlohmann::json;

namespace {

Cells row_of(const std::string& name, const Summary& found, const Summary& first) {
    std::string notes;
    for (const std::string& note : found.notes)
        notes += (notes.empty() ? "" : "; ") + note;
    return {name,
            whole(found.rate.median),
            times(found.rate.median / first.rate.median),
            with_decimals(found.cpu_us.median, 1),
            times(found.cpu_us.median / first.cpu_us.median),
            with_decimals(found.broker_cpu_us.median, 1),
            mebibytes(found.peak_kib.max),
            notes};
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
        rows.push_back(row_of(name, summarize(of_part, {{"row", name}}), first));
    return markdown_table(rows);
}

}  // namespace

std::string growth_tables(const json& results) {
    if (!results.contains("growth") || results["growth"].empty()) return "";
    std::string text = "\n### How the cost grows\n";
    for (const json& part : distinct(results["growth"], "part"))
        text += "\n" + part_table(results["growth"], part);
    return text;
}

}  // namespace retryd::bench
