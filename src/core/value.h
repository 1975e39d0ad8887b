// AMQP 0-9-1 field values as views: what a header table holds, without owning any of it.
//
// A view is valid as long as the buffer it was made from: for a delivery, until the connection's buffers are
// released (see amqp/events.h); for an OwnedDelivery, as long as that object.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <variant>

namespace retryd::core {

struct Value;
struct Field;

/// A contiguous run of values: AMQP 'A'.
struct Array {
    const Value* first = nullptr;
    std::size_t count = 0;

    const Value* begin() const;
    const Value* end() const;
    bool empty() const { return count == 0; }
    std::size_t size() const { return count; }
};

/// Named values in the order of the wire: AMQP 'F'. A name may occur twice; lookups take the first.
struct Table {
    const Field* first = nullptr;
    std::size_t count = 0;

    const Field* begin() const;
    const Field* end() const;
    bool empty() const { return count == 0; }
    std::size_t size() const { return count; }
};

struct Decimal {
    std::uint8_t scale = 0;
    std::uint32_t unscaled = 0;
    bool operator==(const Decimal&) const = default;
};

/// The type octet of the wire, as RabbitMQ speaks it (its errata to AMQP 0-9-1: 's' is a short, 'l' is signed).
enum class Kind : char {
    boolean = 't',
    int8 = 'b',
    uint8 = 'B',
    int16 = 's',
    uint16 = 'u',
    int32 = 'I',
    uint32 = 'i',
    int64 = 'l',
    uint64 = 'L',
    float32 = 'f',
    float64 = 'd',
    decimal = 'D',
    longstr = 'S',
    bytes = 'x',
    array = 'A',
    timestamp = 'T',  // seconds since 1970, unsigned
    table = 'F',
    nothing = 'V',
};

/// One value. `kind` is what goes over the wire; `data` holds it in the widest type of its family:
/// int8/16/32/64 → int64_t; uint8/16/32/64 and timestamp → uint64_t; longstr and bytes → string_view.
struct Value {
    using Data = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, float, double, Decimal,
                              std::string_view, Array, Table>;
    Kind kind = Kind::nothing;
    Data data;

    static Value of_longstr(std::string_view text) { return {Kind::longstr, text}; }
    static Value of_long(std::int64_t number) { return {Kind::int64, number}; }
    static Value of_timestamp(std::uint64_t seconds) { return {Kind::timestamp, seconds}; }
};

struct Field {
    std::string_view name;
    Value value;
};

inline const Value* Array::begin() const {
    return first;
}
inline const Value* Array::end() const {
    return first + count;
}
inline const Field* Table::begin() const {
    return first;
}
inline const Field* Table::end() const {
    return first + count;
}

// What every message is read with: inline.

/// The first field of that name, or null.
inline const Value* find(const Table& table, std::string_view name) {
    const auto* field = std::find_if(table.begin(), table.end(), [&](const Field& f) { return f.name == name; });
    return field == table.end() ? nullptr : &field->value;
}

/// A longstr's or byte array's text; nothing for any other kind.
inline std::optional<std::string_view> text_of(const Value* value) {
    if (value == nullptr || (value->kind != Kind::longstr && value->kind != Kind::bytes)) return std::nullopt;
    return std::get<std::string_view>(value->data);
}

/// Any integer or timestamp that fits int64; nothing for any other kind. Clients re-encode the broker's 'l' as
/// whatever their language has, so every width is taken.
inline std::optional<std::int64_t> integer_of(const Value* value) {
    if (value == nullptr) return std::nullopt;
    if (const auto* number = std::get_if<std::int64_t>(&value->data)) return *number;
    if (const auto* number = std::get_if<std::uint64_t>(&value->data)) {
        if (*number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            return static_cast<std::int64_t>(*number);
        }
    }
    return std::nullopt;
}

/// The elements of an array; nothing for any other kind.
inline std::optional<Array> array_of(const Value* value) {
    if (value == nullptr || value->kind != Kind::array) return std::nullopt;
    return std::get<Array>(value->data);
}

/// The fields of a nested table; nothing for any other kind.
inline std::optional<Table> table_of(const Value* value) {
    if (value == nullptr || value->kind != Kind::table) return std::nullopt;
    return std::get<Table>(value->data);
}

/// Same kinds, same contents, in the same order, all the way down. Of numbers with a point every bit counts: what is
/// not a number equals itself.
bool equal(const Value& left, const Value& right);
bool equal(const Table& left, const Table& right);

}  // namespace retryd::core
