#include "relay/poison.h"

namespace retryd::relay {
namespace {

constexpr int errors_to_convict = 2;
constexpr int ends_to_convict = 5;
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
    if (publishing_) ends_.erase(*publishing_);
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
    const std::optional<std::uint64_t> alone =
        isolating() && end.in_flight == 1 ? publishing_ : std::optional<std::uint64_t>{};
    publishing_.reset();
    until_.reset();
    if (end.blocked || (end.half_sent && !end.provoked)) return;
    const bool error = end.provoked && !end.half_sent;
    if (alone) {
        if (ends_.size() >= most_remembered) ends_.clear();
        Ends& ends = ends_[*alone];
        ++(error ? ends.errors : ends.silent);
        if (!end.words.empty()) ends.words = end.words;
        suspect_ = alone;
    }
    const bool fruitless = end.in_flight > 0 && (!end.any_confirmed || end.redelivered_in_flight);
    fruitless_connections_ = fruitless ? fruitless_connections_ + 1 : 0;
    const bool isolate_now = error || fruitless_connections_ >= connections_to_isolate;
    if (end.in_flight > 0 && isolate_now) isolate(end.redeliveries);
}

bool PoisonDetector::is_poison(std::uint64_t digest) const {
    const auto found = ends_.find(digest);
    if (found == ends_.end()) return false;
    const Ends& ends = found->second;
    return ends.errors >= errors_to_convict || ends.errors + ends.silent >= ends_to_convict;
}

std::string PoisonDetector::why_poison(std::uint64_t digest) const {
    const auto found = ends_.find(digest);
    if (found != ends_.end() && !found->second.words.empty()) {
        return "each time it was published the broker ended the connection: " + found->second.words;
    }
    return "each time it was published alone the connection ended, and the broker did not say why";
}

}  // namespace retryd::relay
