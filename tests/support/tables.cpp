#include "support/tables.h"

#include <stdexcept>

namespace retryd::test {

amqp_bytes_t bytes_of(const std::string& text) {
    amqp_bytes_t bytes;
    bytes.len = text.size();
    bytes.bytes = const_cast<char*>(text.data());
    return bytes;
}

std::string text_of(amqp_bytes_t bytes) {
    return {static_cast<const char*>(bytes.bytes), bytes.len};
}

amqp_table_t TableEncoder::encode(const Table& table) {
    std::vector<amqp_table_entry_t>& entries = tables_.emplace_back();
    entries.reserve(table.size());
    for (const Field& field : table) {
        amqp_table_entry_t entry;
        entry.key = bytes_of(field.name);
        entry.value = encode(field.value);
        entries.push_back(entry);
    }
    return {static_cast<int>(entries.size()), entries.data()};
}

amqp_array_t TableEncoder::encode(const Array& array) {
    std::vector<amqp_field_value_t>& entries = arrays_.emplace_back();
    entries.reserve(array.size());
    for (const Value& element : array)
        entries.push_back(encode(element));
    return {static_cast<int>(entries.size()), entries.data()};
}

amqp_field_value_t TableEncoder::encode(const Value& value) {
    amqp_field_value_t out{};
    out.kind = static_cast<std::uint8_t>(value.kind);
    switch (value.kind) {
        case 't':
            out.value.boolean = std::get<bool>(value.data);
            break;
        case 'b':
            out.value.i8 = static_cast<std::int8_t>(std::get<std::int64_t>(value.data));
            break;
        case 's':
            out.value.i16 = static_cast<std::int16_t>(std::get<std::int64_t>(value.data));
            break;
        case 'I':
            out.value.i32 = static_cast<std::int32_t>(std::get<std::int64_t>(value.data));
            break;
        case 'l':
            out.value.i64 = std::get<std::int64_t>(value.data);
            break;
        case 'B':
            out.value.u8 = static_cast<std::uint8_t>(std::get<std::uint64_t>(value.data));
            break;
        case 'u':
            out.value.u16 = static_cast<std::uint16_t>(std::get<std::uint64_t>(value.data));
            break;
        case 'i':
            out.value.u32 = static_cast<std::uint32_t>(std::get<std::uint64_t>(value.data));
            break;
        case 'L':
        case 'T':
            out.value.u64 = std::get<std::uint64_t>(value.data);
            break;
        case 'f':
            out.value.f32 = std::get<float>(value.data);
            break;
        case 'd':
            out.value.f64 = std::get<double>(value.data);
            break;
        case 'D':
            out.value.decimal.decimals = std::get<Decimal>(value.data).scale;
            out.value.decimal.value = std::get<Decimal>(value.data).unscaled;
            break;
        case 'S':
        case 'x':
            out.value.bytes = bytes_of(std::get<std::string>(value.data));
            break;
        case 'A':
            out.value.array = encode(std::get<Array>(value.data));
            break;
        case 'F':
            out.value.table = encode(std::get<Table>(value.data));
            break;
        default:
            break;  // V: nothing to hold
    }
    return out;
}

namespace {

Value decode(const amqp_field_value_t& field) {
    const char kind = static_cast<char>(field.kind);
    switch (kind) {
        case 't':
            return {kind, field.value.boolean != 0};
        case 'b':
            return signed_of(kind, field.value.i8);
        case 's':
            return signed_of(kind, field.value.i16);
        case 'I':
            return signed_of(kind, field.value.i32);
        case 'l':
            return signed_of(kind, field.value.i64);
        case 'B':
            return unsigned_of(kind, field.value.u8);
        case 'u':
            return unsigned_of(kind, field.value.u16);
        case 'i':
            return unsigned_of(kind, field.value.u32);
        case 'L':
        case 'T':
            return unsigned_of(kind, field.value.u64);
        case 'f':
            return {kind, field.value.f32};
        case 'd':
            return {kind, field.value.f64};
        case 'D':
            return {kind, Decimal{field.value.decimal.decimals, field.value.decimal.value}};
        case 'S':
        case 'x':
            return {kind, text_of(field.value.bytes)};
        case 'F':
            return {kind, retryd::test::decode(field.value.table)};
        case 'V':
            return {kind, std::monostate{}};
        case 'A': {
            Array elements;
            for (int i = 0; i < field.value.array.num_entries; ++i)
                elements.push_back(decode(field.value.array.entries[i]));
            return {kind, std::move(elements)};
        }
        default:
            throw std::runtime_error("a field of unknown type '" + std::string(1, kind) + "'");
    }
}

}  // namespace

Table decode(const amqp_table_t& table) {
    Table result;
    for (int i = 0; i < table.num_entries; ++i)
        result.push_back({text_of(table.entries[i].key), decode(table.entries[i].value)});
    return result;
}

}  // namespace retryd::test
