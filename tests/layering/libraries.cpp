#include <algorithm>
#include <set>

#include "layering/rules.h"

namespace retryd::layering {
namespace {

struct Library {
    std::string_view prefix;  // of its headers
    std::vector<std::string_view> homes;
};

const std::vector<Library>& libraries() {
    static const std::vector<Library> all{{"amqp.h", {"amqp"}},
                                          {"amqp_", {"amqp"}},
                                          {"rabbitmq-c/", {"amqp"}},
                                          {"openssl/", {"amqp", "http"}},
                                          {"pcre2.h", {"admin"}},
                                          {"yaml-cpp/", {"config"}},
                                          {"spdlog/", {"telemetry"}},
                                          {"fmt/", {"telemetry"}},
                                          {"prometheus/", {"telemetry"}},
                                          {"CLI/", {"commands"}},
                                          {"curl/", {"http"}},
                                          {"microhttpd.h", {"http"}},
                                          {"systemd/", {"daemon"}},
                                          {"nlohmann/", {"commands", "daemon", "http", "telemetry"}}};
    return all;
}

bool is_system_folder(const std::string& folder) {
    constexpr std::string_view system[] = {"", "arpa", "linux", "net", "netinet", "sys"};
    return std::find(std::begin(system), std::end(system), folder) != std::end(system);
}

bool may_see(const std::string& folder, const std::string& header) {
    for (const Library& library : libraries()) {
        if (header.starts_with(library.prefix)) {
            return std::find(library.homes.begin(), library.homes.end(), folder) != library.homes.end();
        }
    }
    return is_system_folder(folder_of(header));  // a library without a home is at home nowhere
}

/// Walks all that a file includes, ours and theirs.
class Walk {
  public:
    Walk(const Sources& sources, std::string start) : sources_(sources), start_(std::move(start)) { visit(start_); }

    Violations found;

  private:
    void visit(const std::string& path) {
        if (!seen_.insert(path).second) return;
        for (const Include& include : sources_.at(path).includes) {
            if (sources_.count(include.name) != 0) {
                visit(include.name);
            } else if (!is_ours(include.name) && !may_see(folder_of(start_), include.name)) {
                const std::string way = path == start_ ? "" : " by way of " + path;
                found.push_back(start_ + ": sees " + include.name + way + ", away from its home");
            }
        }
    }

    /// A header that is not written yet: the compiler will say so.
    bool is_ours(const std::string& header) const {
        const auto next = sources_.lower_bound(folder_of(header) + '/');
        return next != sources_.end() && folder_of(next->first) == folder_of(header) && !folder_of(header).empty();
    }

    const Sources& sources_;
    std::string start_;
    std::set<std::string> seen_;
};

}  // namespace

Violations library_away_from_home(const Sources& sources) {
    Violations found;
    for (const auto& [path, source] : sources) {
        const Walk walk(sources, path);
        found.insert(found.end(), walk.found.begin(), walk.found.end());
    }
    return found;
}

}  // namespace retryd::layering
