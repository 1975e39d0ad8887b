// The disruptions of a stress run, by name: faults of retryd, the network, the broker and its queues.
#pragma once

#include <string>
#include <vector>

#include "stress/test_bed.h"

namespace retryd::stress {

struct Disruption {
    std::string name;
    /// Causes it at a random moment and repairs what does not heal by itself. False: it was not possible now.
    bool (*run)(TestBed&);
};

/// kill -9 of retryd.
const Disruption& kill_retryd();
/// All of them, that one included.
std::vector<Disruption> all_disruptions();

/// Those that end neither retryd nor the broker.
std::vector<Disruption> mild_disruptions();

std::vector<Disruption> disruptions_of_retryd();
std::vector<Disruption> disruptions_of_the_network();
std::vector<Disruption> disruptions_of_the_broker();
std::vector<Disruption> disruptions_of_queues();

}  // namespace retryd::stress
