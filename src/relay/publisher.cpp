#include "relay/publisher.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/fingerprint.h"
#include "core/reply_code.h"
#include "relay/routes.h"

namespace retryd::relay {

namespace {

/// The broker reads 400 messages ahead for each channel (credit_flow, {400, 200}, 3.8 to 4.3). Where a queue holds the
/// channel up, one message more stops the whole connection. With so many unconfirmed that cannot happen: at least half
/// of the credit is there when the queue stops.
constexpr std::size_t most_unconfirmed = 200;
/// Channels that are left to the detours and the catch-all, where all others are taken by targets that are silent.
constexpr std::size_t reserved = 8;
/// A target that is known to answer has to leave only so many: one channel for each detour and one for the catch-all.
constexpr std::size_t left_by_proven = 4;
/// A target is silent when nothing that was sent to it has been answered for so long, while others were; or for longer,
/// for then it may be the broker that is slow.
constexpr core::Milliseconds silent_after{500};
constexpr core::Milliseconds silent_alone_after{800};
/// What waits elsewhere meanwhile is only late. On a machine that is busy, right after a start for example, a queue may
/// answer after some seconds, and it must not be reported that it has no leader.
constexpr core::Milliseconds silence_reported_after{5'000};
/// Where messages have no alternative, waiting is better than giving up.
constexpr core::Milliseconds silent_detour_after{2'000};

core::Milliseconds patience_with(const Target& target, bool others_were_answered) {
    if (target.role == TargetRole::detour) return silent_detour_after;
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
    if (target.role == TargetRole::detour || target.role == TargetRole::catch_all) return 0;
    if (target.flow.proven()) return left_by_proven;
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
            if (!paused && channel.target->flow.take_silence_report(now, silence_reported_after))
                lasts(*channel.target);
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

namespace {

using core::Milliseconds;

/// The pause of a message that cannot be dead-lettered.
constexpr Milliseconds stuck_for{30'000};
/// A publication that is not answered may still arrive, so its delivery stays unacked; but not longer than the broker
/// allows: consumer_timeout is 30 minutes.
constexpr Milliseconds given_up_after{20 * 60'000};

std::uint64_t address_of(const Target& target, const core::ComposeContext& context) {
    return target.routing_key ? target.address : hash_of_address(target.exchange, core::producer_routing_key(context));
}

/// Not where the exchange is internal, which no permission changes.
std::string remedy_of_forbidden(std::string_view why) {
    if (why.find("access to exchange") == std::string_view::npos) return "";
    return "; give the user the permission: `retryd doctor --permissions` prints the command (rabbitmqctl "
           "set_permissions)";
}

std::string_view name_of(const Pending& pending) {
    return pending.work_queue ? std::string_view{*pending.work_queue} : "";
}

}  // namespace

bool Publisher::takes(const std::shared_ptr<Target>& target, const core::Now& now) {
    if (!target->is_ready() || !target->flow.takes(now.steady)) return false;
    if (!target->is_last_resort() && !target->flow.proven() && too_much_may_go_unanswered(*target)) return false;
    channel_ = channels_.take(target, now.steady, session_.broker);
    return channel_ != nullptr;
}

/// What does not come to an end takes the prefetch from all others: so does what targets have been sent that have not
/// answered yet. One that has nothing under way may still be tried when others may not get more.
bool Publisher::too_much_may_go_unanswered(const Target& target) const {
    const std::size_t window = session_.broker.largest_window();
    const std::size_t most = target.flow.in_flight() == 0 ? window / 4 * 3 : window / 2;
    return channels_.unconfirmed_by_unproven() + session_.deliveries.pausing() >= std::max<std::size_t>(most, 1);
}

bool Publisher::publish(const core::Delivery& delivery, const core::Message& composed,
                        const core::ComposeContext& context, Pending&& pending) {
    if (session_.poison.isolating()) {
        if (awaits_answers()) return false;
        if (dead_letter_poison(delivery, name_of(pending), pending.sent_at)) return true;
    }
    const Target& to = *pending.target;
    pending.redelivered = delivery.redelivered;
    pending.published_as = address_of(to, context);
    const std::string_view key = to.routing_key ? *to.routing_key : core::producer_routing_key(context);
    in_publish_ = true;
    const PublishResult result = session_.broker.publish(channel_->index, {to.exchange, key, composed});
    in_publish_ = false;
    switch (result) {
        case PublishResult::sent:
            pending.target->flow.sent(pending.sent_at);
            channel_->unconfirmed.add(std::move(pending));
            return true;
        case PublishResult::would_block:
            paused_ = true;
            return false;
        case PublishResult::header_too_large:
            break;
    }
    dead_letter(delivery.tag, name_of(pending), "its headers do not fit an AMQP frame", pending.sent_at);
    return true;
}

/// While isolating. True: it has ended enough connections and is dead-lettered; else it is to be published.
bool Publisher::dead_letter_poison(const core::Delivery& delivery, std::string_view work_queue, core::SteadyTime now) {
    const std::uint64_t digest = core::digest(delivery.message);
    if (!session_.poison.is_poison(digest)) {
        session_.poison.publishing(digest);
        return false;
    }
    session_.poison.dead_lettered(digest);
    dead_letter(delivery.tag, work_queue, session_.poison.why_poison(digest), now);
    return true;
}

void Publisher::dead_letter(core::DeliveryTag tag, std::string_view work_queue, std::string_view why,
                            core::SteadyTime now) {
    if (session_.deliveries.keep(tag, why)) return;
    if (!session_.declare) {
        session_.deliveries.requeue_at(now + stuck_for, tag);
        return session_.reporter.stuck(work_queue, why, stuck_for);
    }
    session_.deliveries.dead_letter(tag);
    session_.reporter.dead_lettered(work_queue, why);
}

bool Publisher::leads_nowhere(const Target& target, const core::ComposeContext& context, core::SteadyTime now) const {
    return unroutable_.contains(address_of(target, context), now);
}

Target* Publisher::on_confirm(ChannelIndex index, PublishSeq seq, bool multiple, bool acked, const core::Now& now) {
    PublishingChannel* const channel = channels_.find(index);
    if (channel == nullptr) return nullptr;
    confirmed_.clear();
    channels_.note_answer(*channel, now.steady);
    channel->unconfirmed.confirm(seq, multiple, confirmed_);
    channel->stale = channel->stale || !acked;
    for (const Pending& pending : confirmed_)
        settle(pending, acked, now);
    if (channel->stale && channel->unconfirmed.empty()) close(*channel);
    return channel->target.get();
}

void Publisher::settle(const Pending& pending, bool acked, const core::Now& now) {
    session_.poison.confirmed(pending.redelivered);
    any_confirmed_ = true;
    Target& target = *pending.target;
    if (!acked || pending.returned)
        return refuse(pending, acked ? RequeueCause::returned : RequeueCause::nacked, acked, now);
    target.flow.confirmed(pending.sent_at, now.steady, pending.redelivered);
    if (target.role == TargetRole::parking_exchange) {
        if (unroutable_.remove(pending.published_as)) session_.reporter.healed(target.role, target.name);
        session_.declarations.report_healed(target.declared());
    }
    session_.reporter.settled({pending.outcome, name_of(pending), target.name, pending.reason, target.delay,
                               now.steady - pending.sent_at, target.role, pending.attempt, pending.was_held});
    session_.deliveries.ack(pending.tag);
}

/// The delivery goes back to the error queue at once. When it comes again, it takes another way: its target is declared
/// again, or takes none for a while, or its address is known to lead nowhere. `mended`: it is not known yet that its
/// target will refuse again.
void Publisher::refuse(const Pending& pending, RequeueCause cause, bool mended, const core::Now& now) {
    TargetFlow& flow = pending.target->flow;
    const bool address_alone = cause == RequeueCause::returned && pending.target->role == TargetRole::parking_exchange;
    address_alone ? flow.returned(now.steady) : flow.refused(pending.sent_at, now.steady, mended);
    session_.deliveries.requeue(pending.tag);
    session_.reporter.requeued(pending.target->reported_as(), cause, {});
}

void Publisher::on_returned(ChannelIndex index, std::string_view exchange, std::string_view routing_key,
                            const core::Now& now) {
    PublishingChannel* const channel = channels_.find(index);
    if (channel == nullptr) return;
    const std::uint64_t address = hash_of_address(exchange, routing_key);
    for (const std::shared_ptr<Target>& target : channel->unconfirmed.mark_returned(address)) {
        if (target->role != TargetRole::parking_exchange) {
            target->gone();
        } else if (unroutable_.add(address, target->exchange, now.steady)) {
            session_.reporter.unroutable(target->name, routing_key);
        }
    }
}

bool Publisher::on_closed(ChannelIndex index, int code, std::string_view why, const core::Now& now) {
    PublishingChannel* const channel = channels_.find(index);
    if (channel == nullptr) return false;
    channels_.end_silence(*channel);
    channel->open = false;
    channel->closing = false;
    channel->stale = false;
    const std::vector<Pending> lost = channel->unconfirmed.abandon();
    const bool about_exchange = code == core::reply_code::access_refused || code == core::reply_code::not_found;
    if (about_exchange) {
        on_exchange_refused(code, why, lost, now);
    } else if (lost.size() == 1) {
        const Pending& culprit = lost.front();
        culprit.target->flow.given_up();
        culprit.target->flow.suspect_found();
        dead_letter(culprit.tag, name_of(culprit), why, now.steady);
        return true;
    } else if (!lost.empty()) {
        channel->target->flow.one_at_a_time(lost.size(), now.steady);
    }
    for (const Pending& pending : lost)
        refuse(pending, RequeueCause::channel_closed, true, now);
    return true;
}

/// 404: it is declared or checked again before the next publication. 403: it counts as refused for a minute.
void Publisher::on_exchange_refused(int code, std::string_view why, const std::vector<Pending>& lost,
                                    const core::Now& now) {
    // The words may name a routing key, too, which a producer has chosen to look like another exchange.
    const auto sent_there = [&](const Target& target) {
        return std::any_of(lost.begin(), lost.end(),
                           [&](const Pending& pending) { return pending.target->exchange == target.exchange; });
    };
    for (const std::shared_ptr<Target>& target : session_.routes.published_through_exchange_in(why)) {
        if (!sent_there(*target)) continue;
        Target& declared = target->declared();
        if (code == core::reply_code::not_found) {
            declared.gone();
        } else {
            // It has taken messages: somebody has changed the permissions.
            declared.changed = declared.changed || declared.has_taken_messages();
            declared.declare_refused = false;
            session_.declarations.mark_refused(
                declared,
                "the broker refuses to let retryd publish to it: " + std::string{why} + remedy_of_forbidden(why), now);
        }
    }
}

/// One of them may lead to a queue by now, or another one may be configured.
void Publisher::forget_unroutable() {
    for (const std::string& exchange : unroutable_.clear())
        session_.declarations.end_fault(TargetRole::parking_exchange, exchange);
}

void Publisher::on_left(ChannelIndex index) {
    PublishingChannel* const channel = channels_.find(index);
    if (channel == nullptr || !channel->closing) return;
    channel->closing = false;
    channel->open = false;
}

/// What silent targets were sent long ago neither ends a connection now nor has to be waited for.
void Publisher::on_connection_lost(const ConnectionLoss& loss) {
    const std::size_t redeliveries = session_.deliveries.redelivered_if_lost();
    bool redelivered = false;
    channels_.for_each_busy([&](const PublishingChannel& channel) {
        redelivered = redelivered || (!channel.silent && channel.unconfirmed.any_redelivered());
    });
    const std::size_t suspects = in_flight() - in_flight_in_silence() + (in_publish_ ? 1 : 0);
    session_.poison.connection_ended(
        {suspects, redeliveries, loss.provoked, any_confirmed_, redelivered, loss.blocked, loss.half_sent, loss.words});
}

void Publisher::look_for_silence(const core::Now& now) {
    channels_.look_for_silence(now.steady, paused_, session_.broker,
                               [&](const Target& target) { session_.reporter.silent(target.reported_as()); });
    channels_.for_each_busy([&](PublishingChannel& channel) {
        if (channel.silent && now.steady - *channel.unconfirmed.oldest() >= given_up_after) give_up(channel);
    });
}

/// What was sent there may arrive all the same: then it comes twice.
void Publisher::give_up(PublishingChannel& channel) {
    channels_.end_silence(channel);
    for (const Pending& pending : channel.unconfirmed.abandon()) {
        pending.target->flow.given_up();
        session_.deliveries.requeue(pending.tag);
        session_.reporter.requeued(pending.target->reported_as(), RequeueCause::unanswered, {});
    }
    close(channel);
}

void Publisher::close(PublishingChannel& channel) {
    channel.unconfirmed.abandon();  // when it is open again, its publications are numbered from 1
    channel.stale = false;
    channel.closing = true;
    session_.broker.close_publishing(channel.index);
}

}  // namespace retryd::relay
