#include "relay/poison.h"

namespace retryd::relay {
namespace {

/// A message is poison at 10 strikes: two connections that the broker closed with an error, or five that just ended.
constexpr int poison_strikes = 10;
constexpr int strikes_for_error = 5;
constexpr int strikes_for_silent_end = 2;
/// Without an error from the broker it may be the network: only so many connections in a row point to a message.
constexpr int connections_to_isolate = 3;
constexpr std::size_t most_remembered = 1'000;
constexpr core::Milliseconds longest_isolation{60'000};

}  // namespace

void PoisonDetector::isolate(std::size_t deliveries) {
    left_ = deliveries;
    until_.reset();
}

void PoisonDetector::stop_isolating() {
    left_ = 0;
    suspect_.reset();
    publishing_.reset();
}

bool PoisonDetector::on_tick(core::SteadyTime now) {
    if (!isolating()) return false;
    if (!until_) until_ = now + longest_isolation;
    if (now < *until_) return false;
    stop_isolating();
    return true;
}

void PoisonDetector::confirmed_alone(bool redelivered) {
    if (publishing_) strikes_.erase(*publishing_);
    if (publishing_ == suspect_) suspect_.reset();
    publishing_.reset();
    if (redelivered && left_ > 0) --left_;
}

void PoisonDetector::dead_lettered(std::uint64_t digest) {
    if (suspect_ == digest) suspect_.reset();
    publishing_.reset();
    if (left_ > 0) --left_;
}

void PoisonDetector::connection_ended(const ConnectionEnd& end) {
    if (isolating() && end.in_flight == 1 && publishing_) {
        if (strikes_.size() >= most_remembered) strikes_.clear();
        strikes_[*publishing_] += end.provoked ? strikes_for_error : strikes_for_silent_end;
        suspect_ = publishing_;
    }
    publishing_.reset();
    fruitless_connections_ = end.in_flight > 0 && !end.any_confirmed ? fruitless_connections_ + 1 : 0;
    const bool isolate_now = end.provoked || fruitless_connections_ >= connections_to_isolate;
    if (end.in_flight > 0 && isolate_now) isolate(end.redeliveries);
    until_.reset();
}

bool PoisonDetector::is_poison(std::uint64_t digest) const {
    const auto strikes = strikes_.find(digest);
    return strikes != strikes_.end() && strikes->second >= poison_strikes;
}

}  // namespace retryd::relay
