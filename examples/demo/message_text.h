// A message's headers in words.
#pragma once

#include <string>

#include "core/value.h"

namespace retryd::demo {

/// One line. Of x-death's entries only what they count: the rest is for programs.
std::string text_of(const core::Value& value);

}  // namespace retryd::demo
