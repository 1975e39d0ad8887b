// What a stress run prints at its end: one JSON object on stdout, and what went wrong on stderr.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stress/footprint.h"
#include "stress/ledger.h"
#include "stress/options.h"
#include "support/await.h"

namespace retryd::stress {

struct Outcome {
    Summary summary;
    std::map<std::string, int> faults;         // by name; those that happened
    int skipped = 0;                           // that were not possible at their moment
    std::vector<std::string> retryd_failures;  // of retryd: it ended by itself, or stopped wrongly
    /// By the broker's log: dropped on their way from a classic work queue to an error queue without a leader. Such a
    /// message never reached retryd.
    std::size_t dropped_by_broker = 0;
    std::vector<std::string> held_by_broker;  // queues with messages that the broker delivers to nobody
    bool at_rest = false;
    std::optional<Growth> growth;  // of a soak
    test::milliseconds took{};
};

/// Whether nothing was lost, nothing went wrong, and everything came to rest; in a soak, retryd has not grown.
bool print(const Options& options, const std::string& broker, const Outcome& outcome);

}  // namespace retryd::stress
