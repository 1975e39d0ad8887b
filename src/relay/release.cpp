#include "relay/release.h"

#include <algorithm>
#include <utility>

#include "core/death.h"
#include "core/names.h"
#include "core/text.h"
#include "relay/in_flight.h"

namespace retryd::relay {
namespace {

/// RabbitMQ takes back after 30 minutes what a consumer has and does not ack.
constexpr core::Milliseconds given_back_after{20 * 60'000};

}  // namespace

std::string_view Release::work_queue_of(const core::Table& headers, std::string_view held_queue) {
    const auto said = core::text_of(core::find(headers, core::header::queue));
    if (said && core::usable_queue_name(*said)) {
        for (const std::size_t longest : {core::longest_queue_name, held_queue.size()}) {
            if (core::held_name(*said, longest) == held_queue) return *said;
        }
    }
    if (held_queue.ends_with(core::held_suffix)) held_queue.remove_suffix(core::held_suffix.size());
    return held_queue;
}

void Release::on_delivery(const core::Delivery& delivery) {
    acks_.delivered(delivery.tag);
    items_.push_back({core::OwnedDelivery{delivery}, {}, State::waiting});
    if (targets_.only_proven) (is_proven(items_.back()) ? any_proven_ : foreign_) = true;
}

void Release::on_unreadable_delivery(core::DeliveryTag tag) {
    acks_.delivered(tag);
    stays_.push_back({tag, {}});
    if (targets_.only_proven) foreign_ = true;
}

bool Release::is_proven(const Item& item) const {
    const core::Table headers = item.delivery.get().message.properties.header_table();
    const core::RetryHistory history = context_of(item, work_queue_of(headers, targets_.held_queue)).history;
    return history.proven && history.was_held;
}

std::size_t Release::waiting() const {
    return static_cast<std::size_t>(
        std::count_if(items_.begin(), items_.end(), [](const Item& item) { return item.state == State::waiting; }));
}

std::size_t Release::not_home() const {
    const auto settled =
        std::count_if(items_.begin(), items_.end(), [](const Item& item) { return item.state == State::settled; });
    return items_.size() - static_cast<std::size_t>(settled) + stays_.size();
}

/// In their order. What has no home any more is parked, and does not count: no consumer gets it.
std::size_t Release::send(std::size_t most, const core::Now& now) {
    if (now.steady < not_before_) return 0;
    std::size_t sent = 0;
    for (Item& item : items_) {
        if (targets_.only_proven && item.state == State::waiting && !is_proven(item)) break;
        PublishResult result = PublishResult::sent;
        if (item.state == State::gone) {
            result = park(item, now);
        } else if (item.state == State::waiting && sent < most) {
            result = send_home(item, now);
            sent += result == PublishResult::sent ? 1 : 0;
        }
        if (result == PublishResult::would_block) break;
        if (result == PublishResult::header_too_large) {
            stays_.push_back({item.delivery.get().tag, item.since});
            item.state = State::settled;
        }
    }
    forget_settled();
    return sent;
}

core::ComposeContext Release::context_of(const Item& item, std::string_view work_queue) const {
    const core::Table headers = item.delivery.get().message.properties.header_table();
    return {{},
            core::read_retry_history(headers, work_queue, targets_.proof_keys),
            targets_.connection_user,
            &targets_.proof_keys};
}

PublishResult Release::send_home(Item& item, const core::Now& now) {
    const core::Message& message = item.delivery.get().message;
    const core::Table headers = message.properties.header_table();
    const std::string_view work_queue = work_queue_of(headers, targets_.held_queue);
    const core::ComposeContext context = context_of(item, work_queue);
    // The return exchange goes by what the message says: only where retryd has written that.
    const bool through_return = targets_.through_return && context.history.proven;
    const std::string_view exchange = through_return ? core::return_exchange_name : "";
    const std::string_view key = through_return ? core::producer_routing_key(context) : work_queue;
    const PublishResult result =
        publish(item, {exchange, key, core::compose_released(message, context, scratch_)}, now);
    if (result == PublishResult::sent) item.state = State::sent;
    return result;
}

/// As where a shared rung finds its work queue gone: in the catch-all, its history kept.
PublishResult Release::park(Item& item, const core::Now& now) {
    const core::Message& message = item.delivery.get().message;
    const core::ComposeContext context =
        context_of(item, work_queue_of(message.properties.header_table(), targets_.held_queue));
    const core::Park as_gone{core::ParkReason::queue_gone, context.history.attempt};
    const PublishResult result = publish(
        item, {"", targets_.catch_all, core::compose_parked(message, context, as_gone, now.wall, scratch_)}, now);
    if (result == PublishResult::sent) item.state = State::parking;
    return result;
}

PublishResult Release::publish(Item& item, const core::Publication& publication, const core::Now& now) {
    const PublishResult result = port_.publish(publication);
    if (result != PublishResult::sent) return result;
    Pending pending;
    pending.tag = item.delivery.get().tag;
    pending.sent_at = now.steady;
    pending.published_as = hash_of_address(publication.exchange, publication.routing_key);
    unconfirmed_.add(std::move(pending));
    return result;
}

void Release::on_confirm(PublishSeq seq, bool multiple, bool acked, const core::Now& now) {
    confirmed_.clear();
    unconfirmed_.confirm(seq, multiple, confirmed_);
    for (const Pending& pending : confirmed_)
        settle(pending, acked, now);
    forget_settled();
}

/// What is refused stays here, for its next try: each time it went back to the queue would count towards a delivery
/// limit that the queue may have after all, by a policy or by an upgrade of the broker.
void Release::settle(const Pending& pending, bool acked, const core::Now& now) {
    const auto item = std::find_if(items_.begin(), items_.end(),
                                   [&](const Item& each) { return each.delivery.get().tag == pending.tag; });
    if (item == items_.end()) return;
    const bool home = item->state == State::sent;
    if (acked && pending.returned && home) {
        item->state = State::gone;
        return;
    }
    if (!acked || pending.returned) {
        ++counts_.refused;
        not_before_ = now.steady + backoff(++refusals_);
        item->state = State::waiting;
        return;
    }
    refusals_ = 0;
    home ? ++counts_.home : ++counts_.parked;
    item->state = State::settled;
    acks_.ack(pending.tag);
}

void Release::on_returned(std::string_view exchange, std::string_view routing_key) {
    unconfirmed_.mark_returned(hash_of_address(exchange, routing_key));
}

void Release::give_back(core::DeliveryTag tag) {
    port_.requeue(tag);
    acks_.forget(tag);
}

void Release::on_tick(const core::Now& now) {
    const auto too_long = [&](core::SteadyTime& since) {
        if (since == core::SteadyTime{}) since = now.steady;
        return now.steady - since >= given_back_after;
    };
    for (Item& item : items_) {
        if (!too_long(item.since) || item.state != State::waiting) continue;
        give_back(item.delivery.get().tag);
        item.state = State::settled;
    }
    forget_settled();
    std::erase_if(stays_, [&](Staying& staying) {
        const bool over = too_long(staying.since);
        if (over) give_back(staying.tag);
        return over;
    });
    acks_.flush(port_);
    acks_.flush_unsent(port_);
}

bool Release::stuck(core::SteadyTime now) const {
    const auto oldest = unconfirmed_.oldest();
    return oldest && now - *oldest >= given_back_after;
}

void Release::forget_settled() {
    std::erase_if(items_, [](const Item& item) { return item.state == State::settled; });
}

}  // namespace retryd::relay
