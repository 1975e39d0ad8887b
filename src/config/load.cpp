#include "config/load.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "config/keys.h"
#include "config/reader.h"
#include "config/settle.h"
#include "config/tree.h"

namespace retryd::config {
namespace {

/// In the order of the file; what was found along two ways is told once.
Problems in_order(Problems problems) {
    const auto place = [](const Problem& p) { return std::tie(p.line, p.column, p.key, p.message); };
    std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    });
    const auto rest = std::unique(problems.begin(), problems.end(),
                                  [&](const Problem& a, const Problem& b) { return place(a) == place(b); });
    problems.erase(rest, problems.end());
    return problems;
}

}  // namespace

std::variant<Settings, Problems> load(const std::string& text, const Surroundings& surroundings) {
    Problems problems;
    const Tree tree = parse_tree(text, problems);
    if (!tree.readable) return in_order(std::move(problems));

    Written written;
    Reader reader{tree.root, {}, surroundings.environment, problems};
    describe(reader, written);
    reader.refuse_the_rest();

    Settings& settings = written.settings;
    settle_broker(written, surroundings, settings.broker, problems);
    settings.management = settle_management(written.management, surroundings, settings.broker, problems);
    settle_policy(written, settings.policy, problems);
    if (!problems.empty()) return in_order(std::move(problems));
    return std::move(settings);
}

std::variant<Settings, Problems> load_file(const std::string& path, const Surroundings& surroundings) {
    std::string error;
    const auto text = surroundings.read_file(path, error);
    if (!text) return Problems{{0, 0, "", "cannot be read (" + error + "); expected a file that retryd may read"}};
    return load(*text, surroundings);
}

}  // namespace retryd::config
