// Messages on which the broker may choke: it closes the channel or the connection instead of confirming, and everything
// that was in flight comes again. One of them would do so for ever, and its neighbours would never get through.
//
// So after such an end the redelivered ones are tried alone, one after the other, until the guilty one is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "core/time.h"

namespace retryd::relay {

/// Lives longer than a Relay: what closes a connection has to be recognised on the next.
class PoisonDetector {
  public:
    /// So many deliveries were in flight when the broker broke off. From now on each publication waits for the one
    /// before, until so many redelivered ones came through or the time is over: another daemon may have got them.
    void raise(std::size_t deliveries);
    bool alone() const { return left_ > 0 || accused_; }
    /// True when that time has just ended.
    bool on_tick(core::SteadyTime now);

    /// A publication is under way alone; `digest` is its delivery's.
    void trying(std::uint64_t digest) { tried_ = digest; }
    /// It was confirmed. Those that were in flight then are redelivered; others do not count.
    void clear(bool redelivered);
    /// The guilty one has been found, and is dealt with.
    void found();
    /// One that is condemned() is dealt with again: the others remain suspect, for it may not have been the only one.
    void seen_again(std::uint64_t digest);

    /// How a connection broke.
    struct Break {
        std::size_t in_flight = 0;
        std::size_t unsettled = 0;  // deliveries that will come again, those in flight or not yet acked among them
        bool provoked = false;      // the broker closed it with an error; else it ended without a word
        bool any_confirmed = false;
    };
    void connection_broke(const Break& broke);

    /// Whether it has, alone, ended so many connections that it is not to be tried again.
    bool is_poison(std::uint64_t digest) const;

  private:
    std::size_t left_ = 0;
    std::optional<core::SteadyTime> until_;  // set by the first tick
    std::optional<std::uint64_t> tried_;
    std::optional<std::uint64_t> accused_;  // was in flight alone when the connection broke; others may come before it
    int fruitless_ = 0;  // connections in a row that broke with deliveries in flight and none confirmed
    std::map<std::uint64_t, int> strikes_;  // of deliveries that were in flight alone when the connection broke
};

}  // namespace retryd::relay
