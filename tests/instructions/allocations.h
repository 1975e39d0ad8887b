// Every `new` of the program, counted.
#pragma once

#include <cstddef>

namespace retryd::instructions {

std::size_t allocations();

}  // namespace retryd::instructions
