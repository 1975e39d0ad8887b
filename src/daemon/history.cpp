#include "daemon/history.h"

#include <utility>

namespace retryd::daemon {

namespace {

/// What came between one of them and the next.
template <typename Samples, typename TotalsOf>
telemetry::Rates rates_between(const Samples& samples, core::Milliseconds interval, TotalsOf totals_of) {
    telemetry::Rates rates{interval, {}, {}, {}};
    for (std::size_t i = 1; i < samples.size(); ++i) {
        const telemetry::Totals& before = totals_of(samples[i - 1]);
        const telemetry::Totals& after = totals_of(samples[i]);
        rates.retried.push_back(after.retried - before.retried);
        rates.parked.push_back(after.parked - before.parked);
        rates.dropped.push_back(after.dropped - before.dropped);
    }
    return rates;
}

/// After a pause of more than one interval, all that came meanwhile is counted in one.
core::SteadyTime next_due(core::SteadyTime due, core::Milliseconds interval, core::SteadyTime now) {
    return now - due < interval ? due + interval : now + interval;
}

}  // namespace

void History::sample(const telemetry::MessageStats& stats, core::SteadyTime now) {
    const std::lock_guard lock(mutex_);
    if (samples_.empty()) due_ = minute_due_ = now;
    if (now < due_) return;
    due_ = next_due(due_, interval, now);
    samples_.push_back({stats.totals(), stats.confirms()});
    if (samples_.size() > most_intervals + 1) samples_.pop_front();
    failures_.sample(stats.counts().queues, now);
    if (now < minute_due_) return;
    minute_due_ = next_due(minute_due_, minute, now);
    minutes_.push_back(samples_.back().totals);
    if (minutes_.size() > most_minutes + 1) minutes_.pop_front();
}

History::Lately History::lately(const telemetry::MessageStats& stats) const {
    const std::lock_guard lock(mutex_);
    const auto totals_of = [](const Sample& sample) -> const telemetry::Totals& { return sample.totals; };
    Lately lately{rates_between(samples_, interval, totals_of), stats.confirms(), failures_.failing()};
    if (!samples_.empty()) lately.confirms = lately.confirms - samples_.front().confirms;
    return lately;
}

std::vector<std::string> History::failing() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (telemetry::FailureHistory::Queue& queue : failures_.failing())
        names.push_back(std::move(queue.work_queue));
    return names;
}

telemetry::DayStatus History::day() const {
    const std::lock_guard lock(mutex_);
    telemetry::DayStatus day;
    day.rates = rates_between(minutes_, minute,
                              [](const telemetry::Totals& totals) -> const telemetry::Totals& { return totals; });
    day.failures_interval = telemetry::FailureHistory::bucket;
    for (telemetry::FailureHistory::Day& each : failures_.days())
        day.failing.push_back({std::move(each.work_queue), std::move(each.failures)});
    return day;
}

}  // namespace retryd::daemon
