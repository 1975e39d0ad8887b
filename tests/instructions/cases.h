// The cases that are counted: the pure functions, from the header table to the message that is published, and the whole
// relay, from the delivery to the ack.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace retryd::instructions {

struct Case {
    std::string name;
    std::size_t messages = 1;     // that one call of `run` handles
    std::size_t allocations = 0;  // exactly so many for a thousand messages, once warm
    std::function<void()> run;
};

std::vector<Case> pure_cases();
std::vector<Case> relay_cases();

}  // namespace retryd::instructions
