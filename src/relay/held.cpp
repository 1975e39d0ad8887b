#include "relay/held.h"

namespace retryd::relay {

void Held::add(const core::Delivery& delivery) {
    bytes_ += deliveries_.emplace_back(delivery).bytes();
}

void Held::clear() {
    deliveries_.clear();
    bytes_ = 0;
}

}  // namespace retryd::relay
