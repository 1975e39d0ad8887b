// What the running daemon tells of itself at /status.json, as far as `retryd status` shows it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/settings.h"

namespace retryd::commands {

/// Messages since the daemon started.
struct Totals {
    std::int64_t retried = 0;
    std::int64_t parked = 0;
    std::int64_t dropped = 0;
    bool operator==(const Totals&) const = default;
};

/// Messages a second, over the last minute; less while the daemon is younger.
struct Rates {
    double retried = 0;
    double parked = 0;
    double dropped = 0;
};

struct DaemonView {
    bool ready = false;
    std::string reason;  // why it is not
    std::int64_t in_flight = 0;
    Rates rates;
    std::map<std::string, Totals> work_queues;  // those that it names
    std::int64_t left_out = 0;                  // how many it does not name
    std::vector<std::string> faults;
};

/// The view, or why there is none and what it takes.
using DaemonAnswer = std::variant<DaemonView, std::string>;

/// Of the body of /status.json. What is missing in it stays as it is above.
DaemonAnswer read_daemon_view(const std::string& json);

/// Asks it where its configuration lets it listen; waits two seconds at most.
DaemonAnswer ask_daemon(const config::Settings& settings);

}  // namespace retryd::commands
