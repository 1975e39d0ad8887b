// Looks at every message of a queue, once, and puts all of them back in their order.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "amqp/queue_reader.h"
#include "commands/common/broker.h"
#include "config/settings.h"
#include "system/signals.h"

namespace retryd::commands {

/// So many are taken in before the rest of the work has its turn.
inline constexpr std::size_t messages_a_turn = 128;

/// The one of the settings that a broker was reached at.
const config::Endpoint& endpoint_of(const config::Settings& settings, const BrokerIdentity& identity);

/// When a queue gives nothing more although more was expected: somebody else consumes from it, too.
class QueueEnd {
  public:
    explicit QueueEnd(Broker& broker, std::string queue) : broker_(broker), queue_(std::move(queue)) {}
    /// `seen`: how many came so far. Asks the broker when none has come for a while.
    bool reached(std::size_t seen);
    /// Why, where messages are left that the broker does not give to us; else empty.
    const std::string& withheld() const { return withheld_; }

  private:
    std::string withheld_;
    int times_asked_ = 0;
    Broker& broker_;
    std::string queue_;
    std::size_t seen_ = 0;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

struct Browsed {
    std::size_t messages = 0;
    bool interrupted = false;
    std::string ended;  // by the broker, before all were seen: its words
};

/// With a message whose headers cannot be read it is null. False: it has seen enough.
using Visitor = std::function<bool(const core::Delivery* delivery)>;

/// At most `count` messages from the head of the queue. Throws amqp::Error.
Browsed browse(const config::Settings& settings, Broker& broker, const std::string& queue, std::size_t count,
               const system::Signals& signals, const Visitor& visit);

}  // namespace retryd::commands
