// Poison messages: the broker closes the channel or the connection instead of confirming them, and all that was in
// flight is delivered again. One of them would do so for ever, and its neighbours would never get through.
//
// So after such an end the redelivered ones are isolated: published one at a time, each after the confirm of the one
// before, until the poison message is found.
//
// What speaks against a message is the end of a connection on which it was in flight alone:
//
// - Evidence is an error with which the broker closed it. Two of them, and the message is poison.
// - An end without a word is the network's, as a rule. But a message may break connections without an error that says
//   so, and others that are confirmed beside it must not hide that for ever. So when three connections in a row have
//   ended so, each with something in flight that no connection got confirmed, messages are isolated; and what has then
//   been alone at five ends is poison.
// - A connection on which the broker had blocked us is no evidence, however it ended, nor is one that ended without a
//   word while a message was half sent: the broker may have stopped reading, about to report an alarm. No message is
//   isolated, nothing is counted, nothing forgiven. If the broker closed it with an error while a message was half
//   sent, that is no evidence either, but counts as an end without a word: a message of which the broker refuses the
//   beginning must not come again for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

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
        bool provoked = false;         // the broker closed it with an error; else it ended without one
        bool any_confirmed = false;
        bool redelivered_in_flight = false;  // what earlier connections had left open
        bool blocked = false;                // the broker was taking no messages, or had not while one was in flight
        bool half_sent = false;              // a message was
        std::string_view words;              // the broker's, where it said any
    };
    void connection_ended(const ConnectionEnd& end);

    /// Whether the message has, isolated, ended so many connections that it is not to be published again.
    bool is_poison(std::uint64_t digest) const;
    /// Of one that is_poison(): what speaks against it, in the broker's own words if it said any.
    std::string why_poison(std::uint64_t digest) const;

  private:
    /// What speaks against a message: connections that ended while it was in flight alone.
    struct Ends {
        int errors = 0;
        int silent = 0;
        std::string words;  // of the last error
    };

    void confirmed_alone(bool redelivered);

    std::size_t left_ = 0;                     // redelivered messages still to be confirmed
    std::optional<core::SteadyTime> until_;    // the end of the minute; set by the first tick
    std::optional<std::uint64_t> publishing_;  // digest of the message that is in flight alone
    /// The one that was in flight alone when the last connection ended. Isolation lasts until it is confirmed or
    /// dead-lettered, or the minute is over: others may be delivered before it.
    std::optional<std::uint64_t> suspect_;
    std::map<std::uint64_t, Ends> ends_;  // of each message
    int fruitless_connections_ =
        0;  // in a row: ended with something in flight that an earlier one had not got confirmed
};

}  // namespace retryd::relay
