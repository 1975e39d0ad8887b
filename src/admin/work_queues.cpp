#include "admin/work_queues.h"

#include <algorithm>
#include <set>

#include "core/names.h"
#include "core/topology.h"

namespace retryd::admin {

namespace {

/// Those of a shared ladder do not tell which work queue they serve.
bool has_own_rung(const core::Ladder& ladder, const std::string& work_queue, const std::set<std::string>& queues) {
    if (ladder.return_path == core::ReturnPath::headers) return false;
    const auto delays = core::distinct_delays(ladder);
    return std::any_of(delays.begin(), delays.end(), [&](core::Milliseconds delay) {
        return queues.contains(core::rung_name_of(ladder, work_queue, delay, false));
    });
}

}  // namespace

std::vector<std::string> configured_work_queues(const core::Policy& policy) {
    std::vector<std::string> names;
    for (const core::Entry& entry : policy.entries) {
        if (!core::is_glob(entry.match) && core::match(policy, entry.match) == &entry) names.push_back(entry.match);
    }
    return names;
}

std::vector<std::string> work_queues_in_use(const core::Policy& policy, const core::BrokerFeatures& features,
                                            const std::vector<std::string>& queues) {
    const std::set<std::string> there(queues.begin(), queues.end());
    std::vector<std::string> found;
    for (const std::string& name : there) {
        const core::Entry* entry = core::match(policy, name);
        if (entry == nullptr) continue;
        const bool parks = there.contains(core::parking_queue_of(entry->parked, name, features));
        if (parks || has_own_rung(entry->ladder, name, there)) found.push_back(name);
    }
    return found;
}

}  // namespace retryd::admin
