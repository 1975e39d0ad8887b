#include "daemon/history.h"

namespace retryd::daemon {

void History::sample(const telemetry::MessageStats& stats, core::SteadyTime now) {
    const std::lock_guard lock(mutex_);
    if (samples_.empty()) due_ = now;
    if (now < due_) return;
    // After a pause of more than one interval, all that came meanwhile is counted in one.
    due_ = now - due_ < interval ? due_ + interval : now + interval;
    samples_.push_back({stats.totals(), stats.confirms()});
    if (samples_.size() > most_intervals + 1) samples_.pop_front();
}

History::Lately History::lately(const telemetry::MessageStats& stats) const {
    const std::lock_guard lock(mutex_);
    Lately lately{{interval, {}, {}, {}}, stats.confirms()};
    if (samples_.empty()) return lately;
    for (std::size_t i = 1; i < samples_.size(); ++i) {
        const telemetry::Totals& before = samples_[i - 1].totals;
        const telemetry::Totals& after = samples_[i].totals;
        lately.rates.retried.push_back(after.retried - before.retried);
        lately.rates.parked.push_back(after.parked - before.parked);
        lately.rates.dropped.push_back(after.dropped - before.dropped);
    }
    lately.confirms = lately.confirms - samples_.front().confirms;
    return lately;
}

}  // namespace retryd::daemon
