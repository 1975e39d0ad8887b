#include "commands/check/schema.h"

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "commands/common/json.h"
#include "config/keys.h"
#include "config/name_scalars.h"

namespace retryd::commands {

namespace {

using config::KeyInfo;
using config::KeyKind;
using config::ScalarInfo;
using config::Type;

/// The pattern of a value with ${NAME}: what it will be, only the reader can tell.
constexpr const char* variable = "\\$\\{";

Json text_of(const std::string& pattern) {
    return {{"type", "string"}, {"pattern", pattern.empty() ? variable : pattern + "|" + variable}};
}

/// `native`: what YAML takes for a number or boolean. The same in quotes is right too.
Json or_text(Json native, const ScalarInfo& value) {
    return {{"anyOf", {std::move(native), text_of(value.pattern)}}};
}

Json number(const char* type, const ScalarInfo& value) {
    Json native{{"type", type}};
    if (value.range) {
        native["minimum"] = value.range->least;
        native["maximum"] = value.range->most;
    }
    return or_text(std::move(native), value);
}

/// Names such as 2024 and true need no quotes.
Json any_text(const ScalarInfo& value) {
    Json types{"string", "number", "boolean"};
    if (value.may_be_null) types.push_back("null");
    Json schema{{"type", types}};
    if (!value.pattern.empty()) schema["pattern"] = value.pattern;
    return schema;
}

Json scalar(const ScalarInfo& value) {
    switch (value.type) {
        case Type::boolean:
            return or_text({{"type", "boolean"}}, value);
        case Type::integer:
            return number("integer", value);
        case Type::decimal:
            return number("number", value);
        case Type::choice:
            return or_text({{"enum", value.choices}}, value);
        case Type::percent:
        case Type::duration:
        case Type::size:
            return text_of(value.pattern);
        case Type::text:
            break;
    }
    return any_text(value);
}

/// As YAML would read it.
Json default_of(const ScalarInfo& value) {
    const bool native = value.type == Type::boolean || value.type == Type::integer || value.type == Type::decimal;
    return native ? Json::parse(value.default_value) : Json(value.default_value);
}

class Schema {
  public:
    explicit Schema(std::vector<KeyInfo> keys) : keys_(std::move(keys)) {}

    /// The map whose keys' paths begin with `prefix`.
    Json map(const std::string& prefix) const {
        Json properties = Json::object();
        Json required = Json::array();
        for (const KeyInfo& key : keys_) {
            if (!key.path.starts_with(prefix)) continue;
            const std::string name = key.path.substr(prefix.size());
            if (name.find_first_of(".[*") != std::string::npos) continue;  // a key of a section in it
            properties[name] = described(key);
            if (key.value.required) required.push_back(name);
        }
        Json map{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
        if (!required.empty()) map["required"] = required;
        if (prefix == ladder_prefix) map["oneOf"] = {{{"required", {"delays"}}}, {{"required", {"first", "attempts"}}}};
        return map;
    }

  private:
    /// A ladder has delays or a formula, which is the one rule about several keys that a schema can express.
    static constexpr const char* ladder_prefix = "ladders.*.";

    Json described(const KeyInfo& key) const {
        Json schema{{"description", key.description}};
        if (!key.value.default_value.empty()) schema["default"] = default_of(key.value);
        schema.update(value(key));
        return schema;
    }

    Json value(const KeyInfo& key) const {
        switch (key.kind) {
            case KeyKind::section:
                return or_null(map(key.path + "."));
            case KeyKind::value_or_section:
                return {{"anyOf", {any_text(key.value), map(key.path + ".")}}};
            case KeyKind::named_sections:
                return {{"type", {"object", "null"}},
                        {"propertyNames", {{"pattern", config::ladder_name_pattern}}},
                        {"additionalProperties", map(key.path + ".*.")}};
            case KeyKind::list:
                return {{"type", "array"}, {"minItems", 1}, {"items", scalar(key.value)}};
            case KeyKind::sections: {
                Json list{{"type", "array"}, {"items", map(key.path + "[].")}};
                if (key.value.required) list["minItems"] = 1;
                return key.value.required ? list : or_null(list);
            }
            case KeyKind::value:
                break;
        }
        return scalar(key.value);
    }

    /// A key without a value is the same as no key.
    static Json or_null(Json schema) {
        schema["type"] = {schema["type"], "null"};
        return schema;
    }

    std::vector<KeyInfo> keys_;
};

}  // namespace

void print_schema(std::ostream& out) {
    Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"title", "retryd.yaml"},
                {"description", "The configuration of retryd, the retry sidecar for RabbitMQ."}};
    schema.update(Schema{config::all_keys()}.map(""));
    out << schema.dump(2) << '\n';
}

}  // namespace retryd::commands
