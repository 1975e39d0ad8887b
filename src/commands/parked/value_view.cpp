#include "commands/parked/value_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "commands/common/json.h"
#include "commands/common/text.h"
#include "core/safe_text.h"
#include "core/text.h"

namespace retryd::commands {

namespace {

constexpr std::size_t most_text = std::size_t{64} * 1024;
constexpr std::size_t most_hex = std::size_t{4} * 1024;
constexpr std::size_t most_json = std::size_t{1024} * 1024;
constexpr std::size_t deepest_json = 64;

/// Cuts the text if it is too long, and says so in the title.
BodyView cut_text(const std::string& kind, std::string_view text, std::size_t size) {
    const std::string_view shown = core::utf8_prefix(text, most_text);
    BodyView view{kind + ", " + counted(size, "byte", "bytes"), core::safe_lines(shown)};
    if (shown.size() < text.size()) {
        view.title += "; cut after " + std::to_string(shown.size()) + ", --raw has all of it";
    }
    return view;
}

BodyView hex(std::string_view body, const std::string& why) {
    const std::string_view shown = body.substr(0, most_hex);
    std::string title = "hex, " + counted(body.size(), "byte", "bytes") + why;
    if (shown.size() < body.size()) title += "; cut after " + std::to_string(shown.size()) + ", --raw has all of it";
    return {title, hex_dump(shown)};
}

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Indents valid JSON without changing any token.
class JsonIndenter {
  public:
    std::optional<std::string> indent(std::string_view text) {
        // Text beyond that is cut anyway, and indenting deep elements would make it very long.
        for (std::size_t at = 0; at < text.size() && out_.size() <= most_text; ++at) {
            const char c = text[at];
            if (c == '"') {
                at = copy_string(text, at);
            } else if (c == '{' || c == '[') {
                if (!open(c, text.substr(at + 1))) return std::nullopt;
            } else if (c == '}' || c == ']') {
                close(c);
            } else if (c == ',') {
                out_ += c;
                new_line();
            } else if (c == ':') {
                out_ += ": ";
            } else if (!is_blank(c)) {
                out_ += c;
            }
        }
        return std::move(out_);
    }

  private:
    /// Returns the position of the closing quote.
    std::size_t copy_string(std::string_view text, std::size_t from) {
        std::size_t at = from + 1;
        while (text[at] != '"')
            at += text[at] == '\\' ? 2 : 1;
        out_.append(text.substr(from, at - from + 1));
        return at;
    }

    bool open(char c, std::string_view rest) {
        if (++depth_ > deepest_json) return false;
        out_ += c;
        const auto next = std::find_if_not(rest.begin(), rest.end(), is_blank);
        empty_ = *next == '}' || *next == ']';
        if (!empty_) new_line();
        return true;
    }

    void close(char c) {
        --depth_;
        if (!std::exchange(empty_, false)) new_line();
        out_ += c;
    }

    void new_line() { out_.append("\n").append(2 * depth_, ' '); }

    std::string out_;
    std::size_t depth_ = 0;
    bool empty_ = false;
};

bool looks_like_json(std::string_view text) {
    const auto first = std::find_if_not(text.begin(), text.end(), is_blank);
    return first != text.end() && (*first == '{' || *first == '[');
}

}  // namespace

std::optional<std::string> indent_json(std::string_view text) {
    if (text.size() > most_json || !nlohmann::json::accept(text.begin(), text.end())) return std::nullopt;
    return JsonIndenter().indent(text);
}

BodyView view_of_body(std::string_view body, const std::optional<std::string_view>& content_encoding) {
    if (body.empty()) return {"empty", ""};
    const std::string encoding{content_encoding.value_or("")};
    const bool encoded = !encoding.empty() && encoding != "identity" && encoding != "utf-8" && encoding != "UTF-8";
    if (encoded) return hex(body, ": its content-encoding is " + core::safe_name(shortened(encoding, 40)));
    if (core::valid_utf8_length(body) != body.size()) return hex(body, "");
    if (looks_like_json(body)) {
        if (const auto json = indent_json(body)) return cut_text("JSON", *json, body.size());
    }
    return cut_text("text", body, body.size());
}

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
        text += (text.size() > 1 ? ", " : "") + core::safe_name(field.name) + ": " + text_of_value(field.value);
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
                return '"' + core::safe_name(data) + '"';
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
