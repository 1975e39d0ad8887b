// Rungs that are on the broker already: which are ours, and which a changed configuration has left over.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/policy.h"
#include "core/topology.h"

namespace retryd::core {

/// A rung that retryd once made, as its name and its arguments together prove.
struct MadeRung {
    std::string serves;  // the work queue; of a shared rung the ladder
    ReturnPath return_path = ReturnPath::queue;
    Milliseconds delay{};
    bool operator==(const MadeRung&) const = default;
};

/// Nothing for any other queue. `arguments` are those that it was declared with.
std::optional<MadeRung> made_rung(std::string_view name, const Arguments& arguments);

/// Whether that policy may publish to the rung: those of globs, of lanes and of high priorities included.
bool is_in_use(const Policy& policy, const MadeRung& rung);

}  // namespace retryd::core
