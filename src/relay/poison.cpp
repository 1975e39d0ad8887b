#include "relay/poison.h"

namespace retryd::relay {

namespace {

/// An error of the broker's twice is no accident. A connection that just ends may be one, several times in a row.
constexpr int enough = 10;
constexpr int strike_with_error = 5;
constexpr int strike_without_a_word = 2;
/// Without an error from the broker it may be the network: only so many in a row make deliveries suspect.
constexpr int fruitless_connections = 3;
constexpr std::size_t most_strikes = 1'000;  // so many are remembered
constexpr core::Milliseconds longest_alone{60'000};

}  // namespace

void PoisonDetector::raise(std::size_t deliveries) {
    left_ = deliveries;
    until_.reset();
}

bool PoisonDetector::on_tick(core::SteadyTime now) {
    if (!alone()) return false;
    if (!until_) until_ = now + longest_alone;
    if (now < *until_) return false;
    found();
    return true;
}

void PoisonDetector::clear(bool redelivered) {
    if (tried_) strikes_.erase(*tried_);
    if (tried_ == accused_) accused_.reset();
    tried_.reset();
    if (redelivered && left_ > 0) --left_;
}

void PoisonDetector::found() {
    left_ = 0;
    accused_.reset();
    tried_.reset();
}

void PoisonDetector::seen_again(std::uint64_t digest) {
    if (accused_ == digest) accused_.reset();
    tried_.reset();
    if (left_ > 0) --left_;
}

void PoisonDetector::connection_broke(const Break& broke) {
    if (alone() && broke.in_flight == 1 && tried_) {
        if (strikes_.size() >= most_strikes) strikes_.clear();
        strikes_[*tried_] += broke.provoked ? strike_with_error : strike_without_a_word;
        accused_ = tried_;
    }
    tried_.reset();
    fruitless_ = broke.in_flight > 0 && !broke.any_confirmed ? fruitless_ + 1 : 0;
    const bool suspicious = broke.provoked || fruitless_ >= fruitless_connections;
    if (broke.in_flight > 0 && suspicious) raise(broke.unsettled);
    until_.reset();
}

bool PoisonDetector::is_poison(std::uint64_t digest) const {
    const auto strikes = strikes_.find(digest);
    return strikes != strikes_.end() && strikes->second >= enough;
}

}  // namespace retryd::relay
