// Where replayed messages go, asked before the first of them is sent.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "commands/broker.h"
#include "commands/parked_survey.h"
#include "config/settings.h"

namespace retryd::commands {

struct Destinations {
    std::string fault;  // why nothing is sent at all; empty: all of them are there
    std::vector<std::string> notes;
    std::set<std::string, std::less<>> missing;  // messages cannot go there, so they stay
    /// Their ladder is shared: through the return exchange their consumers see the producer's routing key.
    std::set<std::string, std::less<>> through_return;
};

/// `to`: all go there; empty: each to its own work queue. Makes the return exchange find those that need it.
Destinations destinations(Broker& broker, const config::Settings& settings, const ParkedSurvey& survey,
                          const std::string& to);

}  // namespace retryd::commands
