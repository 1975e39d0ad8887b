#include <functional>
#include <map>

#include "layering/rules.h"

namespace retryd::layering {
namespace {

/// What is not in here has no place yet, and is refused until it gets one.
const std::map<std::string, int, std::less<>> layer_of{{"core", 0},     {"system", 1}, {"relay", 1}, {"config", 1},
                                                       {"admin", 2},    {"amqp", 3},   {"http", 3},  {"telemetry", 3},
                                                       {"commands", 4}, {"daemon", 4}, {"", 5}};

/// A name relative to the including file would slip past every rule here.
bool is_relative(const Sources& sources, const std::string& from, const std::string& included) {
    return included.find("./") != std::string::npos || sources.count(from + '/' + included) != 0;
}

std::string fault_of(const Sources& sources, const std::string& from, const std::string& included) {
    if (is_relative(sources, from, included)) return "is not named from src down";
    const auto target = layer_of.find(folder_of(included));
    if (target == layer_of.end() || target->first.empty()) return "";  // a header of the system or of a library
    if (target->first == from) return "";
    const int here = layer_of.at(from);
    if (target->second > here) return "points up";
    return target->second == here ? "points sideways" : "";
}

}  // namespace

Violations points_up_or_sideways(const Sources& sources) {
    Violations found;
    for (const auto& [path, source] : sources) {
        const std::string folder = folder_of(path);
        if (layer_of.count(folder) == 0) {
            found.push_back(path + ": the folder has no place in the order of layers");
            continue;
        }
        for (const Include& include : source.includes) {
            const std::string fault = fault_of(sources, folder, include.name);
            if (fault.empty()) continue;
            found.push_back(path + ':' + std::to_string(include.line) + ": " + include.name + ' ' + fault);
        }
    }
    return found;
}

}  // namespace retryd::layering
