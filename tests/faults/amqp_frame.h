// AMQP 0-9-1 frames: parsed as far as a fault needs it, and composed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retryd::test {

enum class FrameType : std::uint8_t { method = 1, header = 2, body = 3, heartbeat = 8 };

/// class << 16 | method.
using MethodId = std::uint32_t;

namespace method {
inline constexpr MethodId connection_close = 10 << 16 | 50;
inline constexpr MethodId channel_close = 20 << 16 | 40;
inline constexpr MethodId queue_declare = 50 << 16 | 10;
inline constexpr MethodId queue_declare_ok = 50 << 16 | 11;
inline constexpr MethodId basic_cancel = 60 << 16 | 30;
inline constexpr MethodId basic_publish = 60 << 16 | 40;
inline constexpr MethodId basic_deliver = 60 << 16 | 60;
inline constexpr MethodId basic_ack = 60 << 16 | 80;
inline constexpr MethodId basic_nack = 60 << 16 | 120;
}  // namespace method

/// One complete frame with its end octet. A client's protocol header ("AMQP…") counts as a frame without a type.
struct Frame {
    std::string bytes;

    FrameType type() const { return static_cast<FrameType>(bytes[0]); }
    std::uint16_t channel() const;
    MethodId method() const;  // 0 where it is no method
};

/// Removes the complete frames from the front of what was read.
std::vector<Frame> take_frames(std::string& read);

/// Where a method's arguments begin.
inline constexpr std::size_t arguments_at = 11;

Frame method_frame(std::uint16_t channel, MethodId id, std::string_view arguments);
Frame heartbeat_frame();

// Arguments as they are encoded on the wire.
std::string short_of(std::uint16_t number);
std::string longlong_of(std::uint64_t number);
std::string shortstr_of(std::string_view text);

}  // namespace retryd::test
