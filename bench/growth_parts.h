// What grows, in which steps.
#pragma once

#include <string>
#include <vector>

#include "backlog.h"
#include "stage.h"

namespace retryd::bench {

struct GrowthRow {
    std::string name;
    Layout layout;
    Load load;
    int daemons = 1;
    bool once = false;  // takes too long for several rounds
};

struct GrowthPart {
    std::string name;
    std::vector<GrowthRow> rows;
};

/// With at most so many messages, except where their number is what grows.
std::vector<GrowthPart> growth_parts(std::uint32_t messages, bool quick);

}  // namespace retryd::bench
