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
/// One for each of those: so few are left by a target that is known to answer.
constexpr std::size_t reserved_by_proven = 4;
/// A target is silent when nothing that was sent to it has been answered for so long, while others were; or for longer,
/// for then it may be the broker that is slow.
constexpr core::Milliseconds silent_after{500};
constexpr core::Milliseconds silent_alone_after{800};
/// What waits elsewhere meanwhile is only late. On a machine that is busy, right after a start for example, a queue may
/// answer after some seconds, and nobody is to be told that it has no leader.
constexpr core::Milliseconds silence_told_after{5'000};
/// Where messages have no better place to go to, a wait is the lesser evil.
constexpr core::Milliseconds silent_detour_after{2'000};

core::Milliseconds patience_with(const Target& target, bool others_were_answered) {
    if (target.role == Role::detour) return silent_detour_after;
    return others_were_answered ? silent_after : silent_alone_after;
}

/// In trouble a target is tried with one publication, on a channel where nothing else waits.
bool has_room(const PublishingChannel& channel, const Target& target) {
    if (channel.closing || channel.silent || channel.stale || channel.target.get() != &target) return false;
    const bool in_trouble = target.flow.trouble() != TargetFlow::Trouble::none;
    return in_trouble ? channel.unconfirmed.empty() : channel.unconfirmed.size() < most_unconfirmed;
}

}  // namespace

PublishingChannel* PublishingChannels::find_for(const Target& target) {
    if (target.channel < channels_.size()) {
        PublishingChannel* const last = channels_[target.channel].get();
        if (has_room(*last, target)) return last;
    }
    const auto own = std::find_if(channels_.begin(), channels_.end(),
                                  [&](const auto& channel) { return has_room(*channel, target); });
    return own == channels_.end() ? nullptr : own->get();
}

/// A new one, or the one that was idle for longest. Some are left to the detours and the catch-all; and a target that
/// may keep its channel for long gets another only where there are plenty.
PublishingChannel* PublishingChannels::another_for(const Target& target) {
    PublishingChannel* longest_idle = nullptr;
    std::size_t free = most_ - channels_.size();
    for (const auto& channel : channels_) {
        if (channel->closing || channel->stale || !channel->unconfirmed.empty()) continue;
        ++free;
        if (longest_idle == nullptr || channel->used_at < longest_idle->used_at) longest_idle = channel.get();
    }
    if (free <= left_to_others(target)) return nullptr;
    if (channels_.size() == most_) return longest_idle;
    PublishingChannel& added = *channels_.emplace_back(std::make_unique<PublishingChannel>());
    added.index = static_cast<ChannelIndex>(channels_.size() - 1);
    return &added;
}

std::size_t PublishingChannels::left_to_others(const Target& target) const {
    if (target.role == Role::detour || target.role == Role::catch_all) return 0;
    if (target.flow.proven()) return reserved_by_proven;
    return std::max(reserved, target.flow.trouble() == TargetFlow::Trouble::none ? most_ / 4 : most_ / 2);
}

PublishingChannel* PublishingChannels::take(const std::shared_ptr<Target>& target, core::SteadyTime now,
                                            Broker& broker) {
    PublishingChannel* found = find_for(*target);
    if (found == nullptr) found = another_for(*target);
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
    return index < channels_.size() ? channels_[index].get() : nullptr;
}

void PublishingChannels::note_answer(PublishingChannel& channel, core::SteadyTime now) {
    end_silence(channel);
    channel.answered_at = now;
    answered_at_ = now;
}

void PublishingChannels::look_for_silence(core::SteadyTime now, bool paused, Broker& broker,
                                          const std::function<void(const Target&)>& lasts) {
    for_each_busy([&](PublishingChannel& channel) {
        if (channel.silent) {
            if (!paused && channel.target->flow.tell_silence(now, silence_told_after)) lasts(*channel.target);
            return;
        }
        if (paused) channel.answered_at = now;
        const bool others_were_answered = answered_at_ > channel.answered_at;
        if (now - channel.answered_at < patience_with(*channel.target, others_were_answered)) return;
        if (!others_were_answered && !broker.has_received_all()) return;
        channel.silent = true;
        channel.target->flow.silent(channel.unconfirmed.size(), now);
    });
}

void PublishingChannels::end_silence(PublishingChannel& channel) {
    if (channel.silent) channel.target->flow.silence_over(channel.unconfirmed.size());
    channel.silent = false;
}

std::size_t PublishingChannels::unconfirmed() const {
    std::size_t sum = 0;
    for (const auto& channel : channels_)
        sum += channel->unconfirmed.size();
    return sum;
}

std::size_t PublishingChannels::unconfirmed_in_silence() const {
    std::size_t sum = 0;
    for (const auto& channel : channels_)
        sum += channel->silent ? channel->unconfirmed.size() : 0;
    return sum;
}

std::size_t PublishingChannels::unconfirmed_by_unproven() const {
    std::size_t sum = 0;
    for (const auto& channel : channels_)
        sum += channel->target && !channel->target->flow.proven() ? channel->unconfirmed.size() : 0;
    return sum;
}

std::optional<core::SteadyTime> PublishingChannels::oldest() const {
    std::optional<core::SteadyTime> oldest;
    for (const auto& channel : channels_) {
        const auto sent = channel->unconfirmed.oldest();
        if (sent) oldest = std::min(oldest.value_or(*sent), *sent);
    }
    return oldest;
}

}  // namespace retryd::relay
