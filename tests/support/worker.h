// A consumer of a work queue, like a team's service.
#pragma once

#include <cstdint>
#include <string>

#include "support/client.h"

namespace retryd::test {

class Worker {
  public:
    explicit Worker(const std::string& queue, std::uint16_t prefetch = 100);

    /// The next message. Fails the test when none comes in time.
    Received receive(milliseconds within = patience);
    /// Whether nothing at all arrives for that long.
    bool stays_idle(milliseconds period) { return !client.next(period).has_value(); }

    void ack(const Received& message) { client.ack(message.tag); }
    void reject(const Received& message) { client.reject(message.tag, false); }

    Client client;

  private:
    std::string queue_;
};

}  // namespace retryd::test
