#include "relay/fake_broker.h"

#include <stdexcept>

namespace retryd::relay {

PublishResult FakeBroker::publish(const core::Publication& publication) {
    if (publication.message.properties.header_table().size() > largest_header_count) {
        return PublishResult::header_too_large;
    }
    if (socket_full) return PublishResult::would_block;
    const std::string queue{publication.routing_key};
    const auto found = queues.find(queue);
    if (found != queues.end()) found->second.emplace_back(core::Delivery{0, false, publication.message});
    unconfirmed_[next_seq_++] = {queue, found == queues.end()};
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

core::DeliveryTag FakeBroker::deliver(Relay& relay, const core::Message& message, core::Now now) {
    const core::DeliveryTag tag = next_tag_++;
    unacked.insert(tag);
    // Gone once the relay has returned, as the frames of a connection are: what it keeps, it has to copy.
    const core::OwnedDelivery owned(core::Delivery{tag, false, message});
    relay.on_delivery(owned.get(), now);
    return tag;
}

void FakeBroker::answer_declares(Relay& relay, core::Now now) {
    while (!declares.empty()) {
        const core::QueueSpec spec = declares.front();
        declares.erase(declares.begin());
        ++declare_answers;
        if (refused.contains(spec.name)) {
            relay.on_declared(spec.name, DeclareOutcome::refused, "406 in the broker's words", now);
        } else {
            queues[spec.name];
            relay.on_declared(spec.name, DeclareOutcome::ready, "", now);
        }
    }
}

void FakeBroker::answer_checks(Relay& relay, core::Now now) {
    while (!checks.empty()) {
        const std::string queue = checks.front();
        checks.erase(checks.begin());
        relay.on_checked(queue, missing.contains(queue) ? CheckOutcome::missing : CheckOutcome::exists, now);
    }
}

void FakeBroker::confirm(Relay& relay, PublishSeq seq, core::Now now, bool accepted) {
    const auto found = unconfirmed_.find(seq);
    if (found == unconfirmed_.end()) throw std::logic_error("no such publication");
    if (found->second.returned) relay.on_returned(found->second.queue);
    unconfirmed_.erase(found);
    relay.on_confirm(seq, false, accepted, now);
}

void FakeBroker::confirm_all(Relay& relay, core::Now now, bool accepted) {
    if (unconfirmed_.empty()) return;
    const PublishSeq last = unconfirmed_.rbegin()->first;
    for (const auto& [seq, publication] : unconfirmed_) {
        if (publication.returned) relay.on_returned(publication.queue);
    }
    unconfirmed_.clear();
    relay.on_confirm(last, true, accepted, now);
}

}  // namespace retryd::relay
