// The faults of a stress run, by name.
#pragma once

#include <string>
#include <vector>

#include "stress/stage.h"

namespace retryd::stress {

struct Trouble {
    std::string name;
    /// Does it, at a random moment, and sees to it that the world can go on. False: it was not possible now.
    bool (*happen)(Stage&);
};

/// kill -9 of retryd.
const Trouble& kill_retryd();
/// All of them, that one included.
std::vector<Trouble> all_troubles();

/// Those that neither end retryd nor the broker.
std::vector<Trouble> mild_troubles();

std::vector<Trouble> troubles_of_retryd();
std::vector<Trouble> troubles_of_the_network();
std::vector<Trouble> troubles_of_the_broker();
std::vector<Trouble> troubles_of_queues();

}  // namespace retryd::stress
