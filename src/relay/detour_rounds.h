// Which detour the messages take that wait for the same thing.
#pragma once

#include <cstddef>

#include "core/time.h"

namespace retryd::relay {

class DetourRounds {
  public:
    /// The index into core::detour_delays for one more message: as long as the trouble has lasted, so that what waits
    /// is late by about as much again; or longer, where so many wait that their rounds would be a load.
    std::size_t choose(core::Milliseconds trouble_age, core::SteadyTime now);
    /// It has taken that one.
    void add() { ++messages_; }

  private:
    /// Since then so many have taken a detour: about as many as are on one, for it begins anew with each round.
    std::size_t messages_ = 0;
    core::SteadyTime since_{};
};

}  // namespace retryd::relay
