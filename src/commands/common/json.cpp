#include "commands/common/json.h"

#include <ostream>

namespace retryd::commands {

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

void print_json(const Json& json, std::ostream& out, bool one_line) {
    out << json.dump(one_line ? -1 : 2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace retryd::commands
