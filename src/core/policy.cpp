#include "core/policy.h"

#include <algorithm>

#include "core/names.h"

namespace retryd::core {

std::string_view to_string(QueueType type) {
    return type == QueueType::quorum ? "quorum" : "classic";
}

std::string_view to_string(ReturnPath path) {
    return path == ReturnPath::queue ? "queue" : "headers";
}

std::string_view to_string(Action action) {
    switch (action) {
        case Action::retry:
            return "retry";
        case Action::drop:
            return "drop";
        case Action::park:
            break;
    }
    return "park";
}

Action action_for(const OnDeath& on, std::string_view reason) {
    if (reason == "rejected") return on.rejected;
    if (reason == "delivery_limit") return on.delivery_limit;
    if (reason == "expired") return on.expired;
    if (reason == "maxlen") return on.maxlen;
    return Action::park;
}

const Entry* match(const Policy& policy, std::string_view work_queue) {
    const auto entry = std::find_if(policy.entries.begin(), policy.entries.end(),
                                    [&](const Entry& e) { return glob_matches(e.match, work_queue); });
    return entry == policy.entries.end() ? nullptr : &*entry;
}

}  // namespace retryd::core
