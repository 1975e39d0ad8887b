#include "commands/common/json.h"

#include <ostream>

#include "telemetry/safe_json.h"

namespace retryd::commands {

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

std::string json_key(std::string_view text) {
    std::string key{text};
    for (char& c : key) {
        if (c == ' ' || c == '-') c = '_';
    }
    return key;
}

Json json_of(const BrokerIdentity& broker) {
    return {{"host", broker.host},
            {"port", broker.port},
            {"tls", broker.tls},
            {"vhost", broker.vhost},
            {"version", core::to_string(broker.version)}};
}

void print_json(const Json& json, std::ostream& out, bool one_line) {
    out << telemetry::to_safe_json(json, one_line ? -1 : 2) << '\n';
}

}  // namespace retryd::commands
