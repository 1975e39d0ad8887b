#include "config/load.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "config/raw_config.h"
#include "config/reader.h"
#include "config/tree.h"
#include "config/validate.h"

namespace retryd::config {

namespace {

/// In the order of the file, each once: several URIs may share one problem, such as a user without a password.
Problems in_order(Problems problems) {
    const auto all_of = [](const Problem& p) { return std::tie(p.line, p.column, p.key, p.message); };
    std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    });
    const auto rest = std::unique(problems.begin(), problems.end(),
                                  [&](const Problem& a, const Problem& b) { return all_of(a) == all_of(b); });
    problems.erase(rest, problems.end());
    return problems;
}

}  // namespace

std::variant<Settings, Problems> load(const std::string& text, const FileEnvironment& env) {
    Problems problems;
    const Tree tree = parse_tree(text, problems);
    if (!tree.readable) return in_order(std::move(problems));
    RawConfig raw = read_keys(tree, env.environment, problems);
    Settings settings = validate(std::move(raw), env, problems);
    if (!problems.empty()) return in_order(std::move(problems));
    return settings;
}

std::variant<Settings, Problems> load_file(const std::string& path, const FileEnvironment& env) {
    std::string error;
    const auto text = env.read_file(path, error);
    if (!text) return Problems{{0, 0, "", "cannot be read (" + error + "); expected a file that retryd may read"}};
    return load(*text, env);
}

}  // namespace retryd::config
