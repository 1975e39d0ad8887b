#include "telemetry/history.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace retryd::telemetry {

namespace {

constexpr std::uint64_t steps_in_minute = 60'000 / FailureHistory::step.count();

/// Saturates: numbers that do not fit are too large for any comparison to matter.
void add_to(std::uint32_t& place, std::uint64_t messages) {
    const std::uint64_t sum = place + messages;
    place = static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, std::numeric_limits<std::uint32_t>::max()));
}

template <typename Rings>
void forget_least_of(Rings& rings, std::size_t most, const std::function<std::uint64_t(const std::string&)>& weight) {
    while (rings.size() > most) {
        auto least = rings.begin();
        std::uint64_t least_weight = weight(least->first);
        for (auto each = std::next(rings.begin()); each != rings.end(); ++each) {
            if (const std::uint64_t its = weight(each->first); its < least_weight) {
                least = each;
                least_weight = its;
            }
        }
        rings.erase(least);
    }
}

template <typename Ring>
std::uint64_t all_in(const Ring& ring) {
    return std::accumulate(ring.begin(), ring.end(), std::uint64_t{0});
}

}  // namespace

FailureHistory::Counted FailureHistory::count(const QueueCounts& queue) {
    Counted counted;
    for (const Count& count : queue.counts) {
        switch (count.outcome) {
            case relay::Outcome::retried:
                counted.retried[count.delay] += count.messages;
                break;
            case relay::Outcome::parked:
                counted.parked += count.messages;
                break;
            case relay::Outcome::dropped:
            case relay::Outcome::held:
                counted.others += count.messages;
                break;
            case relay::Outcome::detoured:
            case relay::Outcome::sent_home:
            case relay::Outcome::returned_to_queue:
                break;
        }
    }
    return counted;
}

void FailureHistory::sample(const std::vector<QueueCounts>& queues, core::SteadyTime now) {
    const bool first = !began_;
    if (first) began_ = now;
    const auto since = static_cast<std::uint64_t>(std::max(now - *began_, core::SteadyTime::duration{}) / step);
    while (now_step_ < since)
        begin_step(++now_step_);
    for (const QueueCounts& queue : queues) {
        if (queue.work_queue == other_queues || queue.work_queue == no_queue) continue;
        Counted after = count(queue);
        Counted& before = counted_[queue.work_queue];
        if (!first) add(queue.work_queue, before, after);
        before = std::move(after);
    }
    forget_the_least();
}

void FailureHistory::begin_step(std::uint64_t at) {
    const std::size_t place = at % most_steps;
    for (auto& [name, recent] : recent_) {
        for (auto& [delay, ring] : recent.retried)
            ring[place] = 0;
        recent.parked[place] = 0;
        recent.failures[place] = 0;
    }
    const std::uint64_t bucket_now = at / (bucket / step);
    if (bucket_now != now_bucket_) begin_bucket(bucket_now);
}

void FailureHistory::begin_bucket(std::uint64_t at) {
    now_bucket_ = at;
    for (auto& [name, ring] : days_)
        ring[at % most_buckets] = 0;
    std::erase_if(days_, [](const auto& each) { return all_in(each.second) == 0; });
}

void FailureHistory::add(const std::string& work_queue, const Counted& before, const Counted& after) {
    const auto put_before = [&](core::Milliseconds delay) {
        const auto known = before.retried.find(delay);
        return known == before.retried.end() ? 0 : known->second;
    };
    std::uint64_t failures = after.parked - before.parked + after.others - before.others;
    for (const auto& [delay, messages] : after.retried)
        failures += messages - put_before(delay);
    if (failures == 0) return;
    const std::size_t place = now_step_ % most_steps;
    Recent& recent = recent_[work_queue];
    add_to(recent.failures[place], failures);
    add_to(recent.parked[place], after.parked - before.parked);
    for (const auto& [delay, messages] : after.retried) {
        if (messages > put_before(delay)) add_to(recent.retried[delay][place], messages - put_before(delay));
    }
    add_to(days_[work_queue][now_bucket_ % most_buckets], failures);
}

void FailureHistory::forget_the_least() {
    std::erase_if(recent_, [](const auto& each) { return all_in(each.second.failures) == 0; });
    forget_least_of(recent_, most_queues, [&](const std::string& name) { return all_in(recent_.at(name).failures); });
    forget_least_of(days_, most_days, [&](const std::string& name) { return all_in(days_.at(name)); });
}

/// The sum over the steps of these ages, both included; steps before the history began are empty.
std::uint64_t FailureHistory::sum(const Ring& ring, std::uint64_t oldest_age, std::uint64_t newest_age) const {
    std::uint64_t sum = 0;
    for (std::uint64_t age = newest_age; age <= std::min<std::uint64_t>({oldest_age, now_step_, most_steps - 1}); ++age)
        sum += ring[(now_step_ - age) % most_steps];
    return sum;
}

FailureHistory::Rungs FailureHistory::rungs_of(core::Milliseconds delay, const Ring& ring) const {
    constexpr std::uint64_t window = returns_window / step;
    Rungs rungs{delay, sum(ring, window - 1, 0), {}, {}, false};
    // Messages that were put there in the step of exactly this age go home in the current one.
    const auto waits = static_cast<std::uint64_t>(delay / step);
    if (waits + window <= most_steps) rungs.home_lately = sum(ring, waits + window - 1, waits);
    rungs.all_known = waits < std::min<std::uint64_t>(now_step_ + 1, most_steps);
    const std::uint64_t oldest = std::min<std::uint64_t>({waits, now_step_, most_steps - 1});
    for (std::uint64_t age = oldest + 1; age-- > 0 && !rungs.next;) {
        if (ring[(now_step_ - age) % most_steps] == 0) continue;
        const core::Milliseconds left = delay - static_cast<std::int64_t>(age) * step;
        if (left > core::Milliseconds::zero()) rungs.next = left;
    }
    return rungs;
}

std::vector<FailureHistory::Queue> FailureHistory::failing() const {
    std::vector<Queue> queues;
    for (const auto& [name, recent] : recent_) {
        Queue queue{name, sum(recent.failures, steps_in_minute - 1, 0), {}, {}, {}};
        if (queue.last_minute == 0) continue;
        const std::uint64_t known = std::min<std::uint64_t>(now_step_ + 1, most_steps) / steps_in_minute;
        for (std::uint64_t minute = std::max<std::uint64_t>(known, 1); minute-- > 0;)
            queue.minutes.push_back(sum(recent.failures, (minute + 1) * steps_in_minute - 1, minute * steps_in_minute));
        queue.parked_lately = sum(recent.parked, returns_window / step - 1, 0);
        for (const auto& [delay, ring] : recent.retried)
            queue.rungs.push_back(rungs_of(delay, ring));
        queues.push_back(std::move(queue));
    }
    std::stable_sort(queues.begin(), queues.end(),
                     [](const Queue& a, const Queue& b) { return a.last_minute > b.last_minute; });
    return queues;
}

std::vector<FailureHistory::Day> FailureHistory::days() const {
    std::vector<Day> days;
    const std::uint64_t known = std::min<std::uint64_t>(now_bucket_ + 1, most_buckets);
    for (const auto& [name, ring] : days_) {
        Day& day = days.emplace_back(Day{name, {}});
        for (std::uint64_t age = known; age-- > 0;)
            day.failures.push_back(ring[(now_bucket_ - age) % most_buckets]);
    }
    const auto all = [](const Day& day) {
        return std::accumulate(day.failures.begin(), day.failures.end(), std::uint64_t{0});
    };
    std::stable_sort(days.begin(), days.end(), [&](const Day& a, const Day& b) { return all(a) > all(b); });
    return days;
}

namespace {

/// The differences between consecutive samples.
template <typename Samples, typename TotalsOf>
Rates rates_between(const Samples& samples, core::Milliseconds interval, TotalsOf totals_of) {
    Rates rates{interval, {}, {}, {}};
    for (std::size_t i = 1; i < samples.size(); ++i) {
        const Totals& before = totals_of(samples[i - 1]);
        const Totals& after = totals_of(samples[i]);
        rates.retried.push_back(after.retried - before.retried);
        rates.parked.push_back(after.parked - before.parked);
        rates.dropped.push_back(after.dropped - before.dropped);
    }
    return rates;
}

/// After a gap of more than one interval, everything since counts as one interval.
core::SteadyTime next_due(core::SteadyTime due, core::Milliseconds interval, core::SteadyTime now) {
    return now - due < interval ? due + interval : now + interval;
}

}  // namespace

void History::sample(const MessageStats& stats, core::SteadyTime now) {
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

History::Lately History::lately(const MessageStats& stats) const {
    const std::lock_guard lock(mutex_);
    const auto totals_of = [](const Sample& sample) -> const Totals& { return sample.totals; };
    Lately lately{rates_between(samples_, interval, totals_of), stats.confirms(), failures_.failing()};
    if (!samples_.empty()) lately.confirms = lately.confirms - samples_.front().confirms;
    return lately;
}

std::vector<std::string> History::failing() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (FailureHistory::Queue& queue : failures_.failing())
        names.push_back(std::move(queue.work_queue));
    return names;
}

DayStatus History::day() const {
    const std::lock_guard lock(mutex_);
    DayStatus day;
    day.rates = rates_between(minutes_, minute, [](const Totals& totals) -> const Totals& { return totals; });
    day.failures_interval = FailureHistory::bucket;
    for (FailureHistory::Day& each : failures_.days())
        day.failing.push_back({std::move(each.work_queue), std::move(each.failures)});
    return day;
}

}  // namespace retryd::telemetry
