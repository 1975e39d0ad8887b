// A network in front of the broker that understands AMQP, and fails at exactly the frame that a test names.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "faults/amqp_frame.h"
#include "faults/proxied.h"
#include "support/client.h"

namespace retryd::test {

/// Which frames a fault is for: counted over all connections, from the moment it is set.
struct When {
    Direction direction = Direction::to_broker;
    FrameType type = FrameType::method;
    MethodId method = 0;      // 0: any, or no method
    std::string marker = {};  // is somewhere in the frame
    int nth = 1;              // the first that it is for, of those that match
    int times = 1;            // and so many from there; `always`: all
    static constexpr int always = 1 << 30;
};

/// What happens in place of a frame's passing on.
using Fault = std::function<void(Proxied& connection, Direction direction, const Frame& frame)>;

/// Listens on a port of its own on 127.0.0.1. Relays frame by frame, as they come.
class FaultProxy {
  public:
    explicit FaultProxy(const Address& target);
    ~FaultProxy();
    FaultProxy(const FaultProxy&) = delete;
    FaultProxy& operator=(const FaultProxy&) = delete;

    /// The target's address with the proxy's port.
    const Address& address() const { return address_; }

    /// Its number, for matched(). Of two faults for one frame the one that was set first has it; both count it.
    std::size_t on(const When& when, Fault fault);
    /// How many frames have matched it so far, those before its nth included.
    int matched(std::size_t fault) const;
    bool await_matched(std::size_t fault, int frames = 1, milliseconds within = patience) const;

    /// No more faults; what hangs in the proxy is cut.
    void heal();
    /// Accepted since the beginning; a daemon that is connected has two.
    int accepted() const { return accepted_; }

  private:
    struct Rule {
        When when;
        Fault fault;
        int matched = 0;
    };

    void serve();
    void accept_one();
    void pass(Proxied& connection, Direction direction, const Frame& frame);

    Address target_;
    Address address_;
    int listener_ = -1;
    std::list<Rule> rules_;
    std::list<std::unique_ptr<Proxied>> connections_;
    mutable std::mutex mutex_;
    std::atomic<bool> ending_{false};
    std::atomic<int> accepted_{0};
    std::thread thread_;
};

}  // namespace retryd::test
