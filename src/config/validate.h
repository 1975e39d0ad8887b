// The values of the file, checked one against another → settings.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "config/load.h"
#include "config/problem.h"
#include "config/raw_config.h"
#include "core/time.h"

namespace retryd::config {

/// Where to connect, as whom, over which TLS. Reads the files that the settings name, to see that they can be read.
void validate_broker(const RawConfig& written, const FileEnvironment& env, Broker& settings, Problems& problems);

/// Nothing where there is no management API to ask. Whoever is not named logs in as at the broker.
std::optional<Management> validate_management(const RawManagement& written, const FileEnvironment& env,
                                              const Broker& broker, Problems& problems);

/// Which queues climb which ladder and park where.
void validate_policy(const RawConfig& written, core::Policy& policy, Problems& problems);

// Queues and exchanges that would be two things at once.

/// Where an entry parks: its own key, or parking.queue.
const Given<std::string>& parking_queue_of(const RawEntry& entry, const RawConfig& written);

/// A work queue that retryd declares itself.
void check_own_queues(const RawConfig& written, Problems& problems);

/// Parking that leads back into the error queue: retryd would take it out again at once, for ever.
void check_parking_loops(const RawConfig& written, Problems& problems);

/// Bindings that are there already.
void check_bindings(const RawConfig& written, Problems& problems);

// A ladder by formula: 1s, 2s, 4s … cut at a longest delay.

struct Formula {
    core::Milliseconds first{};             // at least 1 ms
    double factor = 2.0;                    // at least 1
    std::optional<core::Milliseconds> max;  // at most core::longest_ttl
    int attempts = 1;                       // at least 1
};

/// The attempt whose delay would be longer than RabbitMQ takes.
struct TooLong {
    int attempt = 0;
    bool operator==(const TooLong&) const = default;
};

/// Delay n is min(max, first × factor^(n-1)), rounded to a whole millisecond. The same on every machine: the delays
/// are parts of queues' names.
std::variant<std::vector<core::Milliseconds>, TooLong> delays_of(const Formula& formula);

// Ladders as they are written → ladders with their delays.

/// One for each that is written, in the same order. A wrong one is told, and may be without steps.
std::vector<core::Ladder> validate_ladders(const std::vector<RawLadder>& ladders, Problems& problems);

}  // namespace retryd::config
