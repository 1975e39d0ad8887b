#include "core/value.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace retryd::core {

const Value* find(const Table& table, std::string_view name) {
    const auto* field = std::find_if(table.begin(), table.end(), [&](const Field& f) { return f.name == name; });
    return field == table.end() ? nullptr : &field->value;
}

std::optional<std::string_view> text_of(const Value* value) {
    if (value == nullptr || (value->kind != Kind::longstr && value->kind != Kind::bytes)) return std::nullopt;
    return std::get<std::string_view>(value->data);
}

std::optional<std::int64_t> integer_of(const Value* value) {
    if (value == nullptr) return std::nullopt;
    if (const auto* number = std::get_if<std::int64_t>(&value->data)) return *number;
    if (const auto* number = std::get_if<std::uint64_t>(&value->data)) {
        if (*number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            return static_cast<std::int64_t>(*number);
        }
    }
    return std::nullopt;
}

std::optional<Array> array_of(const Value* value) {
    if (value == nullptr || value->kind != Kind::array) return std::nullopt;
    return std::get<Array>(value->data);
}

std::optional<Table> table_of(const Value* value) {
    if (value == nullptr || value->kind != Kind::table) return std::nullopt;
    return std::get<Table>(value->data);
}

bool equal(const Table& left, const Table& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const Field& a, const Field& b) { return a.name == b.name && equal(a.value, b.value); });
}

bool equal(const Value& left, const Value& right) {
    if (left.kind != right.kind || left.data.index() != right.data.index()) return false;
    if (left.kind == Kind::table) return equal(std::get<Table>(left.data), std::get<Table>(right.data));
    if (left.kind == Kind::array) {
        const Array& a = std::get<Array>(left.data);
        const Array& b = std::get<Array>(right.data);
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const Value& x, const Value& y) { return equal(x, y); });
    }
    return std::visit(
        [&]<typename T>(const T& a) {
            if constexpr (std::is_same_v<T, Table> || std::is_same_v<T, Array>) {
                return false;  // only under their own kinds, handled above
            } else {
                return a == std::get<T>(right.data);
            }
        },
        left.data);
}

}  // namespace retryd::core
