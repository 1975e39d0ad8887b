// Holds frames back in the proxy until the test lets them through.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "faults/faults.h"

namespace retryd::test {

/// Holds those frames of all connections back until open(). They are let through with the next heartbeat in their
/// direction, so a test that uses this needs a short heartbeat interval.
class Gate {
  public:
    /// `then` happens to each of them once the gate is open.
    Gate(FaultProxy& network, const When& frames, Fault then = fault::none())
        : state_(std::make_shared<State>(std::move(then))) {
        const When heartbeats{.direction = frames.direction, .type = FrameType::heartbeat};
        network.on(every(heartbeats), [state = state_](Proxied& connection, Direction direction, const Frame& frame) {
            if (state->open) state->release(connection, direction);
            connection.send(direction, frame.bytes);
        });
        frames_ =
            network.on(every(frames), [state = state_](Proxied& connection, Direction direction, const Frame& frame) {
                state->kept[&connection].push_back(frame);
                if (state->open) state->release(connection, direction);
            });
    }

    void open() { state_->open = true; }
    /// For FaultProxy::matched.
    std::size_t frames() const { return frames_; }

  private:
    struct State {
        explicit State(Fault fault) : then(std::move(fault)) {}
        void release(Proxied& connection, Direction direction) {
            for (const Frame& frame : std::exchange(kept[&connection], {}))
                then(connection, direction, frame);
        }

        const Fault then;
        std::map<const Proxied*, std::vector<Frame>> kept;  // used by the proxy's thread only
        std::atomic<bool> open{false};
    };

    std::shared_ptr<State> state_;
    std::size_t frames_ = 0;
};

}  // namespace retryd::test
