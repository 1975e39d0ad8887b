#include "support/message.h"

namespace retryd::test {

std::string text_header(const Message& message, std::string_view name) {
    const Value* value = find(message.headers, name);
    if (value == nullptr) return "(absent)";
    if (value->kind != 'S') return "(" + describe(*value) + ")";
    return std::get<std::string>(value->data);
}

std::int64_t long_header(const Message& message, std::string_view name) {
    const Value* value = find(message.headers, name);
    return value != nullptr && value->kind == 'l' ? std::get<std::int64_t>(value->data) : -1;
}

}  // namespace retryd::test
