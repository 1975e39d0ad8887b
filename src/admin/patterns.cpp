#include "admin/patterns.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

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
/// Matches what format_duration writes.
constexpr const char* well_formed_delay = "(?=[0-9])(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?(?:[0-9]+ms)?";
constexpr const char* brokers_own = "amq\\..*";

/// What may follow the delay in a rung's name. If no entry keeps x-death, the pattern is the same as in earlier
/// versions, so that policies that are set stay as they are.
std::string maybe_kinds(const core::Policy& policy) {
    const bool keeps = std::any_of(policy.entries.begin(), policy.entries.end(),
                                   [](const core::Entry& entry) { return entry.ladder.x_death == core::XDeath::keep; });
    return std::string{keeps ? "(?:\\.x-death)?" : ""} + "(?:\\.high)?";
}

template <typename Strings, typename Convert>
std::string alternatives(const Strings& texts, const Convert& convert) {
    std::string all;
    for (const auto& text : texts)
        all.append(all.empty() ? "" : "|").append(convert(text));
    return all;
}

/// Whether a glob can match a name with this beginning.
bool may_begin(const std::string& glob, std::string_view beginning) {
    const std::string_view literal = std::string_view{glob}.substr(0, glob.find_first_of("*?"));
    return literal.starts_with(beginning) || beginning.starts_with(literal);
}

/// Whether a glob can match a name with this ending.
bool may_end(const std::string& glob, std::string_view ending) {
    const std::string_view literal = std::string_view{glob}.substr(glob.find_last_of("*?") + 1);
    return literal.ends_with(ending) || ending.ends_with(literal);
}

/// Whether a glob can match a name with this ending and a number behind it.
bool may_end_numbered(const std::string& glob, std::string_view ending) {
    return may_end(glob.substr(0, glob.find_last_not_of("0123456789") + 1), ending);
}

/// Queues that core::has_name_of_plumbing recognises by their beginning.
struct Plumbing {
    std::string_view beginning;
    const char* pattern;
};
constexpr Plumbing known_plumbing[] = {
    {"celery_delayed_", "celery_delayed_[0-9]+"},
    {"celeryev.", "celeryev\\..*"},
    {"nsb.delay-level-", "nsb\\.delay-level-.*"},
    {"nsb.v2.delay-level-", "nsb\\.v2\\.delay-level-.*"},
    {"nsb.v2.verify-", "nsb\\.v2\\.verify-.*"},
    {"MOL", "MOL(?:-[^.]*)?\\.(?:EVENT|RE[QS]|INFO|DISCOVER|DISCONNECT|HEARTBEAT|P[IO]NG)\\..+"},
};
/// And by their ending.
constexpr std::string_view celery_delay = "_celery_delayed_";
constexpr const char* celery_delays_with_prefix = ".+_celery_delayed_[0-9]+";
constexpr std::string_view celery_control = ".celery.pidbox";

/// The parking queues of one entry.
struct ParkingQueues {
    std::string name;       // the name of the only one; empty if each work queue has its own
    std::string beginning;  // the beginning of all their names
    std::string pattern;
};

/// Nothing if the entry parks in an exchange.
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

/// The rungs of a work queue whose name is too long to be contained in theirs.
std::vector<std::string> shortened_rungs(const core::Entry& entry) {
    std::vector<std::string> names;
    if (core::is_glob(entry.match) || entry.ladder.return_path == core::ReturnPath::headers) return names;
    for (const core::Milliseconds delay : core::distinct_delays(entry.ladder)) {
        for (const bool high : {false, true}) {
            std::string name = core::rung_name(entry.match, delay, high, entry.ladder.x_death);
            if (!name.starts_with(entry.match + '.')) names.push_back(std::move(name));
        }
    }
    return names;
}

/// Whether there may be a name that both globs match.
bool may_share_a_name(const std::string& left, const std::string& right) {
    if (!core::is_glob(left)) return core::glob_matches(right, left);
    if (!core::is_glob(right)) return core::glob_matches(left, right);
    return may_begin(left, right.substr(0, right.find_first_of("*?"))) &&
           may_end(left, right.substr(right.find_last_of("*?") + 1));
}

/// Matches what the glob matches, except what an earlier entry matches whose failures come by the error queue.
std::string pattern_of_rest(const core::Policy& policy, const core::Entry& entry) {
    std::string pattern;
    for (const core::Entry& earlier : policy.entries) {
        if (&earlier == &entry) break;
        if (earlier.failures == core::FailuresBy::source || !may_share_a_name(earlier.match, entry.match)) continue;
        pattern.append("(?!").append(pattern_of_glob(earlier.match)).append("$)");
    }
    return pattern + pattern_of_glob(entry.match);
}

/// Matches the queues of held messages of all work queues of that entry.
std::string held_pattern(const core::Entry& entry) {
    if (!core::is_glob(entry.match)) return pattern_of_name(core::held_name(entry.match));
    return pattern_of_glob(entry.match) + pattern_of_name(core::held_suffix);
}

/// The alternatives of a negative lookahead: names that the globs match but that are not work queues.
class NotWorkQueues {
  public:
    NotWorkQueues(const core::Policy& policy, const std::vector<std::string>& matches) {
        std::copy_if(matches.begin(), matches.end(), std::back_inserter(globs_), core::is_glob);
        add_name(policy.error_queue);
        add_name(policy.catch_all);
        for (const core::Entry& entry : policy.entries) {
            add_parking(entry);
            if (core::may_hold(entry)) add_held(entry);
            if (entry.failures == core::FailuresBy::source) add_left_out(policy, entry);
        }
        const std::string delay = well_formed_delay + maybe_kinds(policy);
        patterns.insert(".+\\.retry\\." + delay);
        if (any_begins("retryd.")) patterns.insert("retryd\\.[^.]+\\." + delay);
        if (any_begins("amq.")) patterns.insert(brokers_own);
        add_plumbing();
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

    void add_plumbing() {
        for (const Plumbing& known : known_plumbing)
            if (any_begins(known.beginning)) patterns.insert(known.pattern);
        const auto ends_as_delay = [](const std::string& glob) { return may_end_numbered(glob, celery_delay); };
        if (std::any_of(globs_.begin(), globs_.end(), ends_as_delay)) patterns.insert(celery_delays_with_prefix);
        const auto ends_as_control = [](const std::string& glob) { return may_end(glob, celery_control); };
        if (std::any_of(globs_.begin(), globs_.end(), ends_as_control))
            patterns.insert(".*" + pattern_of_name(celery_control));
    }

    void add_held(const core::Entry& entry) {
        core::is_glob(entry.match) ? void(patterns.insert(held_pattern(entry)))
                                   : add_name(core::held_name(entry.match));
    }

    /// Its failures come by a source; with a dead-letter exchange they would come twice.
    void add_left_out(const core::Policy& policy, const core::Entry& entry) {
        if (!core::is_glob(entry.match)) return add_name(entry.match);
        const bool caught = std::any_of(globs_.begin(), globs_.end(),
                                        [&](const std::string& glob) { return may_share_a_name(glob, entry.match); });
        if (caught) patterns.insert(pattern_of_rest(policy, entry));
    }

    bool any_begins(std::string_view beginning) const {
        return std::any_of(globs_.begin(), globs_.end(),
                           [&](const std::string& glob) { return may_begin(glob, beginning); });
    }

    std::vector<std::string> globs_;
};

/// Splits the items into as many parts as it takes for each pattern to be short enough; a single item may stay too
/// long.
template <typename Item, typename Build>
void split(const std::vector<Item>& items, const Build& build, std::vector<std::vector<Item>>& parts) {
    if (items.size() < 2 || build(items).size() <= longest_pattern) {
        if (!items.empty()) parts.push_back(items);
        return;
    }
    const auto middle = items.begin() + static_cast<std::ptrdiff_t>(items.size() / 2);
    split(std::vector<Item>(items.begin(), middle), build, parts);
    split(std::vector<Item>(middle, items.end()), build, parts);
}

template <typename Item, typename Build>
std::vector<std::string> patterns_of_parts(const std::vector<Item>& items, const Build& build) {
    std::vector<std::vector<Item>> parts;
    split(items, build, parts);
    std::vector<std::string> patterns;
    for (const auto& part : parts)
        patterns.push_back(build(part));
    return patterns;
}

/// Collects the alternatives for retryd's own queues.
struct OwnQueues {
    enum class Of { name, work_queue, ladder, more };
    Of kind;
    std::string pattern;
    auto operator<=>(const OwnQueues&) const = default;
};

std::string pattern_of(const std::vector<OwnQueues>& own, const std::string& kinds) {
    std::map<OwnQueues::Of, std::string> all;
    for (const OwnQueues& each : own)
        all[each.kind].append(all[each.kind].empty() ? "" : "|").append(each.pattern);
    const std::string delay = std::string{"\\."} + well_formed_delay + kinds;
    std::string text;
    const auto add = [&](const std::string& alternative) { text.append(text.empty() ? "" : "|").append(alternative); };
    using enum OwnQueues::Of;
    if (all.contains(work_queue)) add("(?:" + all[work_queue] + ")\\.retry" + delay);
    if (all.contains(name)) add(all[name]);
    if (all.contains(ladder)) add("retryd\\.(?:" + all[ladder] + ')' + delay);
    if (all.contains(more)) add(all[more]);
    return text;
}

/// Those of the names that the pattern matches.
std::vector<std::string> caught(const std::vector<std::string>& names, const std::string& pattern) {
    std::vector<std::string> found;
    if (names.empty()) return found;
    const BrokerPattern broker(pattern, BrokerPattern::as_many_steps_as_the_broker);
    std::copy_if(names.begin(), names.end(), std::back_inserter(found),
                 [&](const std::string& name) { return broker.matches(name).value_or(true); });
    return found;
}

}  // namespace

std::string names_pattern(const std::vector<std::string>& names) {
    return std::string{opening} + alternatives(names, pattern_of_name) + std::string{closing};
}

std::string extended_pattern(const std::string& pattern, const std::vector<std::string>& names) {
    if (!pattern.starts_with(opening) || !pattern.ends_with(closing)) return "";
    return pattern.substr(0, pattern.size() - closing.size()) + '|' + alternatives(names, pattern_of_name) +
           std::string{closing};
}

std::string reduced_pattern(const std::string& pattern, const std::vector<std::string>& names) {
    std::string_view rest = pattern;
    rest.remove_prefix(opening.size());
    rest.remove_suffix(closing.size());
    std::string kept;
    while (!rest.empty()) {
        std::size_t end = 0;  // the end of this alternative: an unescaped |
        while (end < rest.size() && rest[end] != '|')
            end += rest[end] == '\\' ? 2 : 1;
        const std::string_view alternative = rest.substr(0, end);
        const bool goes = std::any_of(names.begin(), names.end(),
                                      [&](const std::string& name) { return pattern_of_name(name) == alternative; });
        if (!goes) kept.append(kept.empty() ? "" : "|").append(alternative);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return kept.empty() ? "" : std::string{opening} + kept + std::string{closing};
}

bool is_names_pattern(const std::string& pattern) {
    return pattern.starts_with(opening) && !pattern.starts_with("^(?") && pattern.ends_with(closing);
}

bool names_in_pattern(const std::string& pattern, const std::string& name) {
    const std::string alternative = pattern_of_name(name);
    const std::size_t behind_exclusion = pattern.starts_with("^(?!") ? pattern.rfind(")$)(") : 0;
    for (std::size_t at = pattern.find(alternative, behind_exclusion); at != std::string::npos;
         at = pattern.find(alternative, at + 1)) {
        const std::string_view after = std::string_view{pattern}.substr(at + alternative.size());
        const bool begins = at > 0 && (pattern[at - 1] == '(' || pattern[at - 1] == '|');
        if (begins && (after.starts_with('|') || after == closing)) return true;
    }
    return false;
}

std::vector<std::vector<std::string>> names_in_parts(const std::vector<std::string>& names) {
    std::vector<std::vector<std::string>> parts;
    split(names, names_pattern, parts);
    return parts;
}

std::vector<std::string> matches_patterns(const core::Policy& policy, const std::vector<std::string>& matches,
                                          const std::vector<std::string>& excluded) {
    return patterns_of_parts(matches, [&](const std::vector<std::string>& part) {
        const bool globs = std::any_of(part.begin(), part.end(), core::is_glob);
        if (!globs) return names_pattern(part);
        NotWorkQueues not_matched(policy, part);
        for (const std::string& name : excluded)
            not_matched.add_name(name);
        const auto as_is = [](const std::string& text) { return text; };
        return "^(?!(?:" + alternatives(not_matched.patterns, as_is) + ")$)(" + alternatives(part, pattern_of_glob) +
               std::string{closing};
    });
}

std::vector<std::string> excluded_names(const std::string& pattern) {
    constexpr std::string_view begin = "^(?!(?:";
    std::vector<std::string> names;
    if (!pattern.starts_with(begin)) return names;
    std::string name;
    bool literal = true;
    for (std::size_t at = begin.size(); at < pattern.size(); ++at) {
        const char c = pattern[at];
        const bool ends = c == '|' || c == ')';
        if (ends && literal && !name.empty()) names.push_back(name);
        if (c == ')') return names;
        if (ends) {
            name.clear();
            literal = true;
        } else if (c == '(') {
            while (++at < pattern.size() && pattern[at] != ')')  // our groups do not nest
                if (pattern[at] == '\\') ++at;
            literal = false;
        } else if (c == '\\' && at + 1 < pattern.size()) {
            name += pattern[++at];
        } else {
            literal = literal && std::string_view{".*+?[]{}^$"}.find(c) == std::string_view::npos;
            name += c;
        }
    }
    return names;
}

std::vector<std::string> own_queues_patterns(const core::Policy& policy, const std::vector<std::string>& excluded,
                                             const std::vector<std::string>& more) {
    using Of = OwnQueues::Of;
    std::set<OwnQueues> own{{Of::name, pattern_of_name(policy.error_queue)},
                            {Of::name, pattern_of_name(policy.catch_all)}};
    for (const core::Milliseconds delay : core::detour_delays)
        own.insert({Of::name, pattern_of_name(core::detour_name(delay))});
    for (const core::Entry& entry : policy.entries) {
        if (const auto parking = parking_queues(entry)) own.insert({Of::name, parking->pattern});
        for (const std::string& rung : shortened_rungs(entry))
            own.insert({Of::name, pattern_of_name(rung)});
        if (core::may_hold(entry)) own.insert({Of::name, held_pattern(entry)});
        own.insert({Of::work_queue, pattern_of_glob(entry.match)});
        if (entry.ladder.return_path == core::ReturnPath::headers)
            own.insert({Of::ladder, pattern_of_name(entry.ladder.name)});
    }
    for (const std::string& queue : more)
        own.insert({Of::more, pattern_of_name(queue)});
    const std::vector<OwnQueues> all(own.begin(), own.end());
    return patterns_of_parts(all, [&](const std::vector<OwnQueues>& part) {
        const std::string text = pattern_of(part, maybe_kinds(policy));
        const std::vector<std::string> others = caught(excluded, "^(" + text + std::string{closing});
        const std::string none = others.empty() ? "" : "(?!(?:" + alternatives(others, pattern_of_name) + ")$)";
        return '^' + none + '(' + text + std::string{closing};
    });
}

namespace {

constexpr std::uint32_t most_memory_kib = 4'096;

}  // namespace

struct BrokerPattern::Compiled {
    template <auto release>
    struct Release {
        template <typename Object>
        void operator()(Object* object) const {
            release(object);
        }
    };

    std::unique_ptr<pcre2_code, Release<pcre2_code_free>> code;
    std::unique_ptr<pcre2_match_context, Release<pcre2_match_context_free>> limits;
    std::unique_ptr<pcre2_match_data, Release<pcre2_match_data_free>> data;
    bool too_slow = false;
};

BrokerPattern::BrokerPattern(const std::string& pattern, std::uint32_t most_steps) {
    int error = 0;
    PCRE2_SIZE where = 0;
    const auto* text = reinterpret_cast<PCRE2_SPTR>(pattern.data());
    auto compiled = std::make_unique<Compiled>();
    compiled->code.reset(pcre2_compile(text, pattern.size(), 0, &error, &where, nullptr));
    if (!compiled->code) return;
    compiled->limits.reset(pcre2_match_context_create(nullptr));
    compiled->data.reset(pcre2_match_data_create(1, nullptr));
    if (!compiled->limits || !compiled->data) return;
    pcre2_set_match_limit(compiled->limits.get(), most_steps);
    pcre2_set_heap_limit(compiled->limits.get(), most_memory_kib);
    compiled_ = std::move(compiled);
}

BrokerPattern::~BrokerPattern() = default;
BrokerPattern::BrokerPattern(BrokerPattern&&) noexcept = default;
BrokerPattern& BrokerPattern::operator=(BrokerPattern&&) noexcept = default;

std::optional<bool> BrokerPattern::matches(std::string_view name) const {
    if (!compiled_ || compiled_->too_slow) return std::nullopt;
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(name.data());
    const int result =
        pcre2_match(compiled_->code.get(), subject, name.size(), 0, 0, compiled_->data.get(), compiled_->limits.get());
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result >= 0) return true;
    compiled_->too_slow = true;
    return std::nullopt;
}

}  // namespace retryd::admin
