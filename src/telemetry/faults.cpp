#include "telemetry/faults.h"

#include <algorithm>
#include <utility>

#include "system/clock.h"

namespace retryd::telemetry {

void Faults::raise(const std::string& key, std::string text) {
    const std::lock_guard lock(mutex_);
    const std::string code = key.substr(0, key.find(' '));
    faults_.try_emplace(key, LastingFault{system::wall_now(), "", code}).first->second.text = std::move(text);
}

void Faults::clear(const std::string& key) {
    const std::lock_guard lock(mutex_);
    faults_.erase(key);
}

std::vector<LastingFault> Faults::all() const {
    std::vector<LastingFault> all;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [key, fault] : faults_)
            all.push_back(fault);
    }
    std::sort(all.begin(), all.end(), [](const LastingFault& a, const LastingFault& b) { return a.since < b.since; });
    return all;
}

}  // namespace retryd::telemetry
