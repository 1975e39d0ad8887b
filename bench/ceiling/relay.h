// The ceiling: what can be carried over rabbitmq-c when nothing is read and nothing decided.
#pragma once

#include <cstdint>
#include <string>

#include "ceiling/connection.h"
#include "ceiling/outgoing.h"
#include "ceiling/tags.h"

namespace retryd::bench::ceiling {

struct Task {
    std::string uri;
    std::string queue;  // everything in it goes to this exchange with this key
    std::string exchange;
    std::string key;
    std::uint16_t prefetch = 500;
};

/// The n-th publication is the n-th delivery, so a confirm's number is the tag to ack.
class Relay {
  public:
    explicit Relay(const Task& task);

    /// Until `stop` is set: carries, and leaves what is not confirmed to the broker.
    void run(const volatile bool& stop);

  private:
    void take_confirms();
    bool take_deliveries();
    void ack();
    void wait();

    Connection consuming_;
    Connection publishing_;
    Outgoing outgoing_;
    Tags confirmed_;
    bool deliveries_there_ = true;
    bool confirms_there_ = false;
};

}  // namespace retryd::bench::ceiling
