// What is to be known of sources without knowing how they are consumed.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "admin/delivery_limit.h"
#include "core/message.h"
#include "relay/head_trial.h"

namespace retryd::amqp {

/// A queue that a glob of the policy's sources has found.
struct FoundSource {
    std::string queue;
    std::size_t source = 0;  // the glob's place in the policy
    bool operator==(const FoundSource&) const = default;
};

/// Why what lies in a source stays there; each may last beside the others.
enum class SourceTrouble {
    unavailable,    // there is no consumer: no connection, no queue, no right to read it
    undeliverable,  // RabbitMQ ends the connection instead of handing over a message
    unpublishable,  // a message that was handed over cannot be published anywhere
};

/// What comes from sources. `source`: its place among the consumers.
class SourceEvents {
  public:
    virtual ~SourceEvents() = default;
    virtual void on_source_delivery(std::size_t source, const core::Delivery& delivery) = 0;
    virtual void on_unreadable_source_delivery(std::size_t source, core::DeliveryTag tag) = 0;
    /// Its channel has ended: what it delivered cannot be settled any more, and comes again.
    virtual void on_source_ended(std::size_t source) = 0;
    /// `note`: what does not work, what that means, and what fixes it. Once, until it is told otherwise.
    virtual void on_source_trouble(std::size_t source, SourceTrouble trouble, std::string_view note) = 0;
    virtual void on_source_works(std::size_t source, SourceTrouble trouble, std::string_view note) = 0;
    /// Whether it has been handed no more than it may hold at once.
    virtual bool may_take(std::size_t source) const = 0;
    virtual bool is_idle(std::size_t source) const = 0;
    /// How many messages are ready in it? The answer goes to SourceConsumer::counted().
    virtual void count_source(std::size_t source) = 0;
};

/// What is known of a source beyond one session.
struct SourceMemory {
    relay::HeadTrial trial;
    /// The source is not consumed: one more delivery could exceed its delivery limit, and so delete a message.
    bool not_consumed = false;
};

/// By their queues.
using SourceMemories = std::map<std::string, SourceMemory>;

/// Asks what becomes of a message that comes back to that queue again and again. Called in a thread of its own; it uses
/// nothing but what it owns.
using AskLimitEffect = std::function<admin::LimitEffect(const std::string& queue)>;
/// Makes one for the current configuration: a reload may have changed whom to ask.
using MakeAskLimitEffect = std::function<AskLimitEffect()>;

}  // namespace retryd::amqp
