#include "relay/fake_broker.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/names.h"

namespace retryd::relay {

namespace {

std::string name_of_item(const core::TopologyItem& item) {
    if (const auto* queue = std::get_if<core::QueueSpec>(&item)) return queue->name;
    if (const auto* exchange = std::get_if<core::ExchangeSpec>(&item)) return exchange->name;
    if (const auto* foreign = std::get_if<core::ForeignExchange>(&item)) return foreign->name;
    return std::get<core::BindingSpec>(item).exchange;
}

}  // namespace

/// Empty: nowhere.
std::string FakeBroker::queue_of(const core::Publication& publication) const {
    const std::string exchange{publication.exchange};
    if (exchange == core::return_exchange_name) {
        const auto work_queue =
            core::text_of(core::find(publication.message.properties.header_table(), "retryd-queue"));
        return work_queue && bound_to_return_exchange.contains(std::string{*work_queue}) ? std::string{*work_queue}
                                                                                         : "retryd.errors";
    }
    const auto of_key = exchanges.find(exchange + '/' + std::string{publication.routing_key});
    if (of_key != exchanges.end()) return of_key->second;
    if (const auto leads = exchanges.find(exchange); leads != exchanges.end()) return leads->second;
    return exchange.empty() ? std::string{publication.routing_key} : exchange;
}

PublishResult FakeBroker::publish(ChannelIndex channel, const core::Publication& publication) {
    if (!open_channels.contains(channel)) throw std::logic_error("504: the channel is not open");
    if (publication.message.properties.header_table().size() > largest_header_count) {
        return PublishResult::header_too_large;
    }
    if (socket_full) return PublishResult::would_block;
    const std::string queue = queue_of(publication);
    const auto found = queues.find(queue);
    if (found != queues.end() && !full.contains(queue) && !silent.contains(queue))
        found->second.emplace_back(core::Delivery{0, false, publication.message});
    routing_keys.emplace_back(publication.routing_key);
    last_channel_ = channel;
    unconfirmed_[++publications_] = {
        channel, ++open_channels[channel], std::string{publication.exchange}, std::string{publication.routing_key},
        queue,   found == queues.end()};
    return PublishResult::sent;
}

void FakeBroker::ack(core::DeliveryTag tag, bool multiple) {
    ++ack_commands;
    if (!unacked.contains(tag)) throw std::logic_error("406: ack of an unknown delivery tag");
    const auto first = multiple ? unacked.begin() : unacked.find(tag);
    const auto last = unacked.upper_bound(tag);
    acked.insert(acked.end(), first, last);
    unacked.erase(first, last);
}

void FakeBroker::requeue(core::DeliveryTag tag) {
    if (unacked.erase(tag) == 0) throw std::logic_error("406: nack of an unknown delivery tag");
    requeued.push_back(tag);
}

void FakeBroker::dead_letter(core::DeliveryTag tag) {
    if (unacked.erase(tag) == 0) throw std::logic_error("406: reject of an unknown delivery tag");
    dead_lettered.push_back(tag);
}

ChannelIndex FakeBroker::close_channel() {
    std::erase_if(unconfirmed_, [&](const auto& sent) { return sent.second.channel == last_channel_; });
    open_channels.erase(last_channel_);
    return last_channel_;
}

core::DeliveryTag FakeBroker::deliver(Relay& relay, const core::Message& message, core::Now now, bool redelivered) {
    const core::DeliveryTag tag = next_tag_++;
    unacked.insert(tag);
    // Gone once the relay has returned, as the frames of a connection are: what it keeps, it has to copy.
    const core::OwnedDelivery owned(core::Delivery{tag, redelivered, message});
    relay.on_delivery(owned.get(), now);
    return tag;
}

void FakeBroker::answer_declares(Relay& relay, core::Now now) {
    while (!declares.empty()) {
        const Declared declared = declares.front();
        declares.erase(declares.begin());
        ++declare_answers;
        const bool bad =
            std::any_of(declared.topology.begin(), declared.topology.end(),
                        [&](const core::TopologyItem& item) { return refused.contains(name_of_item(item)); });
        for (const core::TopologyItem& item : declared.topology) {
            if (!bad && std::holds_alternative<core::QueueSpec>(item)) queues[name_of_item(item)];
        }
        relay.on_declared(declared.key, bad ? DeclareOutcome::refused : DeclareOutcome::ready,
                          bad ? "406 in the broker's words" : "", now);
    }
}

void FakeBroker::answer_binds(Relay& relay, core::Now now) {
    while (!binds.empty()) {
        const std::string queue = binds.front();
        binds.erase(binds.begin());
        if (refused.contains(queue)) {
            relay.on_bound(queue, CheckOutcome::refused, "403 in the broker's words", now);
        } else if (missing.contains(queue)) {
            relay.on_bound(queue, CheckOutcome::missing, "", now);
        } else {
            bound_to_return_exchange.insert(queue);
            relay.on_bound(queue, CheckOutcome::exists, "", now);
        }
    }
}

void FakeBroker::answer_closes(Relay& relay) {
    for (const ChannelIndex channel : std::exchange(closed_channels, {}))
        relay.on_publishing_left(channel);
}

void FakeBroker::answer_checks(Relay& relay, core::Now now) {
    while (!checks.empty()) {
        const std::string queue = checks.front();
        checks.erase(checks.begin());
        relay.on_checked(queue, missing.contains(queue) ? CheckOutcome::missing : CheckOutcome::exists, now);
    }
}

void FakeBroker::confirm(Relay& relay, int publication, core::Now now, bool accepted) {
    const auto found = unconfirmed_.find(publication);
    if (found == unconfirmed_.end()) throw std::logic_error("no such publication");
    const Unconfirmed sent = found->second;
    unconfirmed_.erase(found);
    if (sent.returned) relay.on_returned(sent.channel, sent.exchange, sent.routing_key, now);
    relay.on_confirm(sent.channel, sent.seq, false, accepted && !full.contains(sent.queue), now);
}

void FakeBroker::confirm_all(Relay& relay, core::Now now, bool accepted) {
    std::map<ChannelIndex, std::vector<Unconfirmed>> answers;
    std::erase_if(unconfirmed_, [&](const auto& sent) {
        if (silent.contains(sent.second.queue)) return false;
        answers[sent.second.channel].push_back(sent.second);
        return true;
    });
    for (const auto& [channel, sent] : answers) {
        for (const Unconfirmed& one : sent) {
            if (one.returned) relay.on_returned(channel, one.exchange, one.routing_key, now);
        }
        relay.on_confirm(channel, sent.back().seq, true, accepted && !full.contains(sent.back().queue), now);
    }
}

}  // namespace retryd::relay
