// Every `new` of the program that this is linked into, counted.
#pragma once

#include <cstddef>

namespace retryd::test {

std::size_t allocations();

}  // namespace retryd::test
