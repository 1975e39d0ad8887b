#include "relay/head_trial.h"

#include <algorithm>

namespace retryd::relay {
namespace {

constexpr core::Milliseconds shortest{5'000};
/// A broker under load may hand over nothing for some seconds, with suspects still in the queue: delivered by the
/// hundred again, they would be beside the next one that cannot be handed over, and come home once more each time.
constexpr core::Milliseconds none_comes{10'000};

}  // namespace

void HeadTrial::begin(std::size_t suspects, core::SteadyTime now) {
    if (!going_on()) {
        needed_ = least_in_vain;
        ended_ = 0;
    }
    in_vain_ = going_on() && passed_ == 0 ? in_vain_ + 1 : 0;
    ++ended_;
    passed_ = 0;
    // What was suspect before stays so: it has come back, too.
    suspects_ = std::max(suspects_, suspects);
    until_ = now + shortest;
    last_ = now;
}

void HeadTrial::looked(int ended, bool found_other) {
    constexpr int most = 1'000;
    ended_ += ended;
    in_vain_ = 0;
    if (found_other) needed_ = std::min(2 * needed_, most);
}

void HeadTrial::passed(core::SteadyTime now) {
    if (!going_on()) return;
    last_ = now;
    ++passed_;
    if (suspects_ > 0) --suspects_;
}

bool HeadTrial::on_tick(core::SteadyTime now, bool idle) {
    if (!going_on() || now < *until_) return false;
    const bool none_left = idle && now - last_ >= none_comes;
    if (suspects_ > 0 && !none_left) return false;
    until_.reset();
    suspects_ = 0;
    return true;
}

}  // namespace retryd::relay
