#include "fuzz/encoded.h"

#include <span>

#include "fuzz/require.h"

namespace retryd::fuzz {
namespace {

/// Room in a header frame of RabbitMQ's default frame_max: less the frame's own 8 bytes and the 14 before the
/// properties.
constexpr std::size_t frame_room = 131072 - 8 - 14;
constexpr std::size_t ample_room = std::size_t{1} << 20;

std::string encode(amqp_basic_properties_t& written) {
    static std::vector<char> room(ample_room);  // kept: clearing it would take longer than all the rest
    const int size = amqp_encode_properties(AMQP_BASIC_CLASS, &written, {room.size(), room.data()});
    require(size >= 0, "properties can be encoded where there is room");
    return {room.data(), static_cast<std::size_t>(size)};
}

}  // namespace

std::string encoded(const core::Table& table) {
    core::Properties properties;
    properties.headers = table;
    return encoded(properties);
}

std::string encoded(const core::Properties& properties) {
    amqp::Arena arena;
    amqp_basic_properties_t written = amqp::write_properties(properties, arena);
    return encode(written);
}

std::string encoded_by_library(amqp_basic_properties_t decoded) {
    constexpr amqp_flags_t all =
        AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG | AMQP_BASIC_HEADERS_FLAG |
        AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_PRIORITY_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG |
        AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_EXPIRATION_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TIMESTAMP_FLAG |
        AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_USER_ID_FLAG | AMQP_BASIC_APP_ID_FLAG | AMQP_BASIC_CLUSTER_ID_FLAG;
    decoded._flags &= all;
    return encode(decoded);
}

WireRoundTrip::WireRoundTrip() : room_(frame_room, '\0') {
    init_amqp_pool(&pool_, 4096);
}

WireRoundTrip::~WireRoundTrip() {
    empty_amqp_pool(&pool_);
}

std::optional<core::Properties> WireRoundTrip::send(const core::Properties& properties) {
    written_.reset();
    read_.reset();
    recycle_amqp_pool(&pool_);
    const std::string all = encoded(properties);
    amqp_basic_properties_t written = amqp::write_properties(properties, written_);
    const bool fits = amqp::fits(written, std::span(room_));
    require(fits == (all.size() <= frame_room), "fits() says what fits");
    if (!fits) return std::nullopt;
    require(room_.starts_with(all), "what fits() encodes is what is sent");
    void* decoded = nullptr;
    require(amqp_decode_properties(AMQP_BASIC_CLASS, &pool_, {all.size(), room_.data()}, &decoded) == AMQP_STATUS_OK,
            "what we send can be decoded");
    const auto read = amqp::read_properties(*static_cast<amqp_basic_properties_t*>(decoded), read_);
    require(read.has_value(), "what we send nests no deeper than what we read");
    require(encoded(*read) == all, "what arrives is what was sent");
    return read;
}

}  // namespace retryd::fuzz
