// Messages that the broker is busy with writing, for minutes (headers that nest tens of thousands of levels deep), each
// on a connection of its own that nobody waits for. So they are in nobody's way while what is behind them in the queue
// has to come one at a time (relay/head_trial.h), or ends connections (amqp/poison_head.h): it would end the one that
// they are on, too, and the broker would begin them anew.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/time.h"

namespace retryd::amqp {

class HeadGlance;

/// Belongs to one thread.
class HeldHeads {
  public:
    /// Each keeps the broker busy: more than these would make it slow for all.
    static constexpr std::size_t most_held = 32;

    HeldHeads();
    ~HeldHeads();
    HeldHeads(const HeldHeads&) = delete;
    HeldHeads& operator=(const HeldHeads&) = delete;

    /// Takes over what has seen nothing but silence. False, and drops it, if there are too many.
    bool keep(std::unique_ptr<HeadGlance> head);
    std::size_t size() const { return heads_.size(); }

    /// To be called several times a second: what the broker has written after all goes back to the queue. Costs nothing
    /// while none is held.
    void turn(core::SteadyTime now);
    /// All go back to the queue. The broker begins them anew, which is the matter of whoever gets them.
    void release();

  private:
    std::vector<std::unique_ptr<HeadGlance>> heads_;
    core::SteadyTime due_{};
};

}  // namespace retryd::amqp
