// AMQP field values that own what they hold, for messages that tests write and read.
//
// A type of its own beside core::Value on purpose: a mistake in the daemon's mapping must not be able to hide
// behind the same mistake here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace retryd::test {

struct Value;
struct Field;
using Array = std::vector<Value>;
using Table = std::vector<Field>;

struct Decimal {
    std::uint8_t scale = 0;
    std::uint32_t unscaled = 0;
    bool operator==(const Decimal&) const = default;
};

/// `kind` is the type octet of the wire (t b B s u i I l L f d D S x A T F V); `data` holds the value in the widest
/// type of its family: signed → int64_t, unsigned and timestamp → uint64_t, longstr and bytes → string.
struct Value {
    char kind = 'V';
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, float, double, Decimal, std::string, Array, Table>
        data;
};

struct Field {
    std::string name;
    Value value;
};

bool operator==(const Value& left, const Value& right);
bool operator==(const Field& left, const Field& right);

Value longstr(std::string text);
Value bytes(std::string text);
Value boolean(bool value);
Value signed_of(char kind, std::int64_t number);     // b s I l
Value unsigned_of(char kind, std::uint64_t number);  // B u i L T
Value int32(std::int64_t number);
Value int64(std::int64_t number);
Value timestamp(std::uint64_t since_1970);
Value array(Array elements);
Value table(Table fields);

/// The first field of that name, or null.
const Value* find(const Table& table, std::string_view name);

/// The same fields ordered by name: the broker need not keep the order of a table.
Table sorted(Table table);

/// The table without the fields of these names; a name that ends in `*` stands for all that begin so.
Table without(const Table& table, const std::vector<std::string>& names);

/// For messages of failed assertions: kind and contents, long ones cut.
std::string describe(const Value& value);
std::string describe(const Table& table);

}  // namespace retryd::test
