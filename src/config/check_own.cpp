#include "config/check_own.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/names.h"

namespace retryd::config {
namespace {

/// A queue that retryd declares, and what it is for.
using OwnQueues = std::map<std::string, std::string>;

/// The queue where an entry parks, if there is one and its name can be known before the first message comes.
std::optional<std::string> parking_queue(const WrittenEntry& entry, const Written& written) {
    if (entry.parked.exchange.given) return std::nullopt;
    const std::string& parked = parking_queue_of(entry, written).value;
    if (parked.find("{queue}") == std::string::npos) return parked;
    if (!entry.match.given || core::is_glob(entry.match.value)) return std::nullopt;
    return core::expand_queue(parked, entry.match.value);
}

std::string loop(const Given<std::string>& name, const std::string& role, const std::string& expected) {
    return shown(name) + " is " + role + ", and retryd would take out again what it parks there; expected another " +
           expected;
}

void check_parking_queues(const Written& written, Problems& problems) {
    // Told where the operator has written one of the two names; the other may be a default.
    const auto report = [&](const Given<std::string>& parks, const std::string& role) {
        const bool here = parks.given;
        add(problems, here ? parks.place : written.queue.place,
            loop(written.queue, here ? "errors.queue" : role, "queue"));
    };
    if (written.catch_all.value == written.queue.value) report(written.catch_all, "parking.catch_all");
    for (const WrittenEntry& entry : written.entries) {
        const bool same = parking_queue(entry, written) == written.queue.value;
        if (same) report(parking_queue_of(entry, written), "where " + entry.place.path + " parks");
    }
}

void check_parking_exchange(const Given<std::string>& parks, const Written& written, Problems& problems) {
    if (!parks.given) return;
    if (parks.value == written.exchange.value) {
        add(problems, parks.place, loop(parks, "errors.exchange", "exchange"));
    }
    const auto bound = std::find_if(
        written.bindings.begin(), written.bindings.end(),
        [&](const WrittenBinding& binding) { return binding.exchange.given && binding.exchange.value == parks.value; });
    if (bound == written.bindings.end()) return;
    add(problems, parks.place, loop(parks, "the exchange of " + bound->place.path, "exchange"));
}

}  // namespace

const Given<std::string>& parking_queue_of(const WrittenEntry& entry, const Written& written) {
    return entry.parked.queue.given ? entry.parked.queue : written.parking_queue;
}

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
            shown(entry.match) + " is a queue of retryd's own, " + found->second + "; expected a work queue");
    }
}

void check_parking_loops(const Written& written, Problems& problems) {
    check_parking_queues(written, problems);
    for (const WrittenEntry& entry : written.entries)
        check_parking_exchange(entry.parked.exchange, written, problems);
}

void check_bindings(const Written& written, Problems& problems) {
    const auto& bindings = written.bindings;
    for (auto binding = bindings.begin(); binding != bindings.end(); ++binding) {
        if (!binding->exchange.given) continue;
        if (binding->exchange.value == written.exchange.value) {
            add(problems, binding->exchange.place,
                shown(binding->exchange) +
                    " is errors.exchange, which leads to the error queue in any case; "
                    "expected another exchange");
        }
        const auto same = std::find_if(bindings.begin(), binding, [&](const WrittenBinding& earlier) {
            return earlier.exchange.given && earlier.exchange.value == binding->exchange.value &&
                   earlier.routing_key.value == binding->routing_key.value;
        });
        if (same == binding) continue;
        add(problems, binding->place,
            "is the same as " + same->place.path + " on line " + std::to_string(same->place.at.line) +
                "; expected each exchange with another routing key");
    }
}

}  // namespace retryd::config
