#include "admin/patterns.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "core/names.h"

namespace retryd::admin {

std::string pattern_of_name(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view{R"(\.+*?()[]{}|^$)"}.find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

std::string pattern_of_glob(std::string_view glob) {
    std::string pattern;
    for (const char c : glob) {
        if (c == '*') {
            pattern += ".*";
        } else if (c == '?') {
            pattern += '.';
        } else {
            pattern += pattern_of_name({&c, 1});
        }
    }
    return pattern;
}

namespace {

constexpr std::string_view opening = "^(";
constexpr std::string_view closing = ")$";
/// What format_duration makes.
constexpr const char* well_formed_delay = "(?=[0-9])(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?(?:[0-9]+ms)?";
constexpr const char* brokers_own = "amq\\..*";
constexpr const char* maybe_high = "(?:\\.high)?";

template <typename Strings, typename Convert>
std::string alternatives(const Strings& texts, const Convert& convert) {
    std::string all;
    for (const auto& text : texts)
        all.append(all.empty() ? "" : "|").append(convert(text));
    return all;
}

/// Whether a glob can match any name that begins so.
bool may_begin(const std::string& glob, std::string_view beginning) {
    const std::string_view literal = std::string_view{glob}.substr(0, glob.find_first_of("*?"));
    return literal.starts_with(beginning) || beginning.starts_with(literal);
}

/// Where the work queues of one entry park.
struct ParkingQueues {
    std::string name;       // of the only one; empty where there are as many as work queues
    std::string beginning;  // of all their names
    std::string pattern;
};

/// Nothing where they park in an exchange.
std::optional<ParkingQueues> parking_queues(const core::Entry& entry) {
    const std::string& queue = entry.parked.queue;
    if (queue.empty()) return std::nullopt;
    const std::size_t at = queue.find(core::queue_placeholder);
    if (at == std::string::npos || !core::is_glob(entry.match)) {
        const std::string name = core::expand_queue(queue, entry.match);
        return ParkingQueues{name, name, pattern_of_name(name)};
    }
    const std::string beginning = queue.substr(0, at);
    return ParkingQueues{"", beginning,
                         pattern_of_name(beginning) + pattern_of_glob(entry.match) +
                             pattern_of_name(queue.substr(at + core::queue_placeholder.size()))};
}

/// The rungs of a work queue whose own name is too long to be in theirs as a whole.
std::vector<std::string> shortened_rungs(const core::Entry& entry) {
    std::vector<std::string> names;
    if (core::is_glob(entry.match) || entry.ladder.return_path == core::ReturnPath::headers) return names;
    for (const core::Milliseconds delay : core::distinct_delays(entry.ladder)) {
        for (const bool high : {false, true}) {
            std::string name = core::rung_name(entry.match, delay, high);
            if (!name.starts_with(entry.match + '.')) names.push_back(std::move(name));
        }
    }
    return names;
}

/// Alternatives for what the globs could catch and must not.
class NotWorkQueues {
  public:
    NotWorkQueues(const core::Policy& policy, const std::vector<std::string>& matches) {
        std::copy_if(matches.begin(), matches.end(), std::back_inserter(globs_), core::is_glob);
        add_name(policy.error_queue);
        add_name(policy.catch_all);
        for (const core::Entry& entry : policy.entries)
            add_parking(entry);
        patterns.insert(std::string{".+\\.retry\\."} + well_formed_delay + maybe_high);
        if (any_begins("retryd.")) patterns.insert(std::string{"retryd\\.[^.]+\\."} + well_formed_delay + maybe_high);
        if (any_begins("amq.")) patterns.insert(brokers_own);
    }

    void add_name(const std::string& name) {
        const bool caught = std::any_of(globs_.begin(), globs_.end(),
                                        [&](const std::string& glob) { return core::glob_matches(glob, name); });
        if (caught) patterns.insert(pattern_of_name(name));
    }

    std::set<std::string> patterns;

  private:
    void add_parking(const core::Entry& entry) {
        const auto parking = parking_queues(entry);
        if (!parking) return;
        if (!parking->name.empty()) return add_name(parking->name);
        if (any_begins(parking->beginning)) patterns.insert(parking->pattern);
    }

    bool any_begins(std::string_view beginning) const {
        return std::any_of(globs_.begin(), globs_.end(),
                           [&](const std::string& glob) { return may_begin(glob, beginning); });
    }

    std::vector<std::string> globs_;
};

}  // namespace

std::string names_pattern(const std::vector<std::string>& names) {
    return std::string{opening} + alternatives(names, pattern_of_name) + std::string{closing};
}

std::string extended_pattern(const std::string& pattern, const std::vector<std::string>& names) {
    if (!pattern.starts_with(opening) || !pattern.ends_with(closing)) return "";
    return pattern.substr(0, pattern.size() - closing.size()) + '|' + alternatives(names, pattern_of_name) +
           std::string{closing};
}

bool names_in_pattern(const std::string& pattern, const std::string& name) {
    const std::string alternative = pattern_of_name(name);
    const std::size_t behind_exclusion = pattern.starts_with("^(?!") ? pattern.find(")$)(") : 0;
    for (std::size_t at = pattern.find(alternative, behind_exclusion); at != std::string::npos;
         at = pattern.find(alternative, at + 1)) {
        const std::string_view after = std::string_view{pattern}.substr(at + alternative.size());
        const bool begins = at > 0 && (pattern[at - 1] == '(' || pattern[at - 1] == '|');
        if (begins && (after.starts_with('|') || after == closing)) return true;
    }
    return false;
}

std::string matches_pattern(const core::Policy& policy, const std::vector<std::string>& matches,
                            const std::vector<std::string>& excluded) {
    const bool globs = std::any_of(matches.begin(), matches.end(), core::is_glob);
    if (!globs) return names_pattern(matches);
    NotWorkQueues not_matched(policy, matches);
    for (const std::string& name : excluded)
        not_matched.add_name(name);
    const auto as_is = [](const std::string& text) { return text; };
    return "^(?!(?:" + alternatives(not_matched.patterns, as_is) + ")$)(" + alternatives(matches, pattern_of_glob) +
           std::string{closing};
}

std::string own_queues_pattern(const core::Policy& policy, const std::vector<std::string>& excluded,
                               const std::vector<std::string>& more) {
    std::set<std::string> own{pattern_of_name(policy.error_queue), pattern_of_name(policy.catch_all)};
    for (const core::Milliseconds delay : core::detour_delays)
        own.insert(pattern_of_name(core::detour_name(delay)));
    std::set<std::string> work_queues;
    std::set<std::string> ladders;
    for (const core::Entry& entry : policy.entries) {
        if (const auto parking = parking_queues(entry)) own.insert(parking->pattern);
        for (const std::string& rung : shortened_rungs(entry))
            own.insert(pattern_of_name(rung));
        work_queues.insert(pattern_of_glob(entry.match));
        if (entry.ladder.return_path == core::ReturnPath::headers) ladders.insert(pattern_of_name(entry.ladder.name));
    }
    const auto as_is = [](const std::string& text) { return text; };
    const std::string delay = std::string{"\\."} + well_formed_delay + maybe_high;
    if (!work_queues.empty()) own.insert("(?:" + alternatives(work_queues, as_is) + ")\\.retry" + delay);
    if (!ladders.empty()) own.insert("retryd\\.(?:" + alternatives(ladders, as_is) + ')' + delay);
    const std::string none = excluded.empty() ? "" : "(?!(?:" + alternatives(excluded, pattern_of_name) + ")$)";
    const std::string others = more.empty() ? "" : '|' + alternatives(more, pattern_of_name);
    return '^' + none + '(' + alternatives(own, as_is) + others + std::string{closing};
}

}  // namespace retryd::admin
