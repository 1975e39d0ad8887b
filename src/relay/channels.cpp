#include "relay/channels.h"

#include <algorithm>

#include "relay/routes.h"

namespace retryd::relay {
namespace {

/// The broker reads 400 messages ahead for each channel (credit_flow, {400, 200}, 3.8 to 4.3). Where a queue holds the
/// channel up, one message more stops the whole connection. With so many unconfirmed that cannot happen: at least half
/// of the credit is there when the queue stops.
constexpr std::size_t most_unconfirmed = 200;
/// Channels that are left to the detours and the catch-all, where all others are taken by targets that are silent.
constexpr std::size_t reserved = 8;

bool is_last_resort(const Target& target) {
    return target.role == Role::detour || target.role == Role::catch_all;
}

/// In trouble a target is tried with one publication, on a channel where nothing else waits.
bool has_room(const PublishingChannel& channel, const Target& target) {
    if (channel.closing || channel.silent || channel.target.get() != &target) return false;
    const bool in_trouble = target.flow.trouble() != TargetFlow::Trouble::none;
    return in_trouble ? channel.unconfirmed.empty() : channel.unconfirmed.size() < most_unconfirmed;
}

}  // namespace

PublishingChannel* PublishingChannels::find_for(const Target& target) {
    if (target.channel < channels_.size() && has_room(channels_[target.channel], target))
        return &channels_[target.channel];
    const auto own = std::find_if(channels_.begin(), channels_.end(),
                                  [&](const PublishingChannel& channel) { return has_room(channel, target); });
    return own == channels_.end() ? nullptr : &*own;
}

PublishingChannel* PublishingChannels::add_for(const Target& target) {
    const std::size_t kept_back = is_last_resort(target) ? 0 : reserved;
    if (channels_.size() + kept_back >= most_) return nullptr;
    PublishingChannel& added = channels_.emplace_back();
    added.index = static_cast<ChannelIndex>(channels_.size() - 1);
    return &added;
}

PublishingChannel* PublishingChannels::longest_idle() {
    PublishingChannel* found = nullptr;
    for (PublishingChannel& channel : channels_) {
        if (channel.closing || !channel.unconfirmed.empty()) continue;
        if (found == nullptr || channel.used_at < found->used_at) found = &channel;
    }
    return found;
}

PublishingChannel* PublishingChannels::take(const std::shared_ptr<Target>& target, core::SteadyTime now,
                                            Broker& broker) {
    PublishingChannel* found = find_for(*target);
    if (found == nullptr) found = add_for(*target);
    if (found == nullptr) found = longest_idle();
    if (found == nullptr) return nullptr;
    if (!found->open) broker.open_publishing(found->index);
    found->open = true;
    if (found->unconfirmed.empty()) {
        if (found->target != target) found->target = target;
        found->answered_at = now;
    }
    found->used_at = now;
    target->channel = found->index;
    return found;
}

PublishingChannel* PublishingChannels::find(ChannelIndex index) {
    return index < channels_.size() ? &channels_[index] : nullptr;
}

std::size_t PublishingChannels::unconfirmed() const {
    std::size_t sum = 0;
    for (const PublishingChannel& channel : channels_)
        sum += channel.unconfirmed.size();
    return sum;
}

std::size_t PublishingChannels::unconfirmed_in_silence() const {
    std::size_t sum = 0;
    for (const PublishingChannel& channel : channels_)
        sum += channel.silent ? channel.unconfirmed.size() : 0;
    return sum;
}

std::optional<core::SteadyTime> PublishingChannels::oldest() const {
    std::optional<core::SteadyTime> oldest;
    for (const PublishingChannel& channel : channels_) {
        const auto sent = channel.unconfirmed.oldest();
        if (sent) oldest = std::min(oldest.value_or(*sent), *sent);
    }
    return oldest;
}

}  // namespace retryd::relay
