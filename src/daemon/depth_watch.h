// Counts the messages in the queues that retryd looks after: on a connection and in a thread of its own, so that a
// queue that does not answer holds up nothing else.
//
// It asks for no more than a hundred queues a second, for each at most every five seconds, and seldom for those that
// are not there: the broker logs each such question.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "config/settings.h"
#include "core/time.h"
#include "daemon/inventory.h"
#include "telemetry/tally.h"

namespace retryd::daemon {

struct DepthState;

class DepthWatch {
  public:
    /// Whose queues are counted, and where.
    struct Subject {
        std::shared_ptr<const config::Settings> settings;
        config::Endpoint endpoint;
        bool operator==(const Subject&) const = default;
    };
    struct Seen {
        Inventory inventory;
        /// Of the last minute: what is older might be wrong by now.
        std::map<std::string, std::uint64_t> messages;
        std::optional<core::WallTime> counted;  // the last one
        std::string fault;                      // why nothing is counted; empty where it is
    };

    /// Counts nothing yet. `tally` names queues that are made while messages go by.
    explicit DepthWatch(std::shared_ptr<const telemetry::Tally> tally);
    /// Cuts its connection. A thread that hangs all the same is left behind after a second; it touches nothing but
    /// what it owns.
    ~DepthWatch();
    DepthWatch(const DepthWatch&) = delete;
    DepthWatch& operator=(const DepthWatch&) = delete;

    /// From now on; nothing: no broker is there to ask. The same again changes nothing.
    void watch(const std::optional<Subject>& subject);

    Seen seen() const;

  private:
    std::shared_ptr<DepthState> state_;
    std::thread thread_;
};

}  // namespace retryd::daemon
