#include "amqp/send.h"

#include <algorithm>

#include "amqp/codec.h"

namespace retryd::amqp {

namespace {

constexpr std::size_t frame_overhead = 8;    // type, channel, size; end
constexpr std::size_t header_overhead = 12;  // class, weight, body size
/// So much goes out between two looks at whether the socket has room; small against its buffer.
constexpr std::size_t bytes_between_looks = std::size_t{64} * 1024;
/// A body beyond this is sent from where it lies: one more call into the kernel costs less than a copy.
constexpr std::size_t largest_copy = std::size_t{16} * 1024;

constexpr amqp_boolean_t mandatory = 1;
constexpr amqp_boolean_t immediate = 0;

}  // namespace

Publisher::Publisher(FrameSocket& wire) : socket_(wire) {
    if (!wire.plain()) header_room_.resize(wire.frame_max() - frame_overhead - header_overhead);
}

relay::PublishResult Publisher::publish(Channel channel, const core::Publication& publication) {
    if (unlooked_ >= bytes_between_looks && !flush()) return relay::PublishResult::would_block;
    socket_.require_signs_of_life();
    arena_.reset();
    const amqp_basic_properties_t properties = write_properties(publication.message.properties, arena_);
    const bool fitted =
        socket_.plain() ? gather(channel, publication, properties) : send(channel, publication, properties);
    return fitted ? relay::PublishResult::sent : relay::PublishResult::header_too_large;
}

bool Publisher::flush() {
    if (unlooked_ >= bytes_between_looks) {
        if (!socket_.writable()) return false;
        unlooked_ = 0;
    }
    socket_.flush();
    return true;
}

bool Publisher::gather(Channel channel, const core::Publication& publication,
                       const amqp_basic_properties_t& properties) {
    FrameBuffer& frames = socket_.unsent();
    const std::size_t before = frames.size();
    amqp_basic_publish_t method{0, bytes_of(publication.exchange), bytes_of(publication.routing_key), mandatory,
                                immediate};
    socket_.require(frames.add_method(channel, AMQP_BASIC_PUBLISH_METHOD, &method));
    const std::string_view body = publication.message.body;
    if (!frames.add_header(channel, properties, body.size())) {
        frames.cut(before);
        return false;
    }
    unlooked_ += frames.size() - before + body.size();
    gather_body(channel, body);
    return true;
}

void Publisher::gather_body(Channel channel, std::string_view body) {
    FrameBuffer& frames = socket_.unsent();
    const bool copied = body.size() <= largest_copy;
    for (; !body.empty(); body.remove_prefix(std::min(body.size(), frames.largest_fragment()))) {
        const std::string_view fragment = body.substr(0, frames.largest_fragment());
        if (copied) {
            frames.add_body(channel, fragment);
        } else {
            frames.open_body(channel, fragment.size());
            socket_.flush_with(fragment, FrameBuffer::frame_end);
        }
    }
}

bool Publisher::send(Channel channel, const core::Publication& publication, const amqp_basic_properties_t& properties) {
    const std::string_view body = publication.message.body;
    if (!fits(properties, header_room_)) return false;
    socket_.require(amqp_basic_publish(socket_.state(), channel, bytes_of(publication.exchange),
                                       bytes_of(publication.routing_key), mandatory, immediate, &properties,
                                       bytes_of(body)));
    // rabbitmq-c marks a body frame that is exactly full with MSG_MORE even when it is the last one, and the kernel
    // then holds the end of it back for 200 ms, waiting for more. A heartbeat is more.
    if (!body.empty() && body.size() % (socket_.frame_max() - frame_overhead) == 0) socket_.send_heartbeat();
    unlooked_ += body.size();
    return true;
}

}  // namespace retryd::amqp
