#include "relay/settlements.h"

namespace retryd::relay {

void Settlements::delivered(core::DeliveryTag tag) {
    if (states_.empty()) first_ = tag;
    states_.push_back(State::open);
    ++open_;
}

Settlements::State* Settlements::find(core::DeliveryTag tag) {
    if (tag < first_ || tag >= first_ + states_.size()) return nullptr;
    return &states_[static_cast<std::size_t>(tag - first_)];
}

void Settlements::close(core::DeliveryTag tag, State state) {
    State* found = find(tag);
    if (found == nullptr || *found != State::open) return;
    *found = state;
    --open_;
    if (state == State::to_ack) to_ack_.push_back(tag);
}

void Settlements::ack(core::DeliveryTag tag) {
    close(tag, State::to_ack);
}

void Settlements::settled(core::DeliveryTag tag) {
    close(tag, State::done);
}

void Settlements::flush(Broker& broker) {
    core::DeliveryTag up_to = 0;
    while (!states_.empty() && states_.front() != State::open) {
        if (states_.front() == State::to_ack) up_to = first_;
        states_.pop_front();
        ++first_;
    }
    if (up_to != 0) broker.ack(up_to, true);
    for (const core::DeliveryTag tag : to_ack_) {
        State* state = find(tag);
        if (state == nullptr) continue;  // settled by the ack above
        broker.ack(tag, false);
        *state = State::done;
    }
    to_ack_.clear();
}

}  // namespace retryd::relay
