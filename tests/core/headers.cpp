#include "core/headers.h"

#include <algorithm>
#include <type_traits>

namespace retryd::core::test {
namespace {

std::vector<Field> fields_of(Headers& headers, const DeathEntry& entry) {
    std::vector<Field> fields{
        {"count", number(entry.count)},     {"reason", text(entry.reason)},
        {"queue", text(entry.queue)},       {"time", seconds(entry.time)},
        {"exchange", text(entry.exchange)}, {"routing-keys", headers.array({text(entry.routing_key)})}};
    if (entry.original_expiration) fields.push_back({"original-expiration", text(*entry.original_expiration)});
    return fields;
}

template <typename Items, typename Describe>
std::string joined(const Items& items, char open, char close, Describe describe_one) {
    std::string line{open};
    for (const auto& item : items) {
        if (line.size() > 1) line += ", ";
        line += describe_one(item);
    }
    return line + close;
}

std::string describe_data(const Value::Data& data) {
    return std::visit(
        []<typename T>(const T& value) -> std::string {
            if constexpr (std::is_same_v<T, std::monostate>) {
                return "";
            } else if constexpr (std::is_same_v<T, bool>) {
                return value ? "true" : "false";
            } else if constexpr (std::is_same_v<T, Decimal>) {
                return std::to_string(value.unscaled) + "e-" + std::to_string(value.scale);
            } else if constexpr (std::is_same_v<T, std::string_view>) {
                return std::string{value};
            } else if constexpr (std::is_same_v<T, Array>) {
                return joined(value, '[', ']', [](const Value& element) { return describe(element); });
            } else if constexpr (std::is_same_v<T, Table>) {
                return describe(value);
            } else {
                return std::to_string(value);
            }
        },
        data);
}

}  // namespace

Table Headers::proven(std::vector<Field> given) {
    const Table headers{given.data(), given.size()};
    given.push_back(proof_of(headers, proofs_.emplace_back()));
    return fields(std::move(given));
}

Table Headers::fields(std::vector<Field> fields) {
    const auto& kept = tables_.emplace_back(std::move(fields));
    return {kept.data(), kept.size()};
}

Value Headers::table(std::vector<Field> nested) {
    return {Kind::table, fields(std::move(nested))};
}

Value Headers::array(std::vector<Value> elements) {
    const auto& kept = arrays_.emplace_back(std::move(elements));
    return {Kind::array, Array{kept.data(), kept.size()}};
}

Value Headers::death(const DeathEntry& entry) {
    return table(fields_of(*this, entry));
}

Table Headers::deaths(const std::vector<DeathEntry>& entries) {
    std::vector<Value> values;
    for (const DeathEntry& entry : entries)
        values.push_back(death(entry));
    return fields({{"x-death", array(std::move(values))}});
}

Value Headers::death_with(std::string_view field, std::optional<Value> value) {
    auto fields = fields_of(*this, {});
    const auto at = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == field; });
    if (at != fields.end()) fields.erase(at);
    if (value) fields.push_back({field, *value});
    return table(std::move(fields));
}

std::vector<Value> Headers::one_of_each() {
    return {{Kind::boolean, true},
            {Kind::int8, std::int64_t{-8}},
            {Kind::uint8, std::uint64_t{8}},
            {Kind::int16, std::int64_t{-16}},
            {Kind::uint16, std::uint64_t{16}},
            {Kind::int32, std::int64_t{-32}},
            {Kind::uint32, std::uint64_t{32}},
            {Kind::int64, std::int64_t{-64}},
            {Kind::uint64, std::uint64_t{64}},
            {Kind::float32, 1.5F},
            {Kind::float64, 2.5},
            {Kind::decimal, Decimal{2, 314}},
            {Kind::longstr, "long"},
            {Kind::bytes, "byte"},
            array({number(1), text("two")}),
            {Kind::timestamp, std::uint64_t{1'700'000'000}},
            table({{"inner", number(1)}}),
            {Kind::nothing, std::monostate{}}};
}

std::string describe(const Table& table) {
    return joined(table, '{', '}', [](const Field& f) { return std::string{f.name} + '=' + describe(f.value); });
}

std::string describe(const Value& value) {
    return static_cast<char>(value.kind) + (':' + describe_data(value.data));
}

}  // namespace retryd::core::test
