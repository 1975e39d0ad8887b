// The seam between the relay and the broker: commands go out through it, events come back as calls on Relay.
// Two implementations: amqp's, and the tests' fake with a clock and faults.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/compose.h"
#include "core/message.h"
#include "core/topology.h"

namespace retryd::relay {

/// Publications are numbered from 1 on each channel in confirm mode, in the order of publish() calls.
using PublishSeq = std::uint64_t;

/// Of the daemon's publishing channels: from 0, without a gap.
using ChannelIndex = std::size_t;

enum class PublishResult {
    sent,         // the broker will confirm it under the next sequence number
    would_block,  // nothing was sent: the socket is full, or the broker takes no messages. Try again after resume()
    header_too_large,  // nothing was sent: properties and headers do not fit a frame
};

/// Commands. None waits for an answer: answers come as events, never from within the command. Connection failures are
/// thrown by the implementation and end the session that owns both sides.
class AckPort {
  public:
    virtual ~AckPort() = default;

    /// `multiple` settles every delivery up to and including `tag`.
    virtual void ack(core::DeliveryTag tag, bool multiple) = 0;
};

/// What it takes to move messages from one queue to another, over one channel.
class PublishPort : public AckPort {
  public:
    /// Mandatory. The views need to live only until the call returns.
    virtual PublishResult publish(const core::Publication& publication) = 0;
};

/// What the daemon needs.
class Broker : public AckPort {
  public:
    /// Opens that channel in confirm mode; it can be published to at once.
    virtual void open_publishing(ChannelIndex channel) = 0;
    /// Gives it up. Its confirms are not waited for; it may be opened again after Relay::on_publishing_left.
    virtual void close_publishing(ChannelIndex channel) = 0;
    /// Mandatory. The views need to live only until the call returns.
    virtual PublishResult publish(ChannelIndex channel, const core::Publication& publication) = 0;

    /// Whether the broker's host has got all that was published: else it may be the network that is slow.
    virtual bool has_received_all() = 0;

    /// So many deliveries may be unsettled at once, when all is done to make up for those that stay so for long.
    virtual std::size_t largest_window() const = 0;

    /// The broker delivers the message again. Sent as basic.nack: on 4.3 basic.reject would count towards a delivery
    /// limit.
    virtual void requeue(core::DeliveryTag tag) = 0;

    /// The broker moves the message to the catch-all itself, through the error queue's dead-letter exchange: the way
    /// for what cannot be published again.
    virtual void dead_letter(core::DeliveryTag tag) = 0;

    /// Instead of dead_letter() for a message from a source, which is a foreign queue: its dead-lettering may lead
    /// anywhere, or delete the message. So it stays there, unacked, and the implementation of this interface reports
    /// `why` to the operator. False, and nothing is done, where the message comes from the error queue.
    virtual bool keep(core::DeliveryTag tag, std::string_view why) = 0;

    /// Declares one item after the other until one is refused. Answered once by Relay::on_declared under the same key.
    virtual void declare(std::string_view key, const core::Topology& topology) = 0;

    /// Asks whether a queue that is not ours exists, without touching it. Answered by Relay::on_checked.
    virtual void check(std::string_view queue) = 0;

    /// Binds a work queue to the return exchange, if the queue exists. Answered by Relay::on_bound.
    virtual void bind_to_return_exchange(std::string_view queue) = 0;
};

enum class DeclareOutcome {
    ready,
    refused,
    unanswered,  // for so long that it is not waited for: a queue without a leader, or one that hangs
};

/// Of a check: `refused` means that the broker would not say (no permission, another fault). Of a binding: that it is
/// not there. exclusive: the queue is one connection's, and goes with it; or it is one of those that a glob leaves out.
enum class CheckOutcome { exists, missing, exclusive, refused };

}  // namespace retryd::relay
