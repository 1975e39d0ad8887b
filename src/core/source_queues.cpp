#include "core/source_queues.h"

#include <algorithm>

#include "core/names.h"

namespace retryd::core {

bool is_source(const Policy& policy, std::string_view queue) {
    return std::any_of(policy.sources.begin(), policy.sources.end(),
                       [&](const Source& source) { return glob_matches(source.queue, queue); });
}

std::optional<std::size_t> source_of(const Policy& policy, std::string_view queue) {
    if (is_own_queue(policy, queue)) return std::nullopt;
    for (std::size_t i = 0; i < policy.sources.size(); ++i) {
        if (glob_matches(policy.sources[i].queue, queue)) return i;
    }
    return std::nullopt;
}

bool has_source_globs(const Policy& policy) {
    return std::any_of(policy.sources.begin(), policy.sources.end(),
                       [](const Source& source) { return is_glob(source.queue); });
}

}  // namespace retryd::core
