#include "faults/faults.h"

#include <algorithm>
#include <limits>

namespace retryd::test {

namespace fault {

namespace {

std::string first_half(const Frame& frame) {
    return frame.bytes.substr(0, frame.bytes.size() / 2);
}

Fault with_byte(std::size_t at, char byte) {
    return [at, byte](Proxied& connection, Direction direction, const Frame& frame) {
        std::string bytes = frame.bytes;
        bytes[std::min(at, bytes.size() - 1)] = byte;
        connection.send(direction, bytes);
    };
}

}  // namespace

Fault none() {
    return
        [](Proxied& connection, Direction direction, const Frame& frame) { connection.send(direction, frame.bytes); };
}

Fault swallow() {
    // Who has just sent something sends no heartbeat, and the other end would hear nothing.
    return [](Proxied& connection, Direction direction, const Frame&) {
        connection.send(direction, heartbeat_frame().bytes);
    };
}

Fault twice() {
    return [](Proxied& connection, Direction direction, const Frame& frame) {
        connection.send(direction, frame.bytes + frame.bytes);
    };
}

Fault late(milliseconds time) {
    return [time](Proxied& connection, Direction direction, const Frame& frame) {
        connection.hold(direction, time);
        connection.send(direction, frame.bytes);
    };
}

Fault nack() {
    return [](Proxied& connection, Direction direction, const Frame& frame) {
        // The same arguments; the bit for `requeue` is without meaning here.
        const std::string arguments = frame.bytes.substr(arguments_at, frame.bytes.size() - arguments_at - 1);
        connection.send(direction, method_frame(frame.channel(), method::basic_nack, arguments).bytes);
    };
}

Fault cut() {
    return [](Proxied& connection, Direction, const Frame&) { connection.cut(); };
}

Fault cut_in_the_middle() {
    return [](Proxied& connection, Direction direction, const Frame& frame) {
        connection.send(direction, first_half(frame));
        connection.cut();
    };
}

Fault half_then_silence() {
    return [](Proxied& connection, Direction direction, const Frame& frame) {
        connection.send(direction, first_half(frame));
        connection.go_silent();
    };
}

Fault stop_reading(std::size_t bytes_at_a_time) {
    return [=](Proxied& connection, Direction, const Frame&) { connection.stop_reading(bytes_at_a_time); };
}

Fault wrong_end() {
    return with_byte(std::numeric_limits<std::size_t>::max(), 'x');
}

Fault wrong_size() {
    return [](Proxied& connection, Direction direction, const Frame& frame) {
        constexpr std::size_t lowest_of_size = 6;
        std::string bytes = frame.bytes;
        ++bytes[lowest_of_size];
        connection.send(direction, bytes + heartbeat_frame().bytes);
    };
}

Fault unknown_method() {
    constexpr std::size_t lowest_of_class = 8;
    return with_byte(lowest_of_class, '\x7f');
}

Fault connection_close(std::uint16_t code, const std::string& text) {
    return [code, text](Proxied& connection, Direction, const Frame&) {
        const std::string arguments = short_of(code) + shortstr_of(text) + short_of(0) + short_of(0);
        connection.send(Direction::to_daemon, method_frame(0, method::connection_close, arguments).bytes);
        connection.cut_off_broker();
    };
}

Fault then_406() {
    return [](Proxied& connection, Direction direction, const Frame& frame) {
        const std::string unknown_tag = longlong_of(1'000'000) + std::string(1, '\0');
        connection.send(direction, frame.bytes + method_frame(frame.channel(), method::basic_ack, unknown_tag).bytes);
    };
}

Fault consumer_cancelled() {
    return [](Proxied& connection, Direction direction, const Frame& frame) {
        const std::string arguments = shortstr_of("whichever") + std::string(1, '\x01');  // no answer wanted
        connection.send(Direction::to_daemon, method_frame(frame.channel(), method::basic_cancel, arguments).bytes);
        connection.send(direction, frame.bytes);
    };
}

Fault to_no_exchange() {
    return [](Proxied& connection, Direction direction, const Frame& frame) {
        const std::string arguments =
            short_of(0) + shortstr_of("no-such-exchange") + shortstr_of("key") + std::string(1, '\x01');
        connection.send(direction, method_frame(frame.channel(), method::basic_publish, arguments).bytes);
    };
}

}  // namespace fault

When confirm(int nth) {
    return {.direction = Direction::to_daemon, .method = method::basic_ack, .nth = nth};
}

When publication(int nth) {
    return {.direction = Direction::to_broker, .type = FrameType::body, .nth = nth};
}

When publication_with(const std::string& marker) {
    return {.direction = Direction::to_broker, .type = FrameType::body, .marker = marker};
}

When delivery(int nth) {
    return {.direction = Direction::to_daemon, .type = FrameType::body, .nth = nth};
}

When ack(int nth) {
    return {.direction = Direction::to_broker, .method = method::basic_ack, .nth = nth};
}

When sent_by_daemon(std::uint16_t of_class, std::uint16_t number) {
    return {.direction = Direction::to_broker, .method = MethodId{of_class} << 16 | number};
}

When sent_by_broker(std::uint16_t of_class, std::uint16_t number) {
    return {.direction = Direction::to_daemon, .method = MethodId{of_class} << 16 | number};
}

}  // namespace retryd::test
