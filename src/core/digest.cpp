#include "core/digest.h"

#include <string>
#include <type_traits>

#include "core/hash.h"

namespace retryd::core {
namespace {

/// Everything one after the other, as text; read by nobody but the hash.
void write(std::string& out, const Value& value);

void write(std::string& out, std::string_view text) {
    out.append(std::to_string(text.size())).append(":").append(text);
}

void write(std::string& out, const Table& table) {
    for (const Field& field : table) {
        write(out, field.name);
        write(out, field.value);
    }
    out.push_back('.');
}

void write(std::string& out, const Array& array) {
    for (const Value& value : array)
        write(out, value);
    out.push_back('.');
}

void write(std::string& out, const Value& value) {
    out.push_back(static_cast<char>(value.kind));
    std::visit(
        [&](const auto& data) {
            using Data = std::decay_t<decltype(data)>;
            if constexpr (std::is_arithmetic_v<Data>) {
                write(out, std::string_view{std::to_string(data)});
            } else if constexpr (std::is_same_v<Data, Decimal>) {
                write(out, std::string_view{std::to_string(data.unscaled)});
            } else if constexpr (!std::is_same_v<Data, std::monostate>) {
                write(out, data);
            }
        },
        value.data);
}

bool counts_deliveries(std::string_view header) {
    return header == "x-delivery-count" || header == "x-acquired-count";
}

}  // namespace

std::uint64_t digest(const Message& message) {
    std::string rest;
    for (const Field& field : message.properties.header_table()) {
        if (counts_deliveries(field.name)) continue;
        write(rest, field.name);
        write(rest, field.value);
    }
    write(rest, message.properties.message_id.value_or(""));
    write(rest, std::to_string(fnv1a(message.body)));
    return fnv1a(rest);
}

}  // namespace retryd::core
