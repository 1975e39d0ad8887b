// Poison messages: the broker closes the channel or the connection instead of confirming them, and all that was in
// flight is delivered again. One of them would do so for ever, and its neighbours would never get through.
//
// So after such an end the redelivered ones are isolated: published one at a time, each after the confirm of the one
// before, until the poison message is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "core/time.h"

namespace retryd::relay {

/// Lives longer than a Relay: what ends a connection has to be recognised on the next one.
class PoisonDetector {
  public:
    /// From now on publications go one at a time, until so many redelivered ones were confirmed (those that were in
    /// flight when the broker broke off), or for a minute: another daemon may have got them.
    void isolate(std::size_t deliveries);
    bool isolating() const { return left_ > 0 || suspect_; }
    /// No more: the poison message has been found and dead-lettered.
    void stop_isolating();
    /// True when the minute has just ended.
    bool on_tick(core::SteadyTime now);

    /// While isolating: the publication of the message with that core::digest() is under way.
    void publishing(std::uint64_t digest) { publishing_ = digest; }
    /// A publication was confirmed. `redelivered`: only such ones were in flight when the broker broke off.
    void confirmed(bool redelivered) {
        if (publishing_ || left_ > 0) confirmed_alone(redelivered);
    }
    /// One that is_poison() was delivered again and is dead-lettered: the others stay isolated, for it may not have
    /// been the only one.
    void dead_lettered(std::uint64_t digest);

    /// How a connection ended.
    struct ConnectionEnd {
        std::size_t in_flight = 0;
        std::size_t redeliveries = 0;  // deliveries that will come again: in flight, or not acked yet
        bool provoked = false;         // the broker closed it with an error; else it ended without a word
        bool any_confirmed = false;
    };
    void connection_ended(const ConnectionEnd& end);

    /// Whether the message has, isolated, ended so many connections that it is not to be published again.
    bool is_poison(std::uint64_t digest) const;

  private:
    void confirmed_alone(bool redelivered);

    std::size_t left_ = 0;                     // redelivered messages still to be confirmed
    std::optional<core::SteadyTime> until_;    // the end of the minute; set by the first tick
    std::optional<std::uint64_t> publishing_;  // digest of the message that is in flight alone
    /// The one that was in flight alone when the last connection ended. Isolation lasts until it is confirmed or
    /// dead-lettered, or the minute is over: others may be delivered before it.
    std::optional<std::uint64_t> suspect_;
    std::map<std::uint64_t, int> strikes_;  // for each message: how much speaks against it
    int fruitless_connections_ = 0;         // in a row: ended with messages in flight and none confirmed
};

}  // namespace retryd::relay
