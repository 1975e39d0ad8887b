#include "amqp/delivery_numbers.h"

#include <algorithm>

namespace retryd::amqp {

core::DeliveryTag DeliveryNumbers::add(Origin origin) {
    entries_.push_back({origin});
    return first_ + entries_.size() - 1;
}

std::optional<DeliveryNumbers::Origin> DeliveryNumbers::settle(core::DeliveryTag number) {
    if (number < first_ || number - first_ >= entries_.size()) return std::nullopt;
    Entry& entry = entries_[static_cast<std::size_t>(number - first_)];
    if (!entry.open) return std::nullopt;
    entry.open = false;
    const Origin origin = entry.origin;
    drop_settled();
    return origin;
}

std::vector<DeliveryNumbers::Origin> DeliveryNumbers::settle_up_to(core::DeliveryTag number) {
    std::vector<Origin> newest;
    while (!entries_.empty() && first_ <= number) {
        const Entry entry = entries_.front();
        entries_.pop_front();
        ++first_;
        if (!entry.open) continue;
        const auto same = std::find_if(newest.begin(), newest.end(), [&](const Origin& origin) {
            return origin.connection == entry.origin.connection;
        });
        if (same == newest.end()) {
            newest.push_back(entry.origin);
        } else {
            *same = entry.origin;
        }
    }
    return newest;
}

void DeliveryNumbers::forget(std::size_t connection) {
    for (Entry& entry : entries_) {
        if (entry.origin.connection == connection) entry.open = false;
    }
    drop_settled();
}

void DeliveryNumbers::drop_settled() {
    while (!entries_.empty() && !entries_.front().open) {
        entries_.pop_front();
        ++first_;
    }
}

}  // namespace retryd::amqp
