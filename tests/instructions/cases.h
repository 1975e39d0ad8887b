// The messages whose way is counted: on the pure path, from the header table to what is published, and through the
// relay, from the delivery to the ack.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace retryd::instructions {

struct Case {
    std::string name;
    std::size_t messages = 1;     // that one call of `carry` carries
    std::size_t allocations = 0;  // that a thousand of them cost, once warm: exactly so many
    std::function<void()> carry;
};

std::vector<Case> pure_cases();
std::vector<Case> relay_cases();

}  // namespace retryd::instructions
