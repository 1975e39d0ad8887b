#include "core/source_queues.h"

#include <algorithm>
#include <string>

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

bool may_name(const Source& source, std::string_view work_queue) {
    switch (source.work_queue.place) {
        case WorkQueueOf::Place::name:
            return source.work_queue.text == work_queue;
        case WorkQueueOf::Place::suffix:
            return glob_matches(source.queue, std::string{work_queue} + source.work_queue.text);
        case WorkQueueOf::Place::header:
        case WorkQueueOf::Place::dialect:
            break;
    }
    return true;
}

bool may_come_by_source(const Policy& policy, std::string_view work_queue) {
    return std::any_of(policy.sources.begin(), policy.sources.end(),
                       [&](const Source& source) { return may_name(source, work_queue); });
}

bool comes_by_source_alone(const Policy& policy, std::string_view work_queue) {
    const Entry* const entry = match(policy, work_queue);
    return entry != nullptr && entry->failures == FailuresBy::source;
}

bool has_source_globs(const Policy& policy) {
    return std::any_of(policy.sources.begin(), policy.sources.end(),
                       [](const Source& source) { return is_glob(source.queue); });
}

}  // namespace retryd::core
