#include "support/properties.h"

namespace retryd::test {

namespace {

struct TextProperty {
    std::optional<std::string> Properties::*member;
    amqp_bytes_t amqp_basic_properties_t::*wire;
    amqp_flags_t flag;
};

constexpr TextProperty text_properties[] = {
    {&Properties::content_type, &amqp_basic_properties_t::content_type, AMQP_BASIC_CONTENT_TYPE_FLAG},
    {&Properties::content_encoding, &amqp_basic_properties_t::content_encoding, AMQP_BASIC_CONTENT_ENCODING_FLAG},
    {&Properties::correlation_id, &amqp_basic_properties_t::correlation_id, AMQP_BASIC_CORRELATION_ID_FLAG},
    {&Properties::reply_to, &amqp_basic_properties_t::reply_to, AMQP_BASIC_REPLY_TO_FLAG},
    {&Properties::expiration, &amqp_basic_properties_t::expiration, AMQP_BASIC_EXPIRATION_FLAG},
    {&Properties::message_id, &amqp_basic_properties_t::message_id, AMQP_BASIC_MESSAGE_ID_FLAG},
    {&Properties::type, &amqp_basic_properties_t::type, AMQP_BASIC_TYPE_FLAG},
    {&Properties::user_id, &amqp_basic_properties_t::user_id, AMQP_BASIC_USER_ID_FLAG},
    {&Properties::app_id, &amqp_basic_properties_t::app_id, AMQP_BASIC_APP_ID_FLAG},
    {&Properties::cluster_id, &amqp_basic_properties_t::cluster_id, AMQP_BASIC_CLUSTER_ID_FLAG},
};

}  // namespace

amqp_basic_properties_t encode_properties(const Message& message, TableEncoder& encoder) {
    amqp_basic_properties_t out{};
    for (const TextProperty& property : text_properties) {
        const std::optional<std::string>& text = message.properties.*property.member;
        if (!text) continue;
        out.*property.wire = bytes_of(*text);
        out._flags |= property.flag;
    }
    if (message.properties.delivery_mode) {
        out.delivery_mode = *message.properties.delivery_mode;
        out._flags |= AMQP_BASIC_DELIVERY_MODE_FLAG;
    }
    if (message.properties.priority) {
        out.priority = *message.properties.priority;
        out._flags |= AMQP_BASIC_PRIORITY_FLAG;
    }
    if (message.properties.timestamp) {
        out.timestamp = *message.properties.timestamp;
        out._flags |= AMQP_BASIC_TIMESTAMP_FLAG;
    }
    if (!message.headers.empty()) {
        out.headers = encoder.encode(message.headers);
        out._flags |= AMQP_BASIC_HEADERS_FLAG;
    }
    return out;
}

void decode_properties(const amqp_basic_properties_t& properties, Message& message) {
    for (const TextProperty& property : text_properties) {
        if ((properties._flags & property.flag) != 0)
            message.properties.*property.member = text_of(properties.*property.wire);
    }
    if ((properties._flags & AMQP_BASIC_DELIVERY_MODE_FLAG) != 0)
        message.properties.delivery_mode = properties.delivery_mode;
    if ((properties._flags & AMQP_BASIC_PRIORITY_FLAG) != 0) message.properties.priority = properties.priority;
    if ((properties._flags & AMQP_BASIC_TIMESTAMP_FLAG) != 0) message.properties.timestamp = properties.timestamp;
    if ((properties._flags & AMQP_BASIC_HEADERS_FLAG) != 0) message.headers = decode(properties.headers);
}

}  // namespace retryd::test
