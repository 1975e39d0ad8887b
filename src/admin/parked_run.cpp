#include "admin/parked_run.h"

#include <algorithm>
#include <utility>

#include "admin/parked.h"
#include "core/names.h"

namespace retryd::admin {

namespace {

using core::Milliseconds;
using Action = ParkedRunOrder::Action;

/// The most publications in flight: enough to keep the broker busy.
constexpr std::size_t most_in_flight = 500;
/// How long an ack waits for an older delivery that is still open.
constexpr Milliseconds late_acks_after{10};

std::uint64_t seconds_of(core::WallTime time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, seconds));
}

}  // namespace

ParkedRun::ParkedRun(ParkedRunOrder order, relay::PublishPort& port)
    : order_(std::move(order)), port_(port), rate_(order_.per_second), ramp_(order_.ramp) {
    if (order_.selection.among != nullptr) order_.selection.among->begin();
    if (order_.count == 0 || order_.first == std::size_t{0}) end(End::all);
}

void ParkedRun::on_delivery(const core::Delivery& delivery) {
    acks_.delivered(delivery.tag);
    if (end_ != End::none) return;
    ++counts_.looked_at;
    select(delivery);
    const bool enough = order_.first && counts_.selected >= *order_.first;
    if (enough || counts_.looked_at >= order_.count) end(End::all);
}

void ParkedRun::on_unreadable_delivery(core::DeliveryTag tag) {
    acks_.delivered(tag);
    if (end_ != End::none) return;
    ++counts_.looked_at;
    ++counts_.not_selected;
    if (counts_.looked_at >= order_.count) end(End::all);
}

void ParkedRun::select(const core::Delivery& delivery) {
    const core::Table headers = delivery.message.properties.header_table();
    const Parked parked = read(headers);
    if (stops_before(parked)) return;
    const bool belongs = !order_.belongs || order_.belongs(parked);
    if (!belongs || !selects(order_.selection, parked, delivery.message)) {
        ++counts_.not_selected;
    } else if (!order_.id.empty() && newest_replay_id(headers) == order_.id) {
        ++counts_.came_back;
    } else if (sends() && !has_destination(parked)) {
        ++counts_.without_destination;
    } else {
        take(delivery);
    }
}

/// Only messages with a proof and a time in the past can end the run: any client may put others there, again and again.
bool ParkedRun::stops_before(const Parked& parked) {
    const auto at = parked_at(parked);
    const bool younger = order_.stop_at_younger && parked.by_retryd && at && order_.selection.parked_before &&
                         *at > *order_.selection.parked_before && *at <= *order_.stop_at_younger;
    if (!younger) return false;
    younger_at_ = parked.at;
    ++counts_.not_selected;
    end(End::all);
    return true;
}

Parked ParkedRun::read(const core::Table& headers) const {
    const bool on_rung = order_.action == Action::home || order_.action == Action::park;
    return on_rung ? read_waiting(headers, order_.proof_keys)
                   : read_parked(headers, order_.error_queue, order_.proof_keys);
}

bool ParkedRun::has_destination(const Parked& parked) const {
    if (order_.action == Action::park) return order_.parking.count(parked.queue) > 0;
    if (!order_.to.empty()) return true;
    return order_.reachable.count(parked.queue) > 0;
}

void ParkedRun::take(const core::Delivery& delivery) {
    ++counts_.selected;
    if (order_.action == ParkedRunOrder::Action::drop) {
        ++counts_.done;
        acks_.ack(delivery.tag);
    } else {
        waiting_bytes_ += waiting_.emplace_back(delivery).bytes();
    }
}

bool ParkedRun::has_room() const {
    return waiting_bytes_ < order_.most_waiting_bytes;
}

bool ParkedRun::may_send() const {
    return !waiting_.empty() && !paused_ && unconfirmed_.size() < most_in_flight;
}

void ParkedRun::send_waiting(const core::Now& now) {
    while (may_send() && ramp_.due(now.steady) && rate_.due(now.steady)) {
        const relay::PublishResult result = send(waiting_.front().get(), now);
        if (result == relay::PublishResult::would_block) {
            paused_ = true;
            return;
        }
        if (result == relay::PublishResult::header_too_large) ++counts_.too_large;
        waiting_bytes_ -= waiting_.front().bytes();
        waiting_.pop_front();
        stop_at_too_many_failures();
    }
}

relay::PublishResult ParkedRun::send(const core::Delivery& delivery, const core::Now& now) {
    const core::Message& message = order_.instead == nullptr ? delivery.message : *order_.instead;
    const Parked parked = read(message.properties.header_table());
    const core::ComposeContext context = compose_context_of(parked, order_.connection_user, order_.proof_keys);
    const core::Publication publication = order_.action == Action::archive ? core::Publication{"", order_.from, message}
                                          : order_.action == Action::park
                                              ? to_parking(message, parked, context, now)
                                              : to_work_queue(message, parked, context, now);
    const relay::PublishResult result = port_.publish(publication);
    if (result != relay::PublishResult::sent) return result;
    relay::Pending pending;
    pending.tag = delivery.tag;
    pending.sent_at = now.steady;
    pending.published_as = relay::hash_of_address(publication.exchange, publication.routing_key);
    unconfirmed_.add(std::move(pending));
    rate_.sent();
    ramp_.sent();
    return result;
}

core::Publication ParkedRun::to_work_queue(const core::Message& message, const Parked& parked,
                                           const core::ComposeContext& context, const core::Now& now) {
    const std::string_view to = order_.to.empty() ? parked.queue : std::string_view{order_.to};
    const bool through_return = order_.through_return.count(to) > 0;
    const std::string_view exchange = through_return ? core::return_exchange_name : "";
    const std::string_view key = through_return ? core::producer_routing_key(context) : to;
    if (order_.action == Action::home)
        return {exchange, key, core::compose_released(message, context, scratch_.compose)};
    const ReplayStamp stamp{seconds_of(now.wall), order_.id, order_.from};
    return {exchange, key, compose_replay(message, parked, to, stamp, context, scratch_)};
}

core::Publication ParkedRun::to_parking(const core::Message& message, const Parked& parked,
                                        const core::ComposeContext& context, const core::Now& now) {
    const auto& [exchange, key] = order_.parking.find(parked.queue)->second;
    const bool as_produced = !exchange.empty() && key.empty();
    return {exchange, as_produced ? core::producer_routing_key(context) : std::string_view{key},
            compose_parked_by_hand(message, context, now.wall, scratch_.compose)};
}

void ParkedRun::on_confirm(relay::PublishSeq seq, bool multiple, bool acked) {
    confirmed_.clear();
    unconfirmed_.confirm(seq, multiple, confirmed_);
    for (const relay::Pending& pending : confirmed_)
        settle(pending, acked);
    stop_at_too_many_failures();
}

void ParkedRun::settle(const relay::Pending& pending, bool acked) {
    if (!acked) {
        ++counts_.refused;
    } else if (pending.returned) {
        ++counts_.unrouted;
    } else {
        ++counts_.done;
        acks_.ack(pending.tag);
    }
}

void ParkedRun::on_returned(std::string_view exchange, std::string_view routing_key) {
    unconfirmed_.mark_returned(relay::hash_of_address(exchange, routing_key));
}

void ParkedRun::on_rejected(const core::Table& headers) {
    if (newest_replay_id(headers) != order_.id) return;
    if (core::find(headers, core::header::attempt) != nullptr) return;  // it had failed before, and was counted then
    ++counts_.failed;
    stop_at_too_many_failures();
}

void ParkedRun::give_up_unconfirmed() {
    counts_.unknown += unconfirmed_.abandon().size();
    end(End::broker);
}

void ParkedRun::stop_at_too_many_failures() {
    if (order_.stop_above && counts_.failures() > *order_.stop_above) end(End::failures);
}

/// The first reason counts; `all` is replaced by a later one that stops the sending.
void ParkedRun::end(End why) {
    if (end_ != End::none && end_ != End::all) return;
    end_ = why;
    if (why == End::all) return;
    counts_.selected -= waiting_.size();  // they stay in the queue and count as not looked at
    counts_.looked_at -= waiting_.size();
    waiting_.clear();
    waiting_bytes_ = 0;
}

void ParkedRun::on_tick(const core::Now& now) {
    ramp_.on_tick(!unconfirmed_.empty(), now.steady);
    send_waiting(now);
    acks_.flush(port_);
    if (acks_.unsent() == 0) {
        late_acks_due_.reset();
    } else if (!late_acks_due_) {
        late_acks_due_ = now.steady + late_acks_after;
    } else if (*late_acks_due_ <= now.steady) {
        flush_acks();
    }
}

bool ParkedRun::consumer_full() const {
    return waiting_.empty() && unconfirmed_.empty() && acks_.unsent() == 0 && acks_.open() >= order_.most_unacked;
}

void ParkedRun::next_consumer(std::size_t most_unacked) {
    acks_ = {};
    order_.most_unacked = most_unacked;
}

void ParkedRun::flush_acks() {
    acks_.flush(port_);
    acks_.flush_unsent(port_);
    late_acks_due_.reset();
}

std::optional<core::SteadyTime> ParkedRun::next_tick(core::SteadyTime now) {
    std::optional<core::SteadyTime> next = late_acks_due_;
    if (!may_send()) return next;
    const core::SteadyTime due = std::max(rate_.next(now), ramp_.next().value_or(now));
    return next ? std::min(*next, due) : due;
}

}  // namespace retryd::admin
