#include "commands/value_view.h"

#include <type_traits>

#include "commands/json.h"
#include "commands/safe_text.h"
#include "core/utf8.h"

namespace retryd::commands {
namespace {

using core::Kind;
using core::Value;
std::string name_of_kind(Kind kind) {
    switch (kind) {
        case Kind::boolean:
            return "boolean";
        case Kind::int8:
            return "int8";
        case Kind::uint8:
            return "uint8";
        case Kind::int16:
            return "int16";
        case Kind::uint16:
            return "uint16";
        case Kind::int32:
            return "int32";
        case Kind::uint32:
            return "uint32";
        case Kind::int64:
            return "long";
        case Kind::uint64:
            return "uint64";
        case Kind::float32:
            return "float";
        case Kind::float64:
            return "double";
        case Kind::decimal:
            return "decimal";
        case Kind::longstr:
            return "longstr";
        case Kind::bytes:
            return "bytes";
        case Kind::array:
            return "array";
        case Kind::timestamp:
            return "timestamp";
        case Kind::table:
            return "table";
        case Kind::nothing:
            break;
    }
    return "void";
}

std::string text_of_decimal(const core::Decimal& decimal) {
    std::string digits = std::to_string(decimal.unscaled);
    if (decimal.scale == 0) return digits;
    if (digits.size() <= decimal.scale) digits.insert(0, decimal.scale + 1U - digits.size(), '0');
    return digits.insert(digits.size() - decimal.scale, ".");
}

std::string text_of_list(const core::Array& array) {
    std::string text = "[";
    for (const Value& value : array)
        text += (text.size() > 1 ? ", " : "") + text_of_value(value);
    return text + "]";
}

std::string text_of_fields(const core::Table& table) {
    std::string text = "{";
    for (const core::Field& field : table)
        text += (text.size() > 1 ? ", " : "") + safe_line(field.name) + ": " + text_of_value(field.value);
    return text + "}";
}

void put_value(Json& object, const Value& value) {
    object["type"] = name_of_kind(value.kind);
    if (value.kind == Kind::bytes) {
        object["base64"] = base64(std::get<std::string_view>(value.data));
    } else if (const auto* text = std::get_if<std::string_view>(&value.data)) {
        const bool utf8 = core::valid_utf8_length(*text) == text->size();
        object[utf8 ? "value" : "base64"] = utf8 ? std::string{*text} : base64(*text);
    } else {
        object["value"] = json_of_value(value).at("value");
    }
}

}  // namespace

std::string text_of_value(const Value& value) {
    if (value.kind == Kind::timestamp) return utc(std::get<std::uint64_t>(value.data));
    return std::visit(
        []<typename T>(const T& data) -> std::string {
            if constexpr (std::is_same_v<T, std::monostate>)
                return "(void)";
            else if constexpr (std::is_same_v<T, bool>)
                return data ? "true" : "false";
            else if constexpr (std::is_same_v<T, std::string_view>)
                return '"' + safe_line(data) + '"';
            else if constexpr (std::is_same_v<T, core::Decimal>)
                return text_of_decimal(data);
            else if constexpr (std::is_same_v<T, core::Array>)
                return text_of_list(data);
            else if constexpr (std::is_same_v<T, core::Table>)
                return text_of_fields(data);
            else if constexpr (std::is_floating_point_v<T>)
                return Json(data).dump();
            else
                return std::to_string(data);
        },
        value.data);
}

Json json_of_value(const Value& value) {
    Json object{{"type", name_of_kind(value.kind)}};
    if (const auto* array = std::get_if<core::Array>(&value.data)) {
        object["value"] = Json::array();
        for (const Value& element : *array)
            object["value"].push_back(json_of_value(element));
    } else if (const auto* table = std::get_if<core::Table>(&value.data)) {
        object["value"] = json_of_table(*table);
    } else if (std::holds_alternative<std::string_view>(value.data)) {
        put_value(object, value);
    } else if (const auto* decimal = std::get_if<core::Decimal>(&value.data)) {
        object["value"] = text_of_decimal(*decimal);
    } else if (std::holds_alternative<std::monostate>(value.data)) {
        object["value"] = nullptr;
    } else {
        std::visit(
            [&]<typename T>(const T& data) {
                if constexpr (std::is_arithmetic_v<T>) object["value"] = data;
            },
            value.data);
    }
    return object;
}

Json json_of_table(const core::Table& table) {
    Json list = Json::array();
    for (const core::Field& field : table) {
        Json object;
        put_text(object, "name", field.name);
        put_value(object, field.value);
        list.push_back(std::move(object));
    }
    return list;
}

void put_text(Json& object, const std::string& key, std::string_view text) {
    const bool utf8 = core::valid_utf8_length(text) == text.size();
    object[utf8 ? key : key + "_base64"] = utf8 ? std::string{text} : base64(text);
}

}  // namespace retryd::commands
