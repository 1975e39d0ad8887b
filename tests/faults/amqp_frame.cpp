#include "faults/amqp_frame.h"

namespace retryd::test {

namespace {

constexpr std::size_t before_payload = 7;  // type, channel, size
constexpr std::size_t protocol_header = 8;
constexpr char frame_end = '\xce';

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t octets) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < octets; ++i)
        number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
    return number;
}

std::string octets_of(std::uint64_t number, std::size_t octets) {
    std::string bytes(octets, '\0');
    for (std::size_t i = octets; i-- > 0; number >>= 8)
        bytes[i] = static_cast<char>(number & 0xff);
    return bytes;
}

/// 0: not all of it is there yet.
std::size_t whole_frame(std::string_view bytes) {
    if (bytes.size() < protocol_header) return 0;
    if (bytes[0] == 'A') return protocol_header;
    const std::size_t size = before_payload + number_at(bytes, 3, 4) + 1;
    return bytes.size() < size ? 0 : size;
}

Frame frame_of(FrameType type, std::uint16_t channel, const std::string& payload) {
    return {std::string(1, static_cast<char>(type)) + short_of(channel) + octets_of(payload.size(), 4) + payload +
            frame_end};
}

}  // namespace

std::uint16_t Frame::channel() const {
    return static_cast<std::uint16_t>(number_at(bytes, 1, 2));
}

MethodId Frame::method() const {
    if (type() != FrameType::method) return 0;
    return static_cast<MethodId>(number_at(bytes, before_payload, 4));
}

std::vector<Frame> take_frames(std::string& read) {
    std::vector<Frame> frames;
    std::string_view left = read;
    while (const std::size_t size = whole_frame(left)) {
        frames.push_back({std::string(left.substr(0, size))});
        left.remove_prefix(size);
    }
    read.erase(0, read.size() - left.size());
    return frames;
}

Frame method_frame(std::uint16_t channel, MethodId id, std::string_view arguments) {
    return frame_of(FrameType::method, channel, octets_of(id, 4).append(arguments));
}

Frame heartbeat_frame() {
    return frame_of(FrameType::heartbeat, 0, "");
}

std::string short_of(std::uint16_t number) {
    return octets_of(number, 2);
}

std::string longlong_of(std::uint64_t number) {
    return octets_of(number, 8);
}

std::string shortstr_of(std::string_view text) {
    return octets_of(text.size(), 1).append(text);
}

}  // namespace retryd::test
