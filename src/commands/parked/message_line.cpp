#include "commands/parked/message_line.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "commands/common/json.h"
#include "commands/common/text.h"
#include "commands/parked/value_view.h"
#include "core/text.h"
#include "telemetry/safe_json.h"

namespace retryd::commands {

namespace {

using LineKind = core::Kind;

/// JSON can express neither infinity nor the bits of a NaN.
template <typename Float, typename Bits>
Json json_of_float(Float number) {
    if (std::isfinite(number)) return number;
    return "bits " + std::to_string(std::bit_cast<Bits>(number));
}

Json exact_json_of_value(const core::Value& value) {
    Json object = value.kind == LineKind::array || value.kind == LineKind::table
                      ? Json{{"type", value.kind == LineKind::array ? "array" : "table"}}
                      : json_of_value(value);
    if (const auto* array = std::get_if<core::Array>(&value.data)) {
        object["value"] = Json::array();
        for (const core::Value& element : *array)
            object["value"].push_back(exact_json_of_value(element));
    } else if (const auto* table = std::get_if<core::Table>(&value.data)) {
        object["value"] = exact_json_of(*table);
    } else if (const auto* single = std::get_if<float>(&value.data)) {
        object["value"] = json_of_float<float, std::uint32_t>(*single);
    } else if (const auto* number = std::get_if<double>(&value.data)) {
        object["value"] = json_of_float<double, std::uint64_t>(*number);
    }
    return object;
}

}  // namespace

Json exact_json_of(const core::Table& headers) {
    Json list = Json::array();
    for (const core::Field& field : headers) {
        Json object;
        put_text(object, "name", field.name);
        object.update(exact_json_of_value(field.value));
        list.push_back(std::move(object));
    }
    return list;
}

/// In JSON text each control character takes six bytes.
bool mostly_controls(std::string_view body) {
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
    };
    const auto controls = std::count_if(body.begin(), body.end(), is_control);
    return static_cast<std::size_t>(controls) > body.size() / 8;
}

Json json_of_properties(const core::Properties& properties) {
    Json object = Json::object();
    for (const core::TextProperty& each : core::text_properties) {
        if (properties.*each.value) put_text(object, each.name, *(properties.*each.value));
    }
    if (properties.delivery_mode) object["delivery-mode"] = *properties.delivery_mode;
    if (properties.priority) object["priority"] = *properties.priority;
    if (properties.timestamp) object["timestamp"] = *properties.timestamp;
    return object;
}

std::string line_of_message(const std::string& queue, const core::Message& message) {
    Json object;
    put_text(object, "queue", queue);
    object["properties"] = json_of_properties(message.properties);
    if (message.properties.headers) object["headers"] = exact_json_of(*message.properties.headers);
    if (mostly_controls(message.body)) {
        object["body_base64"] = base64(message.body);
    } else {
        put_text(object, "body", message.body);
    }
    return telemetry::to_safe_json(std::move(object));
}

std::string exported_line(const std::string& queue, core::Message message) {
    std::vector<core::Field> fields;
    for (const core::Field& field : message.properties.header_table()) {
        if (field.name != "x-delivery-count" && field.name != "x-acquired-count") fields.push_back(field);
    }
    if (message.properties.headers) message.properties.headers = core::Table{fields.data(), fields.size()};
    return line_of_message(queue, message);
}

/// Errors are thrown and caught within this file.
class MessageLine::Reader {
  public:
    explicit Reader(MessageLine& into) : into_(into) {}

    void read(const Json& object) {
        into_.queue_ = std::string{short_text_in(object, "queue").value_or(std::string_view{})};
        if (into_.queue_.empty()) throw std::invalid_argument("it has no `queue`");
        core::Properties& properties = into_.message_.properties;
        if (const Json* given = member(object, "properties")) read_properties(*given, properties);
        if (const Json* headers = member(object, "headers")) properties.headers = table_of(*headers, 1);
        const auto body = text_in(object, "body");
        if (!body) throw std::invalid_argument("it has no `body`");
        into_.message_.body = *body;
    }

  private:
    static const Json* member(const Json& object, const std::string& key) {
        if (!object.is_object()) throw std::invalid_argument("it has something else where an object is expected");
        const auto found = object.find(key);
        return found == object.end() ? nullptr : &*found;
    }

    std::string_view keep(std::string text) { return into_.texts_.emplace_back(std::move(text)); }

    std::optional<std::string_view> text_in(const Json& object, const std::string& key) {
        if (const Json* text = member(object, key)) return keep(text->get<std::string>());
        if (const Json* coded = member(object, key + "_base64")) return keep(bytes_of(coded->get<std::string>()));
        return std::nullopt;
    }

    std::optional<std::string_view> short_text_in(const Json& object, const std::string& key) {
        const auto text = text_in(object, key);
        if (text && text->size() > core::longest_short_string)
            throw std::invalid_argument("it has more than " + std::to_string(core::longest_short_string) +
                                        " bytes where AMQP has no room for them: " + key);
        return text;
    }

    static std::string bytes_of(const std::string& coded) {
        const auto bytes = from_base64(coded);
        if (!bytes) throw std::invalid_argument("it has base64 that is none");
        return *bytes;
    }

    void read_properties(const Json& object, core::Properties& properties) {
        for (const core::TextProperty& each : core::text_properties)
            properties.*each.value = short_text_in(object, each.name);
        if (const Json* mode = member(object, "delivery-mode")) properties.delivery_mode = small<std::uint8_t>(*mode);
        if (const Json* priority = member(object, "priority")) properties.priority = small<std::uint8_t>(*priority);
        if (const Json* time = member(object, "timestamp")) properties.timestamp = small<std::uint64_t>(*time);
    }

    /// A number that has to fit the type.
    template <typename Number>
    static Number small(const Json& json) {
        if (!json.is_number_integer())
            throw std::invalid_argument("it has something else where a whole number is expected");
        const bool fits = json.is_number_unsigned() ? std::in_range<Number>(json.get<std::uint64_t>())
                                                    : std::in_range<Number>(json.get<std::int64_t>());
        if (!fits) throw std::invalid_argument("it has a number that does not fit its type: " + json.dump());
        return static_cast<Number>(json.is_number_unsigned() ? json.get<std::uint64_t>()
                                                             : static_cast<std::uint64_t>(json.get<std::int64_t>()));
    }

    core::Table table_of(const Json& list, int depth) {
        check(list, depth);
        std::vector<core::Field> fields;
        for (const Json& each : list) {
            const auto name = short_text_in(each, "name");
            if (!name) throw std::invalid_argument("it has a header without a name");
            fields.push_back({*name, value_of(each, depth)});
        }
        const auto& kept = into_.tables_.emplace_back(std::move(fields));
        return {kept.data(), kept.size()};
    }

    core::Array array_of(const Json& list, int depth) {
        check(list, depth);
        std::vector<core::Value> values;
        for (const Json& each : list)
            values.push_back(value_of(each, depth));
        const auto& kept = into_.arrays_.emplace_back(std::move(values));
        return {kept.data(), kept.size()};
    }

    static void check(const Json& list, int depth) {
        if (!list.is_array()) throw std::invalid_argument("it has something else where a list is expected");
        if (depth > deepest_headers) throw std::invalid_argument("it has headers that nest too deep");
    }

    core::Value value_of(const Json& object, int depth) {
        const Json* type = member(object, "type");
        const Json* value = member(object, "value");
        const std::string name = type == nullptr ? "" : type->get<std::string>();
        if (name == "longstr" || name == "bytes")
            return {name == "bytes" ? LineKind::bytes : LineKind::longstr, text_value(object, value)};
        if (value == nullptr) throw std::invalid_argument("it has a header without a value");
        if (name == "table") return {LineKind::table, table_of(*value, depth + 1)};
        if (name == "array") return {LineKind::array, array_of(*value, depth + 1)};
        return scalar_of(name, *value);
    }

    std::string_view text_value(const Json& object, const Json* value) {
        if (value != nullptr) return keep(value->get<std::string>());
        const Json* coded = member(object, "base64");
        if (coded == nullptr) throw std::invalid_argument("it has a header without a value");
        return keep(bytes_of(coded->get<std::string>()));
    }

    static core::Value scalar_of(const std::string& name, const Json& value) {
        const auto whole = [&]<typename Number>(LineKind kind, Number) -> core::Value {
            using Widest = std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>;
            return {kind, static_cast<Widest>(small<Number>(value))};
        };
        if (name == "boolean") return {LineKind::boolean, value.get<bool>()};
        if (name == "int8") return whole(LineKind::int8, std::int8_t{});
        if (name == "uint8") return whole(LineKind::uint8, std::uint8_t{});
        if (name == "int16") return whole(LineKind::int16, std::int16_t{});
        if (name == "uint16") return whole(LineKind::uint16, std::uint16_t{});
        if (name == "int32") return whole(LineKind::int32, std::int32_t{});
        if (name == "uint32") return whole(LineKind::uint32, std::uint32_t{});
        if (name == "long") return whole(LineKind::int64, std::int64_t{});
        if (name == "uint64") return whole(LineKind::uint64, std::uint64_t{});
        if (name == "timestamp") return whole(LineKind::timestamp, std::uint64_t{});
        if (name == "float") return {LineKind::float32, float_of<float, std::uint32_t>(value)};
        if (name == "double") return {LineKind::float64, float_of<double, std::uint64_t>(value)};
        if (name == "decimal") return {LineKind::decimal, decimal_of(value.get<std::string>())};
        if (name == "void") return {};
        throw std::invalid_argument("it has a header of a type that AMQP does not know");
    }

    template <typename Float, typename Bits>
    static Float float_of(const Json& value) {
        if (!value.is_string()) {
            const double number = value.get<double>();
            if (std::abs(number) > static_cast<double>(std::numeric_limits<Float>::max()))
                throw std::invalid_argument("it has a number that does not fit its type");
            return static_cast<Float>(number);
        }
        const std::string text = value.get<std::string>();
        const std::string mark = "bits ";
        if (!text.starts_with(mark)) throw std::invalid_argument("it has a number that is none");
        return std::bit_cast<Float>(static_cast<Bits>(whole_text(text.substr(mark.size()), ~Bits{0})));
    }

    /// `1.50`: the number of decimals is its scale.
    static core::Decimal decimal_of(const std::string& text) {
        const auto point = text.find('.');
        const std::size_t scale = point == std::string::npos ? 0 : text.size() - point - 1;
        std::string digits = text;
        if (point != std::string::npos) digits.erase(point, 1);
        if (scale > std::numeric_limits<std::uint8_t>::max())
            throw std::invalid_argument("it has a decimal that is none");
        const std::uint64_t unscaled = whole_text(digits, std::numeric_limits<std::uint32_t>::max());
        return {static_cast<std::uint8_t>(scale), static_cast<std::uint32_t>(unscaled)};
    }

    static std::uint64_t whole_text(const std::string& digits, std::uint64_t most) {
        const bool all = !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
        const auto from = digits.find_first_not_of('0');
        const std::string number = from == std::string::npos ? "0" : digits.substr(from);
        if (!all || number.size() > 20) throw std::invalid_argument("it has a number that is none");
        errno = 0;
        const std::uint64_t value = std::strtoull(number.c_str(), nullptr, 10);
        if (errno != 0 || value > most) throw std::invalid_argument("it has a number that does not fit its type");
        return value;
    }

    MessageLine& into_;
};

std::string MessageLine::read(std::string_view line) {
    return read_json(Json::parse(line, nullptr, false));
}

std::string MessageLine::read_json(const Json& object) {
    queue_.clear();
    message_ = {};
    texts_.clear();
    tables_.clear();
    arrays_.clear();
    if (object.is_discarded() || !object.is_object())
        return "it is no message as retryd parked export writes it, or not all of one";
    try {
        Reader(*this).read(object);
    } catch (const std::invalid_argument& problem) {
        return problem.what();
    } catch (const Json::exception&) {
        return "it has a value of another type than expected";
    }
    return "";
}

}  // namespace retryd::commands
