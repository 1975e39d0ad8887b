// Tables and properties as the other side gets them: written, encoded, decoded by rabbitmq-c, and read again.
#pragma once

#include <optional>
#include <vector>

#include "amqp/codec.h"
#include "support/catch.h"

namespace retryd::test {

class OverTheWire {
  public:
    OverTheWire() { init_amqp_pool(&pool_, 4096); }
    ~OverTheWire() { empty_amqp_pool(&pool_); }
    OverTheWire(const OverTheWire&) = delete;
    OverTheWire& operator=(const OverTheWire&) = delete;

    /// Views live as long as this object.
    std::optional<core::Table> operator()(const core::Table& table) {
        amqp_table_t written = amqp::write_table(table, written_);
        std::size_t size = 0;
        REQUIRE(amqp_encode_table({room_.size(), room_.data()}, &written, &size) == AMQP_STATUS_OK);
        std::size_t offset = 0;
        REQUIRE(amqp_decode_table({size, room_.data()}, &pool_, &decoded_, &offset) == AMQP_STATUS_OK);
        REQUIRE(offset == size);
        return amqp::read_table(decoded_, read_);
    }

    std::optional<core::Properties> operator()(const core::Properties& properties) {
        amqp_basic_properties_t written = amqp::write_properties(properties, written_);
        const int size = amqp_encode_properties(AMQP_BASIC_CLASS, &written, {room_.size(), room_.data()});
        REQUIRE(size > 0);
        void* decoded = nullptr;
        REQUIRE(amqp_decode_properties(AMQP_BASIC_CLASS, &pool_, {static_cast<std::size_t>(size), room_.data()},
                                       &decoded) == AMQP_STATUS_OK);
        return amqp::read_properties(*static_cast<amqp_basic_properties_t*>(decoded), read_);
    }

  private:
    std::vector<char> room_ = std::vector<char>(std::size_t{8} << 20);
    amqp_pool_t pool_;
    amqp_table_t decoded_{};
    amqp::Arena written_;
    amqp::Arena read_;
};

}  // namespace retryd::test
