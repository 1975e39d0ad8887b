#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "config/settle.h"
#include "config/suggest.h"
#include "core/names.h"

namespace retryd::config {
namespace {

/// A queue that retryd declares, and what it is for.
using OwnQueues = std::map<std::string, std::string>;

void check_ladders(const std::vector<WrittenLadder>& ladders, Problems& problems) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    for (const WrittenLadder& ladder : ladders) {
        if (ladder.name.size() <= 64 && ladder.name.find_first_not_of(allowed) == std::string::npos) continue;
        add(problems, ladder.place, "this is no name for a ladder; expected 1 to 64 letters, digits, _ and -");
    }
}

/// Whether whatever `later` matches is matched by `earlier` already. May miss a case, never invents one.
bool covers(const std::string& earlier, const std::string& later) {
    if (earlier == later) return true;
    // Read as a text, `later` stands for all that it matches, except that a ? of `earlier` must not take its *.
    const bool comparable = earlier.find('?') == std::string::npos || later.find('*') == std::string::npos;
    return comparable && core::glob_matches(earlier, later);
}

void check_reachable(const std::vector<WrittenEntry>& entries, Problems& problems) {
    for (auto later = entries.begin(); later != entries.end(); ++later) {
        if (!later->match.given) continue;
        const auto earlier = std::find_if(entries.begin(), later, [&](const WrittenEntry& entry) {
            return entry.match.given && covers(entry.match.value, later->match.value);
        });
        if (earlier == later) continue;
        add(problems, later->match.place,
            shown(later->match.value) + " can never match: " + earlier->place.path + " on line " +
                std::to_string(earlier->match.place.at.line) + " (" + shown(earlier->match.value) +
                ") takes it first; expected the narrower entry first");
    }
}

const Given<std::string>& parked_of(const WrittenEntry& entry, const Written& written) {
    return entry.parked.given ? entry.parked : written.parking_queue;
}

void settle_entries(const Written& written, core::Policy& policy, Problems& problems) {
    std::vector<std::string> names;
    for (const WrittenLadder& ladder : written.ladders)
        names.push_back(ladder.name);
    for (const WrittenEntry& entry : written.entries) {
        if (!entry.ladder.given) continue;
        const auto found = std::find(names.begin(), names.end(), entry.ladder.value);
        if (found != names.end()) {
            const core::Ladder& ladder = written.ladders[static_cast<std::size_t>(found - names.begin())].ladder;
            policy.entries.push_back({entry.match.value, ladder, parked_of(entry, written).value});
            continue;
        }
        const std::string what = shown(entry.ladder.value) + " is not one of the ladders; ";
        add(problems, entry.ladder.place,
            what + (names.empty() ? "expected it under ladders:" : expected_one_of(entry.ladder.value, names)));
    }
}

/// Where an entry parks, if its name can be known before the first message comes.
std::optional<std::string> parking_queue(const WrittenEntry& entry, const Written& written) {
    const std::string& parked = parked_of(entry, written).value;
    if (parked.find("{queue}") == std::string::npos) return parked;
    if (!entry.match.given || core::is_glob(entry.match.value)) return std::nullopt;
    return core::expand_queue(parked, entry.match.value);
}

/// A work queue that retryd declares itself would be two things at once.
void check_own_queues(const Written& written, Problems& problems) {
    OwnQueues own;
    for (const WrittenEntry& entry : written.entries) {
        if (const auto parked = parking_queue(entry, written))
            own.emplace(*parked, "where " + entry.place.path + " parks");
    }
    own.insert_or_assign(written.catch_all.value, "parking.catch_all");
    own.insert_or_assign(written.queue.value, "errors.queue");
    for (const WrittenEntry& entry : written.entries) {
        const auto found = entry.match.given ? own.find(entry.match.value) : own.end();
        if (found == own.end()) continue;
        add(problems, entry.match.place,
            shown(entry.match.value) + " is a queue of retryd's own, " + found->second + "; expected a work queue");
    }
}

/// What is parked in the error queue would be taken out of it at once, for ever.
void check_error_queue(const Written& written, Problems& problems) {
    const std::string consequence = ", and retryd would take out again what it parks there; expected another queue";
    // Told where the operator has written one of the two names; the other may be a default.
    const auto report = [&](const Given<std::string>& parks, const std::string& role) {
        const std::string name = shown(written.queue.value) + " is ";
        if (parks.given) {
            add(problems, parks.place, name + "errors.queue" + consequence);
        } else {
            add(problems, written.queue.place, name + role + consequence);
        }
    };
    if (written.catch_all.value == written.queue.value) report(written.catch_all, "parking.catch_all");
    for (const WrittenEntry& entry : written.entries) {
        const bool same = parking_queue(entry, written) == written.queue.value;
        if (same) report(parked_of(entry, written), "where " + entry.place.path + " parks");
    }
}

}  // namespace

void settle_policy(const Written& written, core::Policy& policy, Problems& problems) {
    policy.error_exchange = written.exchange.value;
    policy.error_queue = written.queue.value;
    policy.catch_all = written.catch_all.value;
    check_ladders(written.ladders, problems);
    settle_entries(written, policy, problems);
    check_reachable(written.entries, problems);
    check_own_queues(written, problems);
    check_error_queue(written, problems);
}

}  // namespace retryd::config
