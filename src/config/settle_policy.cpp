#include <algorithm>
#include <optional>

#include "config/check_own.h"
#include "config/settle.h"
#include "config/settle_ladders.h"
#include "config/suggest.h"
#include "core/names.h"

namespace retryd::config {
namespace {

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
            shown(later->match) + " can never match: " + earlier->place.path + " on line " +
                std::to_string(earlier->match.place.at.line) + " (" + shown(earlier->match) +
                ") takes it first; expected the narrower entry first");
    }
}

/// An exchange of the entry's own, or a queue.
core::Parking parking(const WrittenEntry& entry, const Written& written) {
    if (!entry.parked.exchange.given) return {parking_queue_of(entry, written).value, "", std::nullopt};
    const auto& key = entry.parked.routing_key;
    return {"", entry.parked.exchange.value, key.given ? std::optional{key.value} : std::nullopt};
}

core::Entry settle(const WrittenEntry& entry, const core::Ladder& ladder, const Written& written) {
    const auto max_age = entry.max_age.given ? std::optional{entry.max_age.value} : std::nullopt;
    return {entry.match.value, ladder, parking(entry, written), entry.on, max_age};
}

void settle_entries(const Written& written, core::Policy& policy, Problems& problems) {
    const std::vector<core::Ladder> ladders = settle_ladders(written.ladders, problems);
    std::vector<std::string> names;
    for (const core::Ladder& ladder : ladders)
        names.push_back(ladder.name);
    for (const WrittenEntry& entry : written.entries) {
        if (!entry.ladder.given) continue;
        const auto found = std::find(names.begin(), names.end(), entry.ladder.value);
        if (found != names.end()) {
            policy.entries.push_back(settle(entry, ladders[static_cast<std::size_t>(found - names.begin())], written));
            continue;
        }
        const std::string what = shown(entry.ladder) + " is not one of the ladders; ";
        add(problems, entry.ladder.place,
            what + (names.empty() ? "expected it under ladders:" : expected_one_of(entry.ladder.value, names)));
    }
}

}  // namespace

void settle_policy(const Written& written, core::Policy& policy, Problems& problems) {
    policy.error_exchange = written.exchange.value;
    policy.error_queue = written.queue.value;
    policy.catch_all = written.catch_all.value;
    for (const WrittenBinding& binding : written.bindings)
        policy.error_bindings.push_back({binding.exchange.value, binding.routing_key.value});
    settle_entries(written, policy, problems);
    check_reachable(written.entries, problems);
    check_own_queues(written, problems);
    check_parking_loops(written, problems);
    check_bindings(written, problems);
}

}  // namespace retryd::config
