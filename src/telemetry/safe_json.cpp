#include "telemetry/safe_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/safe_text.h"

namespace retryd::telemetry {

namespace {

using Json = nlohmann::ordered_json;

/// Only values: the keys are ours.
void make_utf8(Json& json) {
    if (const auto* text = json.get_ptr<const Json::string_t*>()) {
        if (!core::is_utf8(*text)) json = core::safe_name(*text);
    } else if (json.is_structured()) {
        for (Json& element : json)
            make_utf8(element);
    }
}

}  // namespace

std::string to_safe_json(Json json, int indent) {
    make_utf8(json);
    return core::safe_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace retryd::telemetry
