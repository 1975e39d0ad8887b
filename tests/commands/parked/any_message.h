// Messages with anything in them that AMQP can carry.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/message.h"
#include "core/value.h"

namespace retryd::commands::any_message {

using core::Kind;
using core::Value;

/// Messages with anything in them that AMQP can carry. Owns what it has made.
class AnyMessage {
  public:
    explicit AnyMessage(std::uint32_t seed) : dice_(seed) {}

    core::Message make() {
        core::Message message;
        core::Properties& properties = message.properties;
        for (auto* text : {&properties.content_type, &properties.correlation_id, &properties.message_id,
                           &properties.user_id, &properties.expiration}) {
            if (coin()) *text = any_text();
        }
        if (coin()) properties.delivery_mode = static_cast<std::uint8_t>(dice_() % 256);
        if (coin()) properties.priority = static_cast<std::uint8_t>(dice_() % 256);
        if (coin()) properties.timestamp = any_bits();
        if (dice_() % 8 != 0) properties.headers = any_table(3);
        message.body = any_text();
        return message;
    }

  private:
    /// Any bits but those of a NaN, which equals nothing.
    template <typename Float, typename Bits>
    static Float any_float(Bits bits) {
        const auto number = std::bit_cast<Float>(bits);
        return std::isnan(number) ? Float{0} : number;
    }

    bool coin() { return dice_() % 2 == 0; }
    std::uint64_t any_bits() { return (std::uint64_t{dice_()} << 32U | dice_()) >> (dice_() % 64); }

    std::string_view any_text() {
        std::string text;
        const bool binary = coin();
        for (std::size_t i = dice_() % 20; i > 0; --i)
            text += static_cast<char>(binary ? dice_() % 256 : 1 + dice_() % 127);
        return texts_.emplace_back(std::move(text));
    }

    core::Table any_table(int depth) {
        std::vector<core::Field> fields;
        for (std::size_t i = dice_() % 6; i > 0; --i)
            fields.push_back({any_text(), any_value(depth)});
        const auto& kept = tables_.emplace_back(std::move(fields));
        return {kept.data(), kept.size()};
    }

    core::Array any_array(int depth) {
        std::vector<Value> values;
        for (std::size_t i = dice_() % 4; i > 0; --i)
            values.push_back(any_value(depth));
        const auto& kept = arrays_.emplace_back(std::move(values));
        return {kept.data(), kept.size()};
    }

    Value any_value(int depth) {
        const std::uint64_t bits = any_bits();
        const auto number = static_cast<std::int64_t>(coin() ? bits : ~bits);
        switch (dice_() % (depth > 0 ? 18 : 16)) {
            case 0:
                return {Kind::boolean, coin()};
            case 1:
                return {Kind::int8, std::int64_t{static_cast<std::int8_t>(number)}};
            case 2:
                return {Kind::uint8, std::uint64_t{static_cast<std::uint8_t>(bits)}};
            case 3:
                return {Kind::int16, std::int64_t{static_cast<std::int16_t>(number)}};
            case 4:
                return {Kind::uint16, std::uint64_t{static_cast<std::uint16_t>(bits)}};
            case 5:
                return {Kind::int32, std::int64_t{static_cast<std::int32_t>(number)}};
            case 6:
                return {Kind::uint32, std::uint64_t{static_cast<std::uint32_t>(bits)}};
            case 7:
                return {Kind::int64, number};
            case 8:
                return {Kind::uint64, bits};
            case 9:
                return {Kind::float32, any_float<float>(static_cast<std::uint32_t>(bits))};
            case 10:
                return {Kind::float64, any_float<double>(bits)};
            case 11:
                return {Kind::decimal,
                        core::Decimal{static_cast<std::uint8_t>(dice_() % 256), static_cast<std::uint32_t>(dice_())}};
            case 12:
                return {Kind::longstr, any_text()};
            case 13:
                return {Kind::bytes, any_text()};
            case 14:
                return {Kind::timestamp, bits};
            case 15:
                return {};
            case 16:
                return {Kind::array, any_array(depth - 1)};
            default:
                return {Kind::table, any_table(depth - 1)};
        }
    }

    std::mt19937 dice_;
    std::deque<std::string> texts_;
    std::deque<std::vector<core::Field>> tables_;
    std::deque<std::vector<Value>> arrays_;
};

inline bool same(const core::Message& left, const core::Message& right) {
    const core::Properties& a = left.properties;
    const core::Properties& b = right.properties;
    return left.body == right.body && a.content_type == b.content_type && a.content_encoding == b.content_encoding &&
           a.delivery_mode == b.delivery_mode && a.priority == b.priority && a.correlation_id == b.correlation_id &&
           a.reply_to == b.reply_to && a.expiration == b.expiration && a.message_id == b.message_id &&
           a.timestamp == b.timestamp && a.type == b.type && a.user_id == b.user_id && a.app_id == b.app_id &&
           a.cluster_id == b.cluster_id && a.headers.has_value() == b.headers.has_value() &&
           core::equal(a.header_table(), b.header_table());
}

}  // namespace retryd::commands::any_message
