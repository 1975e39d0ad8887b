// Looks at every message of a queue once, and puts all of them back in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "amqp/queue_io.h"
#include "amqp/undeliverable.h"
#include "commands/common/broker.h"
#include "commands/common/progress.h"
#include "config/settings.h"
#include "core/message.h"
#include "core/time.h"

namespace retryd::commands {

/// How many deliveries are read before other work gets its turn.
inline constexpr std::size_t messages_per_turn = 128;

/// Notices that a queue delivers nothing more although more messages were expected: another consumer takes them too, or
/// the broker does not deliver to us.
class StallDetector {
  public:
    /// `broker` must outlive it.
    StallDetector(Broker& broker, std::string queue) : broker_(broker), queue_(std::move(queue)) {}

    /// `delivered`: the number of messages so far. Asks the broker if none has come for a while. Throws amqp::Error.
    bool stalled(std::size_t delivered);
    /// Why, if messages are left that the broker does not deliver to us; else empty.
    const std::string& reason() const { return reason_; }

  private:
    Broker& broker_;
    std::string queue_;
    std::string reason_;
    int times_asked_ = 0;
    std::size_t delivered_ = 0;
    core::SteadyTime since_ = broker_.now();
};

struct BrowseResult {
    std::size_t messages = 0;
    bool interrupted = false;
    std::string ended;               // why the broker ended it before all messages were seen
    bool met_undeliverable = false;  // that was because of an undeliverable message
};

/// `delivery` is null for a message whose headers cannot be read. Returns false once it has seen enough.
using Visitor = std::function<bool(const core::Delivery* delivery)>;

/// Called often with the number of messages so far, including those that are kept unacked only for the order.
using LookProgress = std::function<void(std::size_t messages)>;

/// Looks at most at `count` messages from the head of one queue; ParkingQueuesBrowser looks at all parking queues. Ends
/// early when a stop is pending. `taker` is kept alive meanwhile; it may be null. Throws amqp::Error.
BrowseResult browse_one_queue(const config::Settings& settings, Broker& broker, const std::string& queue,
                              std::size_t count, const StopSign& stop, const Visitor& visit,
                              const LookProgress& progress, amqp::UndeliverableTaker* taker);

/// The largest prefetch. Tests that need several consumers set fewer in RETRYD_TEST_WINDOW, because 65,536 messages
/// take long.
inline std::size_t unacked_by_one_consumer() {
    const char* fewer = std::getenv("RETRYD_TEST_WINDOW");  // NOLINT(concurrency-mt-unsafe)
    const auto number = fewer == nullptr ? 0 : std::strtoul(fewer, nullptr, 10);
    return number == 0 ? amqp::QueueReader::most_unacked
                       : std::min<std::size_t>(number, amqp::QueueReader::most_unacked);
}

}  // namespace retryd::commands
