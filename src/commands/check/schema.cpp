#include "commands/check/schema.h"

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "commands/common/json.h"
#include "config/keys.h"

namespace retryd::commands {

namespace {

using config::KeyInfo;
using config::Type;
/// Any value may be a text that the environment completes.
constexpr const char* variable = "\\$\\{";

Json text_of(const std::string& pattern) {
    return {{"type", "string"}, {"pattern", pattern.empty() ? variable : pattern + "|" + variable}};
}

/// A number or boolean of YAML, or the same in quotes.
Json or_text(Json value, const KeyInfo& key) {
    return {{"anyOf", {std::move(value), text_of(key.pattern)}}};
}

Json number(const char* type, const KeyInfo& key) {
    Json value{{"type", type}};
    if (key.range) {
        value["minimum"] = key.range->least;
        value["maximum"] = key.range->most;
    }
    return or_text(std::move(value), key);
}

/// The reader takes a name such as 2024 or true without quotes.
Json any_text(const KeyInfo& key) {
    Json types{"string", "number", "boolean"};
    if (key.may_be_null) types.push_back("null");
    Json value{{"type", types}};
    if (!key.pattern.empty()) value["pattern"] = key.pattern;
    return value;
}

Json scalar(Type type, const KeyInfo& key) {
    switch (type) {
        case Type::boolean:
            return or_text({{"type", "boolean"}}, key);
        case Type::integer:
            return number("integer", key);
        case Type::decimal:
            return number("number", key);
        case Type::choice:
            return or_text({{"enum", key.choices}}, key);
        case Type::percent:
        case Type::duration:
        case Type::size:
            return text_of(key.pattern);
        default:
            return any_text(key);
    }
}

/// As YAML would read it.
Json fallback_of(const KeyInfo& key) {
    const bool plain = key.type == Type::boolean || key.type == Type::integer || key.type == Type::decimal;
    return plain ? Json::parse(key.fallback) : Json(key.fallback);
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
            if (name.find_first_of(".[*") != std::string::npos) continue;  // deeper down
            properties[name] = described(key);
            if (key.required) required.push_back(name);
        }
        Json map{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
        if (!required.empty()) map["required"] = required;
        if (prefix == ladder) map["oneOf"] = {{{"required", {"delays"}}}, {{"required", {"first", "attempts"}}}};
        return map;
    }

  private:
    static constexpr const char* ladder = "ladders.*.";

    Json described(const KeyInfo& key) const {
        Json schema{{"description", key.meaning}};
        if (!key.fallback.empty()) schema["default"] = fallback_of(key);
        schema.update(value(key));
        return schema;
    }

    Json value(const KeyInfo& key) const {
        switch (key.type) {
            case Type::section:
                return or_null(map(key.path + "."));
            case Type::text_or_section:
                return {{"anyOf", {any_text(key), map(key.path + ".")}}};
            case Type::named_sections:
                return {{"type", {"object", "null"}},
                        {"propertyNames", {{"pattern", "^[A-Za-z0-9_-]{1,64}$"}}},
                        {"additionalProperties", map(key.path + ".*.")}};
            case Type::list:
                return {{"type", "array"}, {"minItems", 1}, {"items", scalar(key.each, key)}};
            case Type::sections: {
                Json list{{"type", "array"}, {"items", map(key.path + "[].")}};
                if (key.required) list["minItems"] = 1;
                return key.required ? list : or_null(list);
            }
            default:
                return scalar(key.type, key);
        }
    }

    /// A key without a value is as good as none.
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
