// What a network or a broker can do to a frame, for FaultProxy::on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "faults/fault_proxy.h"

namespace retryd::test::fault {

Fault none();  // the frame is passed on, and counted
Fault swallow();
Fault twice();
Fault late(milliseconds time);  // with all that follows it
Fault nack();                   // in place of an ack

Fault cut();  // before the frame
Fault cut_in_the_middle();
Fault half_then_silence();
/// From this frame on the broker reads nothing more, or only a few bytes at a time; see Proxied::stop_reading.
Fault stop_reading(std::size_t bytes_at_a_time = 0);

Fault wrong_end();       // another end octet
Fault wrong_size();      // the size in the frame is one too large
Fault unknown_method();  // of a class that does not exist

/// The broker's connection.close in its place; the broker itself sees the connection end.
Fault connection_close(std::uint16_t code, const std::string& text);
/// The broker closes the channel with 406 right after the frame, because the proxy asks it for something impossible.
Fault then_406();
/// The broker's basic.cancel before the frame, on the consumer's channel, as when the node of the queue is lost.
Fault consumer_cancelled();
/// The publication goes to an exchange that does not exist: 404.
Fault to_no_exchange();

}  // namespace retryd::test::fault

namespace retryd::test {

// The frames that tests use most.
When confirm(int nth = 1);
When publication(int nth = 1);  // its body: the frames before it have passed
When publication_with(const std::string& marker);
When delivery(int nth = 1);  // its body
When ack(int nth = 1);
/// A method, by the numbers of its class and of itself.
When sent_by_daemon(std::uint16_t of_class, std::uint16_t number);
When sent_by_broker(std::uint16_t of_class, std::uint16_t number);
inline When every(When when) {
    when.times = When::always;
    return when;
}

}  // namespace retryd::test
