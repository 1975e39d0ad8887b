#include "amqp/codec.h"

#include <array>
#include <cstdint>

namespace retryd::amqp {
namespace {

/// From rabbitmq-c's structures.
class TableReader {
  public:
    explicit TableReader(Arena& arena) : arena_(arena) {}

    bool read(const amqp_table_t& from, int level, core::Table& to) {
        if (level > deepest_level) return false;
        const auto count = static_cast<std::size_t>(from.num_entries);
        auto* const fields = arena_.make<core::Field>(count);
        for (std::size_t i = 0; i < count; ++i) {
            fields[i].name = view_of(from.entries[i].key);
            if (!read(from.entries[i].value, level, fields[i].value)) return false;
        }
        to = {fields, count};
        return true;
    }

  private:
    bool read(const amqp_array_t& from, int level, core::Array& to) {
        if (level > deepest_level) return false;
        const auto count = static_cast<std::size_t>(from.num_entries);
        auto* const values = arena_.make<core::Value>(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (!read(from.entries[i], level, values[i])) return false;
        }
        to = {values, count};
        return true;
    }

    bool read(const amqp_field_value_t& from, int level, core::Value& to) {
        to.kind = static_cast<core::Kind>(from.kind);
        switch (to.kind) {
            case core::Kind::table:
                return read(from.value.table, level + 1, to.data.emplace<core::Table>());
            case core::Kind::array:
                return read(from.value.array, level + 1, to.data.emplace<core::Array>());
            default:
                to.data = scalar(to.kind, from);
                return true;
        }
    }

    static core::Value::Data scalar(core::Kind kind, const amqp_field_value_t& from) {
        switch (kind) {
            case core::Kind::boolean:
                return from.value.boolean != 0;
            case core::Kind::int8:
                return std::int64_t{from.value.i8};
            case core::Kind::uint8:
                return std::uint64_t{from.value.u8};
            case core::Kind::int16:
                return std::int64_t{from.value.i16};
            case core::Kind::uint16:
                return std::uint64_t{from.value.u16};
            case core::Kind::int32:
                return std::int64_t{from.value.i32};
            case core::Kind::uint32:
                return std::uint64_t{from.value.u32};
            case core::Kind::int64:
                return std::int64_t{from.value.i64};
            case core::Kind::uint64:
            case core::Kind::timestamp:
                return std::uint64_t{from.value.u64};
            case core::Kind::float32:
                return from.value.f32;
            case core::Kind::float64:
                return from.value.f64;
            case core::Kind::decimal:
                return core::Decimal{from.value.decimal.decimals, from.value.decimal.value};
            case core::Kind::longstr:
            case core::Kind::bytes:
                return view_of(from.value.bytes);
            default:
                return std::monostate{};
        }
    }

    Arena& arena_;
};

/// To rabbitmq-c's structures.
class TableWriter {
  public:
    explicit TableWriter(Arena& arena) : arena_(arena) {}

    amqp_table_t write(const core::Table& from) {
        auto* const entries = arena_.make<amqp_table_entry_t>(from.size());
        auto* next = entries;
        for (const core::Field& field : from)
            *next++ = {bytes_of(field.name), write(field.value)};
        return {static_cast<int>(from.size()), entries};
    }

  private:
    amqp_array_t write(const core::Array& from) {
        auto* const entries = arena_.make<amqp_field_value_t>(from.size());
        auto* next = entries;
        for (const core::Value& value : from)
            *next++ = write(value);
        return {static_cast<int>(from.size()), entries};
    }

    amqp_field_value_t write(const core::Value& from) {
        amqp_field_value_t to{};
        to.kind = static_cast<std::uint8_t>(from.kind);
        if (const auto* table = std::get_if<core::Table>(&from.data)) {
            to.value.table = write(*table);
        } else if (const auto* array = std::get_if<core::Array>(&from.data)) {
            to.value.array = write(*array);
        } else if (const auto* text = std::get_if<std::string_view>(&from.data)) {
            to.value.bytes = bytes_of(*text);
        } else if (const auto* number = std::get_if<std::int64_t>(&from.data)) {
            write_signed(from.kind, *number, to);
        } else if (const auto* natural = std::get_if<std::uint64_t>(&from.data)) {
            write_unsigned(from.kind, *natural, to);
        } else if (const auto* truth = std::get_if<bool>(&from.data)) {
            to.value.boolean = *truth ? 1 : 0;
        } else if (const auto* single = std::get_if<float>(&from.data)) {
            to.value.f32 = *single;
        } else if (const auto* real = std::get_if<double>(&from.data)) {
            to.value.f64 = *real;
        } else if (const auto* decimal = std::get_if<core::Decimal>(&from.data)) {
            to.value.decimal = {decimal->scale, decimal->unscaled};
        }
        return to;
    }

    static void write_signed(core::Kind kind, std::int64_t number, amqp_field_value_t& to) {
        switch (kind) {
            case core::Kind::int8:
                to.value.i8 = static_cast<std::int8_t>(number);
                break;
            case core::Kind::int16:
                to.value.i16 = static_cast<std::int16_t>(number);
                break;
            case core::Kind::int32:
                to.value.i32 = static_cast<std::int32_t>(number);
                break;
            default:
                to.value.i64 = number;
        }
    }

    static void write_unsigned(core::Kind kind, std::uint64_t number, amqp_field_value_t& to) {
        switch (kind) {
            case core::Kind::uint8:
                to.value.u8 = static_cast<std::uint8_t>(number);
                break;
            case core::Kind::uint16:
                to.value.u16 = static_cast<std::uint16_t>(number);
                break;
            case core::Kind::uint32:
                to.value.u32 = static_cast<std::uint32_t>(number);
                break;
            default:
                to.value.u64 = number;
        }
    }

    Arena& arena_;
};

// Which properties a message has stands in a bit mask; the fields of those it does not have hold garbage after a
// decode, since rabbitmq-c reuses memory.

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

std::optional<core::Table> read_table(const amqp_table_t& table, Arena& arena) {
    core::Table read;
    if (!TableReader(arena).read(table, 1, read)) return std::nullopt;
    return read;
}

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

amqp_table_t write_table(const core::Table& table, Arena& arena) {
    return TableWriter(arena).write(table);
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
