#include "commands/desk/message_handle.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands/common/json.h"
#include "commands/parked/message_line.h"
#include "core/fingerprint.h"
#include "core/siphash.h"
#include "system/random.h"

namespace retryd::commands {

namespace {

struct HandleKeys {
    core::SipKey first{system::random_word(), system::random_word()};
    core::SipKey second{system::random_word(), system::random_word()};
};

std::string hash_of(const HandleKeys& keys, std::string_view text) {
    return core::hex(core::siphash(keys.first, text)) + core::hex(core::siphash(keys.second, text));
}

/// Without what the broker counts, and in an order that does not depend on the broker.
std::vector<core::Field> lasting_headers(const core::Message& message) {
    std::vector<core::Field> fields;
    for (const core::Field& field : message.properties.header_table()) {
        if (field.name != "x-delivery-count" && field.name != "x-acquired-count") fields.push_back(field);
    }
    std::stable_sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return fields;
}

}  // namespace

std::string handle_of(const core::Message& message) {
    static const HandleKeys keys;
    const std::vector<core::Field> fields = lasting_headers(message);
    Json json = Json::array({json_of_properties(message.properties),
                             exact_json_of(core::Table{fields.data(), fields.size()}), hash_of(keys, message.body)});
    return hash_of(keys, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

bool is_handle(std::string_view text) {
    return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

ChosenMessages::ChosenMessages(const std::vector<std::string>& handles) {
    for (const std::string& handle : handles)
        ++wanted_[handle];
    left_ = wanted_;
}

bool ChosenMessages::take(const core::Message& message) {
    const auto found = left_.find(handle_of(message));
    if (found == left_.end() || found->second == 0) return false;
    --found->second;
    return true;
}

}  // namespace retryd::commands
