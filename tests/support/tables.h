// Converts field tables between the test client's values and rabbitmq-c. Only for the test client's own sources.
#pragma once

#include <deque>
#include <vector>

#include "support/rabbitmq.h"
#include "support/value.h"

namespace retryd::test {

/// Holds what rabbitmq-c's tables point to. The values and this object must outlive their use.
class TableEncoder {
  public:
    amqp_table_t encode(const Table& table);

  private:
    amqp_field_value_t encode(const Value& value);
    amqp_array_t encode(const Array& array);

    std::deque<std::vector<amqp_table_entry_t>> tables_;
    std::deque<std::vector<amqp_field_value_t>> arrays_;
};

/// A copy that owns everything. Throws std::runtime_error on a type octet that AMQP 0-9-1 does not have.
Table decode(const amqp_table_t& table);

amqp_bytes_t bytes_of(const std::string& text);
std::string text_of(amqp_bytes_t bytes);

}  // namespace retryd::test
