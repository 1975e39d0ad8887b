#include "amqp/frame_buffer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace retryd::amqp {
namespace {

template <std::size_t Bytes>
void write_number(char* to, std::uint64_t number) {
    for (std::size_t i = 0; i < Bytes; ++i)
        to[i] = static_cast<char>(number >> (8 * (Bytes - 1 - i)));
}

}  // namespace

char* FrameBuffer::room_for(std::size_t bytes) {
    if (room_.size() < size_ + bytes) room_.resize(size_ + bytes);
    return room_.data() + size_;
}

void FrameBuffer::write_head(int type, Channel channel, std::size_t payload_size) {
    char* const to = room_for(head);
    write_number<1>(to, static_cast<std::uint64_t>(type));
    write_number<2>(to + 1, channel);
    write_number<4>(to + 3, payload_size);
    size_ += head;
}

void FrameBuffer::add_frame(int type, Channel channel, std::size_t payload_size) {
    write_head(type, channel, payload_size);
    size_ += payload_size;
    *room_for(1) = frame_end.front();
    ++size_;
}

int FrameBuffer::add_method(Channel channel, amqp_method_number_t id, void* method) {
    constexpr std::size_t number = 4;
    char* const payload = room_for(frame_max_) + head;
    write_number<number>(payload, id);
    const int size = amqp_encode_method(id, method, {largest_fragment() - number, payload + number});
    if (size < 0) return size;
    add_frame(AMQP_FRAME_METHOD, channel, number + static_cast<std::size_t>(size));
    return AMQP_STATUS_OK;
}

bool FrameBuffer::add_header(Channel channel, const amqp_basic_properties_t& properties, std::size_t body_size) {
    constexpr std::size_t fixed = 12;  // class, weight, body size
    char* const payload = room_for(frame_max_) + head;
    write_number<2>(payload, AMQP_BASIC_CLASS);
    write_number<2>(payload + 2, 0);
    write_number<8>(payload + 4, body_size);
    auto* const decoded = const_cast<amqp_basic_properties_t*>(&properties);  // read only
    const int size = amqp_encode_properties(AMQP_BASIC_CLASS, decoded, {largest_fragment() - fixed, payload + fixed});
    if (size < 0) return false;
    add_frame(AMQP_FRAME_HEADER, channel, fixed + static_cast<std::size_t>(size));
    return true;
}

void FrameBuffer::add_body(Channel channel, std::string_view fragment) {
    std::memcpy(room_for(overhead + fragment.size()) + head, fragment.data(), fragment.size());
    add_frame(AMQP_FRAME_BODY, channel, fragment.size());
}

void FrameBuffer::open_body(Channel channel, std::size_t fragment_size) {
    write_head(AMQP_FRAME_BODY, channel, fragment_size);
}

}  // namespace retryd::amqp
