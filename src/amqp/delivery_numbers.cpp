#include "amqp/delivery_numbers.h"

#include <algorithm>

namespace retryd::amqp {

void DeliveryNumbers::begin(std::size_t channel, const std::vector<core::DeliveryTag>& unsettled,
                            core::DeliveryTag last) {
    first_ = unsettled.empty() ? last + 1 : unsettled.front();
    auto next = unsettled.begin();
    for (core::DeliveryTag tag = first_; tag <= last; ++tag) {
        const bool open = next != unsettled.end() && *next == tag;
        entries_.push_back({{channel, tag}, 0, open});
        if (!open) continue;
        count(entries_.back());
        ++next;
    }
}

core::DeliveryTag DeliveryNumbers::add(Origin origin, std::size_t bytes) {
    entries_.push_back({origin, bytes});
    count(entries_.back());
    return first_ + entries_.size() - 1;
}

void DeliveryNumbers::count(const Entry& entry) {
    const std::size_t channel = entry.origin.channel;
    if (open_.size() <= channel) {
        open_.resize(channel + 1);
        keeps_.resize(channel + 1);
    }
    ++open_[channel].messages;
    open_[channel].bytes += entry.bytes;
    if (channel >= first_source_) bytes_of_sources_ += entry.bytes;
}

void DeliveryNumbers::close(Entry& entry) {
    entry.open = false;
    Open& open = open_[entry.origin.channel];
    --open.messages;
    open.bytes -= entry.bytes;
    if (entry.origin.channel >= first_source_) bytes_of_sources_ -= entry.bytes;
}

bool DeliveryNumbers::is_of_error_queue(core::DeliveryTag number) const {
    if (number < first_ || number - first_ >= entries_.size()) return false;
    const Entry& entry = entries_[static_cast<std::size_t>(number - first_)];
    return entry.open && entry.origin.channel < first_source_;
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
    if (origin) keeps_[origin->channel] = true;
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
        const std::size_t channel = entry.origin.channel;
        const auto same = std::find_if(acks.begin(), acks.end(),
                                       [&](const Ack& ack) { return ack.multiple && ack.origin.channel == channel; });
        if (same == acks.end()) {
            acks.push_back({entry.origin, !keeps_[channel]});
        } else {
            same->origin = entry.origin;
        }
    }
    return acks;
}

void DeliveryNumbers::forget(std::size_t channel) {
    if (channel < keeps_.size()) keeps_[channel] = false;
    for (Entry& entry : entries_) {
        if (entry.origin.channel == channel && entry.open) close(entry);
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
