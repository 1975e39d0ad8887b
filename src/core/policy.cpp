#include "core/policy.h"

#include <algorithm>

#include "core/names.h"

namespace retryd::core {

std::string_view to_string(QueueType type) {
    return type == QueueType::quorum ? "quorum" : "classic";
}

const Entry* match(const Policy& policy, std::string_view work_queue) {
    const auto entry = std::find_if(policy.entries.begin(), policy.entries.end(),
                                    [&](const Entry& e) { return glob_matches(e.match, work_queue); });
    return entry == policy.entries.end() ? nullptr : &*entry;
}

}  // namespace retryd::core
