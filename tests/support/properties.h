// Converts properties between the test client's messages and rabbitmq-c. Only for the test client's own sources.
#pragma once

#include "support/message.h"
#include "support/tables.h"

namespace retryd::test {

/// Points into `message` and `encoder`.
amqp_basic_properties_t encode_properties(const Message& message, TableEncoder& encoder);
void decode_properties(const amqp_basic_properties_t& properties, Message& message);

}  // namespace retryd::test
