#include "core/outage.h"

#include <algorithm>
#include <cmath>

namespace retryd::core {
namespace {

/// The acks of a moment have been counted after this: collect_statistics_interval, 5 s, and a little.
constexpr Milliseconds counted_after{6'000};
/// Failures of so long a time are kept together.
constexpr Milliseconds one_moment{500};
/// No more attempts of a moment are told apart: forged ones must not fill the memory.
constexpr std::size_t most_attempts = 64;
/// So long the counters are asked for after the last failure, beyond the time that is looked at.
constexpr Milliseconds interesting_for{60'000};
/// What may be an outage is one, or is not, after `within` and this.
constexpr Milliseconds judged_after{30'000};
/// Failures of so long a time are compared with the acks of before.
constexpr Milliseconds just_now{3'000};
/// Longer than nothing is heard of a slow broker, or of one that was asked for its counters once in vain: what is given
/// up meanwhile would be held a moment later.
constexpr Milliseconds suspicion_lasts{5'000};
constexpr std::uint64_t successes_needed = 2;
/// While so many fresh messages have failed since the last probe, a probe tells nothing new; at the latest after so
/// many times its interval one is sent all the same.
constexpr std::size_t failures_for_a_probe = 1'000;
constexpr int longest_without_probe = 3;
/// Then probes alone have to tell.
constexpr Milliseconds counters_missed_after{60'000};
/// While messages are released.
constexpr Milliseconds a_step{3'000};
constexpr double lowest_rate = 1;
constexpr double highest_rate = 10'000;
/// What could not be sent in time is not made up for beyond this.
constexpr Milliseconds longest_burst{50};
/// Messages may come back from a detour so long after.
constexpr Milliseconds remembered_for{600'000};

const OutageRule default_rule;

double as_seconds(Milliseconds time) {
    return std::chrono::duration<double>(time).count();
}

std::uint64_t increase(std::uint64_t now, std::uint64_t before) {
    return now > before ? now - before : 0;
}

bool is_a_tenth(std::uint64_t part, std::uint64_t whole) {
    return part > 0 && 10 * part >= whole;
}

}  // namespace

const OutageRule& Outage::rule() const {
    return rule_ ? *rule_ : default_rule;
}

// ── What happens ────────────────────────────────────────────────────────────────────────────────────────────────

void Outage::failed(std::int64_t attempt, bool was_held, const Now& now) {
    if (failures_.empty() || now.steady - failures_.back().at >= one_moment)
        failures_.push_back({now.steady, now.wall, 0, {}});
    Failures& latest = failures_.back();
    ++latest.all;
    const auto known = latest.by_attempt.find(attempt);
    if (known != latest.by_attempt.end()) {
        ++known->second;
    } else if (latest.by_attempt.size() < most_attempts) {
        latest.by_attempt.emplace(attempt, 1);
    }
    ++failures_since_;
    if (!was_held) ++fresh_failures_;
    interesting_until_ = now.steady + rule().within + interesting_for;
    forget_old(now.steady);
    note_suspicion(now.steady);
    if (!was_held) return;
    if (state_ == State::holding) {
        probe_failed_ = now.steady;
        probe_sent_.reset();
        successes_ = 0;
    }
    if (state_ != State::releasing) return;
    ++step_.failed;
    ++sent_failed_;
    if (automatic() && all_released_fail()) hold(now);
}

void Outage::counted(const QueueCounters& counters, const Now& now) {
    uncounted_since_.reset();
    if (!samples_.empty()) {
        const QueueCounters& last = samples_.back().counters;
        const bool anew = counters.acked < last.acked || counters.delivered < last.delivered;
        if (anew) {
            samples_.clear();
            acked_before_.reset();
            acked_at_release_.reset();
        }
    }
    samples_.push_back({now.steady, counters});
    forget_old(now.steady);
    note_suspicion(now.steady);
    if (!automatic()) return;
    if (state_ == State::holding) return look_for_success(now);
    // Acks of before the outage are counted up to 5 s later, and outweigh what fails for as long as they are in sight:
    // in the last half of `within` they are gone sooner.
    const Milliseconds within = rule().within;
    if (is_outage(now.steady, within) || is_outage(now.steady, within / 2)) hold(now);
}

void Outage::not_counted(const Now& now) {
    if (!uncounted_since_) uncounted_since_ = now.steady;
}

void Outage::sent(const Now& now) {
    if (state_ == State::holding) {
        if (!probe_sent_) probe_sent_ = now.steady;
        next_probe_ = now.steady + rule().probe;
        fresh_failures_ = 0;
        return;
    }
    if (state_ != State::releasing) return;
    ++step_.sent;
    ++sent_;
    if (next_send_ < now.steady - longest_burst) next_send_ = now.steady - longest_burst;
    next_send_rest_ += 1'000 / rate_;
    const Milliseconds whole{static_cast<Milliseconds::rep>(next_send_rest_)};
    next_send_ += whole;
    next_send_rest_ -= static_cast<double>(whole.count());
}

void Outage::emptied(const Now& now) {
    if (state_ == State::releasing) end(now);
}

void Outage::found_held(bool at_start, const Now& now) {
    if (state_ != State::none || by_hand_) return;
    if (!automatic() || !at_start) return begin_release(now);
    // It is not known whether it is over: the probes will tell.
    state_ = State::holding;
    changed_ = now.steady;
    next_probe_ = now.steady;
    acked_before_.reset();
    failures_since_ = 0;
    successes_ = 0;
    since_.reset();
    events_.push_back(Event::begun);
}

void Outage::abandon(const Now& now) {
    if (state_ == State::none || by_hand_) return;
    state_ = State::none;
    changed_ = now.steady;
    since_.reset();
    probe_failed_.reset();
}

void Outage::by_hand(bool hold, const Now& now) {
    if (by_hand_ == hold) return;
    by_hand_ = hold;
    if (!hold) return begin_release(now);
    if (state_ != State::holding) {
        since_ = now.wall;
        events_.push_back(Event::begun);
    }
    state_ = State::holding;
    changed_ = now.steady;
    probe_failed_.reset();
}

void Outage::release(const Now& now) {
    if (by_hand_ || state_ == State::releasing) return;
    begin_release(now);
}

void Outage::adopt(const std::optional<OutageRule>& rule, const Now& now) {
    if (rule_ == rule) return;
    rule_ = rule;
    // What is held does not wait for counters that are not asked for any more.
    if (!rule_ && !by_hand_ && state_ == State::holding) begin_release(now);
}

void Outage::on_tick(const Now& now) {
    forget_old(now.steady);
    note_suspicion(now.steady);
    if (state_ == State::holding && automatic()) judge_probe_alone(now);
    if (state_ == State::releasing) adapt_rate(now);
    if (state_ == State::none && since_ && now.steady - changed_ > remembered_for) since_.reset();
}

/// As much as a judgement looks at; of the samples one more, that the others are compared with.
void Outage::forget_old(SteadyTime now) {
    const SteadyTime oldest = now - rule().within - counted_after - one_moment;
    while (!failures_.empty() && failures_.front().at < oldest)
        failures_.pop_front();
    while (samples_.size() > 1 && samples_[1].at <= oldest)
        samples_.pop_front();
}

// ── Whether it is one ───────────────────────────────────────────────────────────────────────────────────────────

std::size_t Outage::failed_messages(SteadyTime after, SteadyTime until) const {
    std::map<std::int64_t, std::size_t> by_attempt;
    std::size_t most = 0;
    for (const Failures& failures : failures_) {
        if (failures.at < after || failures.at > until) continue;
        for (const auto& [attempt, count] : failures.by_attempt)
            most = std::max(most, by_attempt[attempt] += count);
    }
    return most;
}

/// Of the failures that lie so far back that the counters know of their time. The acks are those up to now: rather too
/// many than too few.
std::optional<Outage::Outcomes> Outage::outcomes(SteadyTime now, Milliseconds span) const {
    if (samples_.size() < 2) return std::nullopt;
    const SteadyTime until = now - counted_after;
    SteadyTime from = until - span;
    if (state_ == State::releasing) from = std::max(from, changed_);
    const Sample* first = &samples_.front();
    for (const Sample& sample : samples_) {
        if (sample.at <= from) first = &sample;
    }
    const Sample& last = samples_.back();
    if (first->at >= until) return std::nullopt;
    Outcomes found;
    for (const Failures& failures : failures_) {
        if (failures.at >= std::max(first->at, from) && failures.at <= until) found.failures += failures.all;
    }
    found.failed_messages = failed_messages(std::max(first->at, from), until);
    found.acked = increase(last.counters.acked, first->counters.acked);
    found.delivered = increase(last.counters.delivered, first->counters.delivered);
    found.unacked = increase(last.counters.unacked, first->counters.unacked);
    return found;
}

bool Outage::is_outage(SteadyTime now, Milliseconds span) const {
    const auto found = outcomes(now, span);
    if (!found || found->failures == 0) return false;
    // Late, or missing: they do not know of deliveries that there were.
    if (found->delivered < found->failures) return false;
    const std::uint64_t ended = found->failed_messages + found->acked;
    if (ended < static_cast<std::uint64_t>(rule().of)) return false;
    // What the consumers have, and take their time for, has not failed.
    const std::uint64_t all = ended + found->unacked;
    return 100 * static_cast<std::uint64_t>(found->failed_messages) >=
           static_cast<std::uint64_t>(rule().failing_percent) * all;
}

/// What was sent home is known without any counter.
bool Outage::all_released_fail() const {
    return sent_failed_ >= static_cast<std::size_t>(rule().of) &&
           100 * sent_failed_ >= static_cast<std::size_t>(rule().failing_percent) * sent_;
}

/// Just now as much fails as was acked before, and so much that it would be an outage if it went on.
bool Outage::suspicious(SteadyTime now) const {
    if (!automatic() || state_ == State::holding || uncounted_since_) return false;
    const auto failed = static_cast<double>(failed_messages(now - just_now, now));
    if (failed < 2) return false;
    const auto first = std::find_if(failures_.begin(), failures_.end(),
                                    [&](const Failures& failures) { return failures.at >= now - just_now; });
    const double elapsed = std::max(as_seconds(now - first->at), as_seconds(one_moment));
    const double rate = failed / elapsed;
    if (rate * as_seconds(rule().within) < rule().of) return false;
    if (samples_.size() < 2) return true;
    const double counted = std::max(as_seconds(samples_.back().at - samples_.front().at), as_seconds(one_moment));
    const auto acked = static_cast<double>(increase(samples_.back().counters.acked, samples_.front().counters.acked));
    return 2 * rate >= acked / counted;
}

void Outage::note_suspicion(SteadyTime now) {
    if (!suspicious(now)) {
        if (suspicious_since_ && now - suspicious_at_ >= suspicion_lasts) suspicious_since_.reset();
        return;
    }
    suspicious_at_ = now;
    if (!suspicious_since_) {
        suspicious_since_ = now;
        const auto first = std::find_if(failures_.begin(), failures_.end(),
                                        [&](const Failures& failures) { return failures.at >= now - just_now; });
        suspected_from_ = first->wall;
    }
}

KnownOutage Outage::known(SteadyTime now) const {
    const bool suspected = suspicious_since_ && now - *suspicious_since_ < rule().within + judged_after;
    return {.holding = state_ == State::holding, .suspected = suspected, .since = since_};
}

bool Outage::wants_counters(SteadyTime now) const {
    // Also while it holds by hand: what follows is judged by what was counted right before.
    if (!rule_) return false;
    return state_ != State::none || (interesting_until_ && now < *interesting_until_);
}

// ── Holding ─────────────────────────────────────────────────────────────────────────────────────────────────────

void Outage::hold(const Now& now) {
    const bool relapse = state_ == State::releasing;
    if (!relapse) {
        since_ = failures_.empty() ? now.wall : failures_.front().wall;
        if (suspicious_since_) since_ = std::min(*since_, suspected_from_);
    }
    state_ = State::holding;
    changed_ = now.steady;
    next_probe_ = now.steady + rule().probe;
    probe_sent_.reset();
    probe_failed_ = relapse ? std::optional{now.steady} : std::nullopt;
    successes_ = 0;
    failures_since_ = 0;
    fresh_failures_ = 0;
    acked_before_.reset();
    suspicious_since_.reset();
    events_.push_back(relapse ? Event::relapsed : Event::begun);
}

/// Since the last look: more than a tenth of failures, and the row begins anew.
void Outage::look_for_success(const Now& now) {
    const std::uint64_t acked = samples_.back().counters.acked;
    if (!acked_before_) {
        acked_before_ = acked;
        failures_since_ = 0;
        return;
    }
    const std::uint64_t successes = increase(acked, *acked_before_);
    if (successes == 0 && failures_since_ == 0) return;
    const bool failing = is_a_tenth(failures_since_, failures_since_ + successes);
    acked_before_ = acked;
    failures_since_ = 0;
    if (failing) {
        successes_ = 0;
    } else {
        succeed(successes, now);
    }
}

void Outage::succeed(std::uint64_t successes, const Now& now) {
    successes_ += successes;
    probe_sent_.reset();
    if (successes_ >= successes_needed) return begin_release(now);
    next_probe_ = now.steady;  // the second one need not wait
}

/// Without counters a probe that has not failed for as long as an outage takes to show has succeeded.
void Outage::judge_probe_alone(const Now& now) {
    const bool missed = uncounted_since_ && now.steady - *uncounted_since_ >= counters_missed_after;
    if (!missed || !probe_sent_ || now.steady - *probe_sent_ < rule().within) return;
    succeed(1, now);
}

// ── Releasing ───────────────────────────────────────────────────────────────────────────────────────────────────

void Outage::begin_release(const Now& now) {
    state_ = State::releasing;
    changed_ = now.steady;
    rate_ = rule().release;
    next_send_ = now.steady;
    next_send_rest_ = 0;
    step_ = {now.steady, 0, 0};
    sent_ = 0;
    sent_failed_ = 0;
    sent_until_.clear();
    acked_at_release_.reset();
    if (!samples_.empty()) acked_at_release_ = samples_.back().counters.acked;
    events_.push_back(Event::releasing);
}

void Outage::end(const Now& now) {
    state_ = State::none;
    changed_ = now.steady;
    probe_failed_.reset();
    events_.push_back(Event::over);
}

void Outage::adapt_rate(const Now& now) {
    if (now.steady - step_.began < a_step || step_.sent == 0) return;
    sent_until_.emplace_back(now.steady, sent_);
    while (sent_until_.size() > 1 && sent_until_[1].first <= now.steady - counted_after - a_step)
        sent_until_.pop_front();
    if (is_a_tenth(step_.failed, step_.sent)) {
        rate_ = std::max(rate_ / 2, lowest_rate);
    } else if (consumers_keep_up(now.steady)) {
        rate_ = std::min(rate_ * 2, highest_rate);
    }
    step_ = {now.steady, 0, 0};
}

/// What was sent so long ago that its ack must have been counted is acked, for the greater part. Unknown where nothing
/// is counted: then failures alone tell.
bool Outage::consumers_keep_up(SteadyTime now) const {
    if (!acked_at_release_ || samples_.empty() || uncounted_since_) return true;
    if (sent_until_.front().first > now - counted_after - a_step) return true;
    const std::uint64_t acked = increase(samples_.back().counters.acked, *acked_at_release_);
    return 2 * acked >= sent_until_.front().second;
}

std::size_t Outage::may_send(SteadyTime now) const {
    if (by_hand_) return 0;
    if (state_ == State::holding) return now >= *next_send(now) ? 1 : 0;
    if (state_ != State::releasing || now < next_send_) return 0;
    const Milliseconds late = std::min(now - next_send_, longest_burst);
    return 1 + static_cast<std::size_t>(as_seconds(late) * rate_);
}

std::optional<SteadyTime> Outage::next_send(SteadyTime now) const {
    if (by_hand_ || state_ == State::none) return std::nullopt;
    if (state_ == State::releasing) return next_send_;
    return fresh_ones_tell(now) ? next_probe_ + (longest_without_probe - 1) * rule().probe : next_probe_;
}

/// Fresh messages fail, as many as an outage takes in the time of one probe: while that goes on, not even a held one
/// that succeeds would end it (look_for_success).
bool Outage::fresh_ones_tell(SteadyTime now) const {
    if (successes_ > 0 || fresh_failures_ >= failures_for_a_probe) return false;
    std::size_t lately = 0;
    for (const Failures& failures : failures_) {
        if (failures.at > now - rule().probe) lately += failures.all;
    }
    return lately >= static_cast<std::size_t>(rule().of);
}

}  // namespace retryd::core
