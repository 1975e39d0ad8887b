// A proxy in front of the broker that understands AMQP and fails at exactly the frame that a test names.
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

/// Which frames a fault applies to. They are counted over all connections, from the moment at which it is set.
struct When {
    Direction direction = Direction::to_broker;
    FrameType type = FrameType::method;
    MethodId method = 0;      // 0: any, or no method
    std::string marker = {};  // bytes that the frame contains
    int nth = 1;              // of the frames that match, the first that it applies to
    int times = 1;            // and to how many from there; `always`: to all
    static constexpr int always = 1 << 30;
};

/// What happens to a frame instead of being passed on.
using Fault = std::function<void(Proxied& connection, Direction direction, const Frame& frame)>;

/// Listens on a port of its own on 127.0.0.1 and relays frame by frame.
class FaultProxy {
  public:
    explicit FaultProxy(const Address& target);
    ~FaultProxy();
    FaultProxy(const FaultProxy&) = delete;
    FaultProxy& operator=(const FaultProxy&) = delete;

    /// The target's address with the proxy's port.
    const Address& address() const { return address_; }

    /// Returns the fault's number, for matched(). If two faults apply to a frame, the one that was set first happens;
    /// both count the frame.
    std::size_t on(const When& when, Fault fault);
    /// How many frames have matched so far, including those before the nth.
    int matched(std::size_t fault) const;
    bool await_matched(std::size_t fault, int frames = 1, milliseconds within = patience) const;

    /// Ends all faults and cuts the connections that hang in the proxy.
    void heal();
    /// How many connections it has accepted so far; a daemon has two at a time.
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
