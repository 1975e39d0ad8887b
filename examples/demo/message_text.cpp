#include "message_text.h"

#include <array>
#include <ctime>

namespace retryd::demo {
namespace {

std::string calendar_text(std::uint64_t seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm parts{};
    gmtime_r(&time, &parts);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

/// An entry of x-death; empty if it is none.
std::string death_text(const core::Table& table) {
    const auto queue = core::text_of(core::find(table, "queue"));
    const auto reason = core::text_of(core::find(table, "reason"));
    const auto count = core::integer_of(core::find(table, "count"));
    if (!queue || !reason || !count) return "";
    return std::string{*reason} + " in " + std::string{*queue} + " (count " + std::to_string(*count) + ")";
}

std::string table_text(const core::Table& table) {
    std::string text = death_text(table);
    if (!text.empty()) return text;
    for (const core::Field& field : table) {
        if (!text.empty()) text += ", ";
        text.append(field.name).append(": ").append(text_of(field.value));
    }
    return text;
}

std::string array_text(const core::Array& array) {
    std::string text;
    for (const core::Value& value : array) {
        if (!text.empty()) text += ", ";
        text += text_of(value);
    }
    return text;
}

}  // namespace

std::string text_of(const core::Value& value) {
    if (const auto text = core::text_of(&value)) return std::string{*text};
    if (const auto array = core::array_of(&value)) return array_text(*array);
    if (const auto table = core::table_of(&value)) return table_text(*table);
    const auto number = core::integer_of(&value);
    if (!number) return "(another type)";
    return value.kind == core::Kind::timestamp ? calendar_text(static_cast<std::uint64_t>(*number))
                                               : std::to_string(*number);
}

}  // namespace retryd::demo
