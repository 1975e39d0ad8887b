#include "relay/acks.h"

namespace retryd::relay {

void AckTracker::delivered(core::DeliveryTag tag) {
    if (states_.empty()) first_ = tag;
    states_.push_back(State::open);
    ++open_;
}

void AckTracker::close(core::DeliveryTag tag, State state) {
    if (tag < first_ || tag >= first_ + states_.size()) return;
    State& found = states_[static_cast<std::size_t>(tag - first_)];
    if (found != State::open) return;
    found = state;
    --open_;
    if (state == State::to_ack) ++to_ack_;
}

void AckTracker::ack(core::DeliveryTag tag) {
    close(tag, State::to_ack);
}

void AckTracker::settled(core::DeliveryTag tag) {
    close(tag, State::done);
}

void AckTracker::flush(PublishPort& port) {
    core::DeliveryTag up_to = 0;
    while (!states_.empty() && states_.front() != State::open) {
        if (states_.front() == State::to_ack) {
            up_to = first_;
            --to_ack_;
        }
        states_.pop_front();
        ++first_;
    }
    if (up_to != 0) port.ack(up_to, true);
}

void AckTracker::flush_behind(PublishPort& port) {
    for (std::size_t i = 0; to_ack_ > 0; ++i) {
        if (states_[i] != State::to_ack) continue;
        port.ack(first_ + i, false);
        states_[i] = State::done;
        --to_ack_;
    }
}

}  // namespace retryd::relay
