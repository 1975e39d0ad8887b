#include "amqp/delivery_numbers.h"

#include <algorithm>

namespace retryd::amqp {

core::DeliveryTag DeliveryNumbers::add(Origin origin, std::size_t bytes) {
    if (open_.size() <= origin.connection) {
        open_.resize(origin.connection + 1);
        keeps_.resize(origin.connection + 1);
    }
    ++open_[origin.connection].messages;
    open_[origin.connection].bytes += bytes;
    if (origin.connection > 0) bytes_beside_first_ += bytes;
    entries_.push_back({origin, bytes});
    return first_ + entries_.size() - 1;
}

void DeliveryNumbers::close(Entry& entry) {
    entry.open = false;
    Open& open = open_[entry.origin.connection];
    --open.messages;
    open.bytes -= entry.bytes;
    if (entry.origin.connection > 0) bytes_beside_first_ -= entry.bytes;
}

bool DeliveryNumbers::is_of_first(core::DeliveryTag number) const {
    if (number < first_ || number - first_ >= entries_.size()) return false;
    const Entry& entry = entries_[static_cast<std::size_t>(number - first_)];
    return entry.open && entry.origin.connection == 0;
}

std::optional<DeliveryNumbers::Origin> DeliveryNumbers::settle(core::DeliveryTag number) {
    if (number < first_ || number - first_ >= entries_.size()) return std::nullopt;
    Entry& entry = entries_[static_cast<std::size_t>(number - first_)];
    if (!entry.open) return std::nullopt;
    const Origin origin = entry.origin;
    close(entry);
    drop_settled();
    return origin;
}

std::optional<DeliveryNumbers::Origin> DeliveryNumbers::keep(core::DeliveryTag number) {
    const auto origin = settle(number);
    if (origin) keeps_[origin->connection] = true;
    return origin;
}

std::vector<DeliveryNumbers::Ack> DeliveryNumbers::settle_up_to(core::DeliveryTag number) {
    std::vector<Ack> acks;
    while (!entries_.empty() && first_ <= number) {
        Entry entry = entries_.front();
        entries_.pop_front();
        ++first_;
        if (!entry.open) continue;
        close(entry);
        const std::size_t connection = entry.origin.connection;
        const auto same = std::find_if(acks.begin(), acks.end(), [&](const Ack& ack) {
            return ack.multiple && ack.origin.connection == connection;
        });
        if (same == acks.end()) {
            acks.push_back({entry.origin, !keeps_[connection]});
        } else {
            same->origin = entry.origin;
        }
    }
    return acks;
}

void DeliveryNumbers::forget(std::size_t connection) {
    if (connection < keeps_.size()) keeps_[connection] = false;
    for (Entry& entry : entries_) {
        if (entry.origin.connection == connection && entry.open) close(entry);
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
