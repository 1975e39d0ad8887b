#include "relay/held.h"

namespace retryd::relay {

void Held::add(const core::Delivery& delivery) {
    deliveries_.emplace_back(delivery);
    bytes_ += delivery.message.body.size();
}

void Held::clear() {
    deliveries_.clear();
    bytes_ = 0;
}

}  // namespace retryd::relay
