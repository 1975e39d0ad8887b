// The properties' half of tables.h. Which of them a message has stands in a bit mask; the fields of those it does not
// have hold garbage after a decode, since rabbitmq-c reuses memory.
#include <array>

#include "amqp/tables.h"

namespace retryd::amqp {
namespace {

struct Text {
    amqp_flags_t flag;
    std::optional<std::string_view> core::Properties::*ours;
    amqp_bytes_t amqp_basic_properties_t::*theirs;
};

using Ours = core::Properties;
using Theirs = amqp_basic_properties_t;

constexpr std::array texts{
    Text{AMQP_BASIC_CONTENT_TYPE_FLAG, &Ours::content_type, &Theirs::content_type},
    Text{AMQP_BASIC_CONTENT_ENCODING_FLAG, &Ours::content_encoding, &Theirs::content_encoding},
    Text{AMQP_BASIC_CORRELATION_ID_FLAG, &Ours::correlation_id, &Theirs::correlation_id},
    Text{AMQP_BASIC_REPLY_TO_FLAG, &Ours::reply_to, &Theirs::reply_to},
    Text{AMQP_BASIC_EXPIRATION_FLAG, &Ours::expiration, &Theirs::expiration},
    Text{AMQP_BASIC_MESSAGE_ID_FLAG, &Ours::message_id, &Theirs::message_id},
    Text{AMQP_BASIC_TYPE_FLAG, &Ours::type, &Theirs::type},
    Text{AMQP_BASIC_USER_ID_FLAG, &Ours::user_id, &Theirs::user_id},
    Text{AMQP_BASIC_APP_ID_FLAG, &Ours::app_id, &Theirs::app_id},
    Text{AMQP_BASIC_CLUSTER_ID_FLAG, &Ours::cluster_id, &Theirs::cluster_id},
};

constexpr amqp_flags_t headers_flag = AMQP_BASIC_HEADERS_FLAG;
constexpr amqp_flags_t delivery_mode_flag = AMQP_BASIC_DELIVERY_MODE_FLAG;
constexpr amqp_flags_t priority_flag = AMQP_BASIC_PRIORITY_FLAG;
constexpr amqp_flags_t timestamp_flag = AMQP_BASIC_TIMESTAMP_FLAG;

}  // namespace

std::optional<core::Properties> read_properties(const amqp_basic_properties_t& properties, Arena& arena) {
    core::Properties to;
    for (const Text& text : texts) {
        if ((properties._flags & text.flag) != 0) to.*text.ours = view_of(properties.*text.theirs);
    }
    if ((properties._flags & headers_flag) != 0) {
        to.headers = read_table(properties.headers, arena);
        if (!to.headers) return std::nullopt;
    }
    if ((properties._flags & delivery_mode_flag) != 0) to.delivery_mode = properties.delivery_mode;
    if ((properties._flags & priority_flag) != 0) to.priority = properties.priority;
    if ((properties._flags & timestamp_flag) != 0) to.timestamp = properties.timestamp;
    return to;
}

amqp_basic_properties_t write_properties(const core::Properties& properties, Arena& arena) {
    amqp_basic_properties_t to{};
    for (const Text& text : texts) {
        const auto& value = properties.*text.ours;
        if (!value) continue;
        to._flags |= text.flag;
        to.*text.theirs = bytes_of(*value);
    }
    if (properties.headers) {
        to._flags |= headers_flag;
        to.headers = write_table(*properties.headers, arena);
    }
    if (properties.delivery_mode) {
        to._flags |= delivery_mode_flag;
        to.delivery_mode = *properties.delivery_mode;
    }
    if (properties.priority) {
        to._flags |= priority_flag;
        to.priority = *properties.priority;
    }
    if (properties.timestamp) {
        to._flags |= timestamp_flag;
        to.timestamp = *properties.timestamp;
    }
    return to;
}

bool fits(const amqp_basic_properties_t& properties, std::span<char> room) {
    auto* const decoded = const_cast<amqp_basic_properties_t*>(&properties);  // read only, as its counterpart for bytes
    return amqp_encode_properties(AMQP_BASIC_CLASS, decoded, {room.size(), room.data()}) >= 0;
}

}  // namespace retryd::amqp
