// One connection through the fault proxy: its two directions, and what a fault may do to them.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "faults/amqp_frame.h"
#include "support/await.h"

namespace retryd::test {

enum class Direction { to_broker, to_daemon };

constexpr Direction opposite(Direction direction) {
    return direction == Direction::to_broker ? Direction::to_daemon : Direction::to_broker;
}

/// Not thread-safe: used by the proxy's thread only.
class Proxied {
  public:
    using Pass = std::function<void(Proxied&, Direction, const Frame&)>;

    Proxied(int daemon, int broker);  // sockets, which it owns
    ~Proxied();
    Proxied(const Proxied&) = delete;
    Proxied& operator=(const Proxied&) = delete;

    // For faults.

    void send(Direction direction, const std::string& bytes) { way(direction).out += bytes; }
    /// Both sides get what was sent to them, then the end of the connection.
    void cut() { cut_ = true; }
    /// The broker sees the end of the connection. The daemon gets what was sent to it, and has to close its side.
    void cut_off_broker();
    /// What was sent still arrives. From then on nothing is relayed and nothing is closed.
    void go_silent() { silent_ = true; }
    /// Nothing goes out in that direction for this time, including what was sent since the last frame.
    void hold(Direction direction, milliseconds time) { way(direction).held_until = Clock::now() + time; }
    /// To the daemon the broker is up but does not read: its heartbeats arrive, and every 300 ms it reads this many
    /// bytes.
    void stop_reading(std::size_t bytes_at_a_time);

    // For the proxy.

    void wants(std::vector<pollfd>& waiting) const;
    /// Relays what is there; false when the connection is over.
    bool relay(const Pass& pass);
    bool hangs() const { return silent_ || deaf_; }

  private:
    struct Way {
        int from = -1;
        int to = -1;
        std::string in;   // not a complete frame yet
        std::string out;  // to be written
        Clock::time_point held_until = {};
        bool ended = false;      // `from` has ended
        bool passed_on = false;  // and `to` was shut down
    };

    Way& way(Direction direction) { return ways_[static_cast<std::size_t>(direction)]; }
    const Way& way(Direction direction) const { return ways_[static_cast<std::size_t>(direction)]; }
    bool reads(Direction direction) const;
    void take_in(Direction direction, const Pass& pass);
    void flush(Way& way);
    void pretend_to_live();

    std::array<Way, 2> ways_;
    bool cut_ = false;
    bool silent_ = false;
    bool deaf_ = false;
    std::string hardly_read_;  // buffer for what is read while deaf
    bool broken_ = false;
    Clock::time_point next_sign_ = {};
};

}  // namespace retryd::test
