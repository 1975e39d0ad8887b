// Frames that are sent together: one call into the kernel takes many publications instead of three for each.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "amqp/rabbitmq.h"
#include "amqp/topology_commands.h"

namespace retryd::amqp {

/// Whole frames, one behind the other, as they go over the wire.
class FrameBuffer {
  public:
    /// No frame gets larger, its head and end included.
    explicit FrameBuffer(std::size_t frame_max) : frame_max_(frame_max) {}

    /// The status of rabbitmq-c. Nothing is added where it is not AMQP_STATUS_OK.
    int add_method(Channel channel, amqp_method_number_t id, void* method);
    /// False where the properties do not fit a frame: nothing is added.
    bool add_header(Channel channel, const amqp_basic_properties_t& properties, std::size_t body_size);
    /// A copy; of at most largest_fragment().
    void add_body(Channel channel, std::string_view fragment);
    /// The head of a body frame alone: fragment and frame_end have to be sent right behind all this.
    void open_body(Channel channel, std::size_t fragment_size);

    std::size_t largest_fragment() const { return frame_max_ - overhead; }
    static constexpr std::string_view frame_end{"\xce", 1};

    std::string_view bytes() const { return {room_.data(), size_}; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    /// Forgets all but the first so many bytes.
    void cut(std::size_t size) { size_ = size; }

  private:
    static constexpr std::size_t head = 7;  // type, channel, size
    static constexpr std::size_t overhead = head + 1;

    char* room_for(std::size_t bytes);
    /// Its payload lies there already.
    void add_frame(int type, Channel channel, std::size_t payload_size);
    void write_head(int type, Channel channel, std::size_t payload_size);

    std::size_t frame_max_;
    std::vector<char> room_;  // its first size_ bytes are in use
    std::size_t size_ = 0;
};

}  // namespace retryd::amqp
