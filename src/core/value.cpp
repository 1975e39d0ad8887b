#include "core/value.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace retryd::core {

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
            } else if constexpr (std::is_same_v<T, float>) {
                return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(std::get<T>(right.data));
            } else if constexpr (std::is_same_v<T, double>) {
                return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(std::get<T>(right.data));
            } else {
                return a == std::get<T>(right.data);
            }
        },
        left.data);
}

}  // namespace retryd::core
