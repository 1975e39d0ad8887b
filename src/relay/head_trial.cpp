#include "relay/head_trial.h"

#include <algorithm>
#include <utility>

namespace retryd::relay {
namespace {

constexpr core::Milliseconds shortest{5'000};
/// A broker under load may hand over nothing for a while, with suspects still in the queue: delivered by the hundred
/// again, they would be beside the next one that cannot be handed over, and come home once more each time. So silence
/// alone ends nothing.
constexpr core::Milliseconds none_comes{10'000};

}  // namespace

void HeadTrial::begin(std::size_t suspects, core::SteadyTime now) {
    if (!going_on()) {
        needed_ = least_ends_before_any_delivery;
        ended_ = 0;
        rejected_ = 0;
        patience_ = least_patience;
    }
    ends_before_any_delivery_ = going_on() && passed_ == 0 ? ends_before_any_delivery_ + 1 : 0;
    ++ended_;
    passed_ = 0;
    // What was suspect before stays so: it has come back, too.
    suspects_ = std::max(suspects_, suspects);
    until_ = now + shortest;
    consuming(now);
}

void HeadTrial::consuming(core::SteadyTime now) {
    last_ = now;
    counting_ = false;  // the answer was for the session before
    none_left_ = false;
}

void HeadTrial::head_tried(int ended, bool found_other) {
    constexpr int most = 1'000;
    ended_ += ended;
    ends_before_any_delivery_ = 0;
    if (found_other) needed_ = std::min(2 * needed_, most);
}

bool HeadTrial::takes_another(std::optional<core::SteadyTime> unsettled_since, core::Milliseconds silence,
                              core::SteadyTime now) {
    constexpr core::Milliseconds slow{1'000};
    constexpr core::Milliseconds patience{5'000};
    if (silence >= slow || now - asked_at_ >= slow) slow_at_ = now;
    asked_at_ = now;
    return unsettled_since && now - std::max(*unsettled_since, slow_at_) >= patience;
}

void HeadTrial::blocking_head_set_aside(bool found) {
    constexpr core::Milliseconds most{30'000};
    patience_ = found ? least_patience : std::min(2 * patience_, most);
}

void HeadTrial::passed(core::SteadyTime now) {
    if (!going_on()) return;
    last_ = now;
    none_left_ = false;
    ++passed_;
    if (suspects_ > 0) --suspects_;
}

bool HeadTrial::asks_for_count(core::SteadyTime now, bool idle) {
    if (!going_on() || !idle || counting_ || none_left_ || now - last_ < none_comes) return false;
    counting_ = true;
    return true;
}

void HeadTrial::counted(std::optional<std::uint64_t> ready, core::SteadyTime now) {
    if (!std::exchange(counting_, false)) return;
    none_left_ = ready == 0;
    if (!none_left_) last_ = now;
}

bool HeadTrial::on_tick(core::SteadyTime now) {
    if (!going_on() || now < *until_) return false;
    if (suspects_ > 0 && !none_left_) return false;
    until_.reset();
    suspects_ = 0;
    silent_targets_.clear();
    return true;
}

}  // namespace retryd::relay
