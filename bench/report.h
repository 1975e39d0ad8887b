// Tables in Markdown, one JSON of all, and data for the plots.
#pragma once

#include <string>
#include <vector>

namespace retryd::bench {

/// Reads results of compare and growth, one file a broker; writes results.json, results.md, ratio.tsv and cpu.tsv into
/// `folder` and prints the tables.
void report(const std::vector<std::string>& files, const std::string& folder);

}  // namespace retryd::bench
