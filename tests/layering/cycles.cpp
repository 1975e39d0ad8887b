#include <algorithm>
#include <set>

#include "layering/rules.h"

namespace retryd::layering {
namespace {

class Search {
  public:
    explicit Search(const Sources& sources) : sources_(sources) {}

    void visit(const std::string& path) {
        const auto open = std::find(way_.begin(), way_.end(), path);
        if (open != way_.end()) return report(open);
        if (!done_.insert(path).second) return;
        way_.push_back(path);
        for (const Include& include : sources_.at(path).includes) {
            if (sources_.count(include.name) != 0) visit(include.name);
        }
        way_.pop_back();
    }

    Violations found;

  private:
    void report(std::vector<std::string>::const_iterator from) {
        std::string circle;
        for (auto at = from; at != way_.end(); ++at)
            circle += *at + " -> ";
        found.push_back(circle + *from);
    }

    const Sources& sources_;
    std::vector<std::string> way_;  // from the start to the file that is being looked at
    std::set<std::string> done_;
};

}  // namespace

Violations cycles(const Sources& sources) {
    Search search(sources);
    for (const auto& [path, source] : sources)
        search.visit(path);
    return search.found;
}

}  // namespace retryd::layering
