#include "config/validate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/name_scalars.h"
#include "core/duration.h"
#include "core/names.h"
#include "core/policy.h"

namespace retryd::config {

namespace {

// ladders:

/// Where the first given key of the formula stands; null where there is none.
const Place* place_of_formula(const RawFormula& formula) {
    if (formula.first.given) return &formula.first.place;
    if (formula.factor.given) return &formula.factor.place;
    if (formula.max.given) return &formula.max.place;
    if (formula.attempts.given) return &formula.attempts.place;
    return nullptr;
}

void check_ladder_name(const RawLadder& ladder, Problems& problems) {
    if (ladder.name == core::detour_word) {
        return add(problems, ladder.place,
                   "no ladder can be called so: the queues retryd.detour.* are retryd's own; expected another name");
    }
    if (is_ladder_name(ladder.name)) return;
    add(problems, ladder.place, "this is no name for a ladder; expected " + std::string{ladder_name_rule});
}

/// Whether the ladder, or a key that makes its delays, has a problem already: nothing shall follow from it.
bool delays_are_wrong(const RawLadder& ladder, const std::set<std::string>& wrong_keys) {
    const std::string& path = ladder.place.path;
    const std::string delays = path + ".delays";  // and the items of this list
    const auto at_delays = wrong_keys.lower_bound(delays);
    if (at_delays != wrong_keys.end() && at_delays->starts_with(delays)) return true;
    return wrong_keys.contains(path) || wrong_keys.contains(path + ".first") || wrong_keys.contains(path + ".factor") ||
           wrong_keys.contains(path + ".max") || wrong_keys.contains(path + ".attempts");
}

/// `given`: the place of a key of the formula, which has not both of its required keys.
void refuse_half_formula(const RawLadder& ladder, const Place& given, Problems& problems) {
    const auto refuse = [&](const std::string& key, const std::string& expected) {
        add(problems, {given.at, ladder.place.path + "." + key},
            "is missing, and " + given.path + " needs it; expected " + expected);
    };
    if (!ladder.formula.first.given) refuse("first", "the wait after the first failure, such as 1s");
    if (!ladder.formula.attempts.given) refuse("attempts", "how many waits there are, such as 10");
}

/// Delay n is min(max, first × factor^(n-1)), rounded to a whole millisecond. The same on every machine, since the
/// delays are parts of queues' names: multiplied step by step, because multiplication is the same everywhere and pow is
/// not. Nothing, and a problem, where a delay would be longer than RabbitMQ takes.
std::vector<core::Milliseconds> delays_of(const RawFormula& formula, Problems& problems) {
    if (formula.max.given && formula.max.value < formula.first.value) {
        add(problems, formula.max.place,
            "is shorter than first; expected at least " + core::format_duration(formula.first.value));
        return {};
    }
    std::vector<core::Milliseconds> delays;
    const auto longest = static_cast<double>((formula.max.given ? formula.max.value : core::longest_ttl).count());
    auto exact = static_cast<double>(formula.first.value.count());  // may grow to infinity, which min() cuts
    for (int attempt = 1; attempt <= formula.attempts.value; ++attempt) {
        if (exact > longest && !formula.max.given) {
            add(problems, formula.attempts.place,
                "attempt " + std::to_string(attempt) + " would wait longer than " +
                    core::format_duration(core::longest_ttl) +
                    ", and RabbitMQ takes no longer delay; expected a max, or fewer attempts");
            return {};
        }
        delays.emplace_back(std::llround(std::min(exact, longest)));
        exact *= formula.factor.value;
    }
    return delays;
}

std::vector<core::Milliseconds> delays_of(const RawLadder& ladder, const std::set<std::string>& wrong_keys,
                                          Problems& problems) {
    const Place* formula = place_of_formula(ladder.formula);
    if (ladder.delays.given && formula != nullptr) {
        const Place& delays = ladder.delays.place;
        add(problems, *formula,
            "is given together with " + delays.path + " on line " + std::to_string(delays.at.line) +
                "; expected either delays, or a formula of first, factor, max and attempts");
    }
    if (ladder.delays.given) return ladder.delays.value;
    if (delays_are_wrong(ladder, wrong_keys)) return {};
    if (formula == nullptr) {
        add(problems, ladder.place,
            "has no delays; expected delays such as [5s, 30s, 2m], or a formula of first and attempts");
    } else if (ladder.formula.first.given && ladder.formula.attempts.given) {
        return delays_of(ladder.formula, problems);
    } else {
        refuse_half_formula(ladder, *formula, problems);
    }
    return {};
}

/// A ladder for each raw one, in the same order; one with a problem may be without steps.
std::vector<core::Ladder> validate_ladders(const std::vector<RawLadder>& raw, Problems& problems) {
    std::set<std::string> wrong_keys;  // of the problems so far: a file may have thousands, and as many ladders
    std::size_t known = 0;
    std::vector<core::Ladder> ladders;
    for (const RawLadder& one : raw) {
        for (; known < problems.size(); ++known)
            wrong_keys.insert(problems[known].key);
        core::Ladder ladder = one.ladder;
        ladder.name = one.name;
        ladder.steps = delays_of(one, wrong_keys, problems);
        if (one.jitter.lanes.given) ladder.jitter = {one.jitter.width_percent.value, one.jitter.lanes.value};
        check_ladder_name(one, problems);
        ladders.push_back(std::move(ladder));
    }
    return ladders;
}

// queues:

/// Where an entry parks: its own key, or parking.queue.
const Given<std::string>& parking_key(const RawEntry& entry, const RawConfig& raw) {
    return entry.parked.queue.given ? entry.parked.queue : raw.parking_queue;
}

/// An exchange of the entry's own, or a queue.
core::Parking parking(const RawEntry& entry, const RawConfig& raw) {
    if (!entry.parked.exchange.given) return {parking_key(entry, raw).value, "", std::nullopt};
    const auto& key = entry.parked.routing_key;
    return {"", entry.parked.exchange.value, key.given ? std::optional{key.value} : std::nullopt};
}

std::optional<core::OutageRule> outage_of(const RawEntry& entry) {
    if (!entry.outage) return std::nullopt;
    const RawOutage& outage = *entry.outage;
    return core::OutageRule{outage.failing_percent.value, outage.of, outage.within, outage.probe, outage.release.value};
}

/// What succeeds only the management API tells; and after a restart, which queues of a glob hold messages.
void check_holding(const RawConfig& raw, Problems& problems) {
    if (raw.management.url.given) return;
    for (const RawEntry& entry : raw.entries) {
        const std::string& path = entry.place.path;
        if (entry.outage) {
            add(problems, {entry.place.at, path + ".outage"},
                "needs RabbitMQ's counters of what succeeds; expected a section management with its url");
        } else if (entry.hold && entry.match.given && core::is_glob(entry.match.value)) {
            add(problems, {entry.place.at, path + ".hold"},
                "with a glob needs the management API, to find the held messages again after a restart; expected a "
                "section management with its url, or the names of the queues");
        }
    }
}

std::optional<core::ParkedAge> parked_age_of(const RawEntry& entry) {
    if (!entry.parked_age) return std::nullopt;
    return core::ParkedAge{entry.parked_age->max.value, entry.parked_age->archive.value};
}

/// Nothing is dropped because somebody has forgotten to say where it is to be kept.
void check_parked_ages(const RawConfig& raw, Problems& problems) {
    for (const RawEntry& entry : raw.entries) {
        if (!entry.parked_age) continue;
        const RawParkedAge& age = *entry.parked_age;
        const Place place{entry.place.at, entry.place.path + ".parked_age"};
        if (age.archive.given == age.drop) {
            add(problems, place,
                age.drop ? "has both archive and drop: true; expected one of them, for a message is kept or it is not"
                         : "does not say what becomes of messages that are too old; expected archive: FOLDER, or drop: "
                           "true");
        }
        if (age.archive.given && !age.archive.value.starts_with('/')) {
            add(problems, age.archive.place,
                in_quotes(age.archive) + " depends on where retryd is started; expected a path that begins with /");
        }
        if (entry.parked.exchange.given) {
            add(problems, place,
                "cannot be kept, because the entry parks in an exchange, and retryd does not know which queue that "
                "leads to; expected parked: to be a queue, or no parked_age");
        } else if (!raw.management.url.given && entry.match.given && core::is_glob(entry.match.value) &&
                   parking_key(entry, raw).value.find(core::queue_placeholder) != std::string::npos) {
            add(problems, place,
                "with a glob needs the management API, which can list the parking queues; expected a section "
                "management with its url, or one parking queue for all of them");
        }
    }
}

std::vector<core::Entry> validate_entries(const RawConfig& raw, Problems& problems) {
    const std::vector<core::Ladder> ladders = validate_ladders(raw.ladders, problems);
    std::vector<std::string> names;
    for (const core::Ladder& ladder : ladders)
        names.push_back(ladder.name);
    std::vector<core::Entry> entries;
    for (const RawEntry& entry : raw.entries) {
        if (!entry.ladder.given) continue;
        const auto found = std::find(names.begin(), names.end(), entry.ladder.value);
        if (found != names.end()) {
            const auto max_age = entry.max_age.given ? std::optional{entry.max_age.value} : std::nullopt;
            core::Ladder ladder = ladders[static_cast<std::size_t>(found - names.begin())];
            ladder.x_death = entry.x_death;
            entries.push_back({entry.match.value, ladder, parking(entry, raw), entry.on, max_age, entry.hold,
                               outage_of(entry), entry.verdict, parked_age_of(entry), entry.failures.value});
            continue;
        }
        const std::string what = in_quotes(entry.ladder) + " is not one of the ladders; ";
        add(problems, entry.ladder.place,
            what + (names.empty() ? "expected it under ladders:" : expected_one_of(entry.ladder.value, names)));
    }
    return entries;
}

/// Whether `earlier` matches all that `later` matches. May miss a case, never invents one.
bool covers(const std::string& earlier, const std::string& later) {
    if (earlier == later) return true;
    // `later`, taken as a name, stands for all that it matches, unless a ? of `earlier` takes its * for one character.
    const bool comparable = earlier.find('?') == std::string::npos || later.find('*') == std::string::npos;
    return comparable && core::glob_matches(earlier, later);
}

void check_reachable(const std::vector<RawEntry>& entries, Problems& problems) {
    for (auto later = entries.begin(); later != entries.end(); ++later) {
        if (!later->match.given) continue;
        const auto earlier = std::find_if(entries.begin(), later, [&](const RawEntry& entry) {
            return entry.match.given && covers(entry.match.value, later->match.value);
        });
        if (earlier == later) continue;
        add(problems, later->match.place,
            in_quotes(later->match) + " can never match: " + earlier->place.path + " on line " +
                std::to_string(earlier->match.place.at.line) + " (" + in_quotes(earlier->match) +
                ") takes it first; expected the narrower entry first");
    }
}

// Queues and exchanges that would be two things at once.

/// The queue where an entry parks, if it parks in a queue and the queue's name is known before the first message comes.
std::optional<std::string> known_parking_queue(const RawEntry& entry, const RawConfig& raw) {
    if (entry.parked.exchange.given) return std::nullopt;
    const std::string& parked = parking_key(entry, raw).value;
    if (parked.find(core::queue_placeholder) == std::string::npos) return parked;
    if (!entry.match.given || core::is_glob(entry.match.value)) return std::nullopt;
    return core::expand_queue(parked, entry.match.value);
}

/// A work queue that retryd declares for itself.
void check_own_queues(const RawConfig& raw, Problems& problems) {
    std::map<std::string, std::string> own;  // what each of retryd's queues is for, by its name
    for (const RawEntry& entry : raw.entries) {
        if (const auto parked = known_parking_queue(entry, raw))
            own.emplace(*parked, "where " + entry.place.path + " parks");
    }
    own.insert_or_assign(raw.catch_all.value, "parking.catch_all");
    own.insert_or_assign(raw.queue.value, "errors.queue");
    for (const RawEntry& entry : raw.entries) {
        const auto found = entry.match.given ? own.find(entry.match.value) : own.end();
        if (found == own.end()) continue;
        add(problems, entry.match.place,
            in_quotes(entry.match) + " is a queue of retryd's own, " + found->second + "; expected a work queue");
    }
}

std::string parking_loop(const Given<std::string>& name, const std::string& role, const std::string& expected) {
    return in_quotes(name) + " is " + role +
           ", and retryd would take out again what it parks there; expected another " + expected;
}

/// Parking in the error queue: retryd would take the message out again at once, for ever.
void check_parking_queues(const RawConfig& raw, Problems& problems) {
    // Reported where the operator has written one of the two names; the other may be a default.
    const auto report = [&](const Given<std::string>& parks, const std::string& role) {
        const bool here = parks.given;
        add(problems, here ? parks.place : raw.queue.place,
            parking_loop(raw.queue, here ? "errors.queue" : role, "queue"));
    };
    if (raw.catch_all.value == raw.queue.value) report(raw.catch_all, "parking.catch_all");
    for (const RawEntry& entry : raw.entries) {
        const bool same = known_parking_queue(entry, raw) == raw.queue.value;
        if (same) report(parking_key(entry, raw), "where " + entry.place.path + " parks");
    }
}

/// Parking through an exchange that leads to the error queue.
void check_parking_exchanges(const RawConfig& raw, Problems& problems) {
    for (const RawEntry& entry : raw.entries) {
        const Given<std::string>& parks = entry.parked.exchange;
        if (!parks.given) continue;
        if (parks.value == raw.exchange.value) {
            add(problems, parks.place, parking_loop(parks, "errors.exchange", "exchange"));
        }
        const auto bound = std::find_if(raw.bindings.begin(), raw.bindings.end(), [&](const RawBinding& binding) {
            return binding.exchange.given && binding.exchange.value == parks.value;
        });
        if (bound == raw.bindings.end()) continue;
        add(problems, parks.place, parking_loop(parks, "the exchange of " + bound->place.path, "exchange"));
    }
}

/// Bindings that exist in any case, and those that are given twice.
void check_bindings(const RawConfig& raw, Problems& problems) {
    const auto& bindings = raw.bindings;
    for (auto binding = bindings.begin(); binding != bindings.end(); ++binding) {
        if (!binding->exchange.given) continue;
        if (binding->exchange.value == raw.exchange.value) {
            add(problems, binding->exchange.place,
                in_quotes(binding->exchange) +
                    " is errors.exchange, which leads to the error queue in any case; expected another exchange");
        }
        const auto same = std::find_if(bindings.begin(), binding, [&](const RawBinding& earlier) {
            return earlier.exchange.given && earlier.exchange.value == binding->exchange.value &&
                   earlier.routing_key.value == binding->routing_key.value;
        });
        if (same == binding) continue;
        add(problems, binding->place,
            "is the same as " + same->place.path + " on line " + std::to_string(same->place.at.line) +
                "; expected each exchange with another routing key");
    }
}

// sources:

core::WorkQueueOf work_queue_of(const RawSource& source) {
    using Place = core::WorkQueueOf::Place;
    if (source.work_queue.given) return {Place::name, source.work_queue.value};
    if (source.header.given) return {Place::header, source.header.value};
    if (source.suffix.given) return {Place::suffix, source.suffix.value};
    return {};
}

void check_work_queue(const RawSource& source, Problems& problems) {
    if (source.header.given && source.suffix.given) refuse_both(source.suffix.place, source.header.place, problems);
    const std::string& queue = source.queue.value;
    if (source.work_queue.given && source.work_queue.value == queue) {
        add(problems, source.work_queue.place,
            in_quotes(source.work_queue) + " is the source itself; expected the queue that its messages failed in");
    }
    const std::string& suffix = source.suffix.value;
    if (source.suffix.given && (!queue.ends_with(suffix) || queue == suffix)) {
        add(problems, source.suffix.place,
            "the name of the source, " + in_quotes(source.queue) +
                ", does not end with it; expected what it has more "
                "than the work queue's");
    }
}

/// What a queue is already, if it cannot be a source.
std::optional<std::string> other_role(const RawSource& source, const RawConfig& raw, const core::Policy& policy) {
    const std::string& queue = source.queue.value;
    if (queue.find_first_not_of('*') == std::string::npos) return "every queue, the work queues too";
    if (queue == raw.queue.value) return "errors.queue, which retryd consumes in any case";
    if (queue == raw.catch_all.value) return "parking.catch_all, and retryd would take out again what it parks there";
    for (const RawEntry& entry : raw.entries) {
        if (known_parking_queue(entry, raw) == queue)
            return "where " + entry.place.path + " parks, and retryd would take out again what it parks there";
        if (!entry.match.given) continue;
        const std::string& match = entry.match.value;
        if (match == queue || (!core::is_glob(match) && core::glob_matches(queue, match))) {
            return (core::is_glob(queue) ? "a glob that matches the work queue of " : "the work queue of ") +
                   entry.place.path + ", whose consumers would share its messages with retryd";
        }
    }
    if (core::is_own_queue(policy, queue)) return "a name of retryd's own: that of a rung, or of where an entry parks";
    return std::nullopt;
}

/// What failed there would be parked, all of it.
void check_work_queue_role(const RawSource& source, const core::Policy& policy, Problems& problems) {
    const std::string& name = source.work_queue.value;
    if (!source.work_queue.given || name == source.queue.value) return;
    const bool own = core::is_own_queue(policy, name);
    if (!own && !core::is_source(policy, name)) return;
    add(problems, source.work_queue.place,
        in_quotes(source.work_queue) + (own ? " is a queue of retryd's own" : " is a source, too") +
            "; expected the queue that its messages failed in");
}

/// Whether what fails in any work queue of that entry may come by it. Doubt is a yes.
bool may_serve(const core::Source& source, const std::string& match) {
    using Place = core::WorkQueueOf::Place;
    if (!core::is_glob(match)) return core::may_name(source, match);
    const std::string& text = source.work_queue.text;
    if (source.work_queue.place == Place::name) return core::glob_matches(match, text);
    if (source.work_queue.place != Place::suffix || core::is_glob(source.queue)) return true;
    return source.queue.ends_with(text) &&
           core::glob_matches(match, source.queue.substr(0, source.queue.size() - text.size()));
}

/// An entry whose failures would come by nothing at all. Nothing is said of it where the sources are wrong themselves.
void check_failures(const RawConfig& raw, const core::Policy& policy, Problems& problems) {
    const bool wrong_sources = std::any_of(problems.begin(), problems.end(),
                                           [](const Problem& each) { return each.key.starts_with("sources"); });
    if (wrong_sources) return;
    for (const RawEntry& entry : raw.entries) {
        const auto& failures = entry.failures;
        if (failures.value != core::FailuresBy::source || !entry.match.given) continue;
        if (raw.sources.empty()) {
            add(problems, failures.place,
                "has no source to come by; expected the queue that its consumers put them into under sources, or no "
                "failures: source");
            continue;
        }
        const bool served = std::any_of(policy.sources.begin(), policy.sources.end(), [&](const core::Source& source) {
            return may_serve(source, entry.match.value);
        });
        if (served) continue;
        add(problems, failures.place,
            "has no source that could name " + in_quotes(entry.match) +
                ", by what their work_queue says; expected one that can, or no failures: source");
    }
}

/// `policy`: without them.
std::vector<core::Source> validate_sources(const RawConfig& raw, const core::Policy& policy, bool management,
                                           Problems& problems) {
    std::vector<core::Source> sources;
    for (const RawSource& source : raw.sources) {
        if (!source.queue.given) continue;
        check_work_queue(source, problems);
        if (const auto role = other_role(source, raw, policy)) {
            add(problems, source.queue.place,
                in_quotes(source.queue) + " is " + *role + "; expected a queue of somebody else's");
        }
        if (core::is_glob(source.queue.value) && !management) {
            add(problems, source.queue.place,
                in_quotes(source.queue) +
                    " is a glob, whose queues are found by the management API; expected a section "
                    "management, or a name");
        }
        const auto same = std::find_if(sources.begin(), sources.end(), [&](const core::Source& earlier) {
            return earlier.queue == source.queue.value;
        });
        if (same != sources.end())
            add(problems, source.queue.place, in_quotes(source.queue) + " is a source already; expected each once");
        sources.push_back(
            {source.queue.value, source.dialect.value, work_queue_of(source), source.reason_header.value});
    }
    return sources;
}

void validate_policy(const RawConfig& raw, bool management, core::Policy& policy, Problems& problems) {
    policy.error_exchange = raw.exchange.value;
    policy.error_queue = raw.queue.value;
    policy.catch_all = raw.catch_all.value;
    for (const RawBinding& binding : raw.bindings)
        policy.error_bindings.push_back({binding.exchange.value, binding.routing_key.value});
    policy.entries = validate_entries(raw, problems);
    policy.sources = validate_sources(raw, policy, management, problems);
    for (const RawSource& source : raw.sources)
        check_work_queue_role(source, policy, problems);
    check_failures(raw, policy, problems);
    check_holding(raw, problems);
    check_parked_ages(raw, problems);
    check_reachable(raw.entries, problems);
    check_own_queues(raw, problems);
    check_parking_queues(raw, problems);
    check_parking_exchanges(raw, problems);
    check_bindings(raw, problems);
}

}  // namespace

Settings validate(RawConfig raw, const FileEnvironment& env, Problems& problems) {
    Settings settings = std::move(raw.settings);
    validate_broker(raw.broker, env, settings.broker, problems);
    settings.management = validate_management(raw.management, env, settings.broker, problems);
    validate_http(raw.http, env, settings.http, problems);
    validate_policy(raw, settings.management.has_value(), settings.policy, problems);
    settings.proof_secrets = read_secrets(raw.key_file, env, problems);
    return settings;
}

}  // namespace retryd::config
