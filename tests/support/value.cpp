#include "support/value.h"

#include <algorithm>

namespace retryd::test {

bool operator==(const Value& left, const Value& right) {
    return left.kind == right.kind && left.data == right.data;
}
bool operator==(const Field& left, const Field& right) {
    return left.name == right.name && left.value == right.value;
}

Value longstr(std::string text) {
    return {'S', std::move(text)};
}
Value bytes(std::string text) {
    return {'x', std::move(text)};
}
Value boolean(bool value) {
    return {'t', value};
}
Value signed_of(char kind, std::int64_t number) {
    return {kind, number};
}
Value unsigned_of(char kind, std::uint64_t number) {
    return {kind, number};
}
Value int32(std::int64_t number) {
    return {'I', number};
}
Value int64(std::int64_t number) {
    return {'l', number};
}
Value timestamp(std::uint64_t since_1970) {
    return {'T', since_1970};
}
Value array(Array elements) {
    return {'A', std::move(elements)};
}
Value table(Table fields) {
    return {'F', std::move(fields)};
}

const Value* find(const Table& table, std::string_view name) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const Field& field) { return field.name == name; });
    return found == table.end() ? nullptr : &found->value;
}

Table sorted(Table table) {
    std::stable_sort(table.begin(), table.end(),
                     [](const Field& left, const Field& right) { return left.name < right.name; });
    return table;
}

Table without(const Table& table, const std::vector<std::string>& names) {
    const auto named = [&](const Field& field) {
        return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
            if (!name.ends_with('*')) return field.name == name;
            name.remove_suffix(1);
            return std::string_view(field.name).starts_with(name);
        });
    };
    Table result;
    std::remove_copy_if(table.begin(), table.end(), std::back_inserter(result), named);
    return result;
}

namespace {

std::string shortened(const std::string& text) {
    constexpr std::size_t longest = 80;
    if (text.size() <= longest) return text;
    return text.substr(0, longest) + "… (" + std::to_string(text.size()) + " bytes)";
}

struct Describe {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(std::uint64_t value) const { return std::to_string(value); }
    std::string operator()(float value) const { return std::to_string(value); }
    std::string operator()(double value) const { return std::to_string(value); }
    std::string operator()(const Decimal& value) const {
        return std::to_string(value.unscaled) + "e-" + std::to_string(value.scale);
    }
    std::string operator()(const std::string& value) const { return '"' + shortened(value) + '"'; }
    std::string operator()(const Array& value) const {
        std::string text = "[";
        for (const Value& element : value)
            text += (text.size() > 1 ? ", " : "") + describe(element);
        return text + "]";
    }
    std::string operator()(const Table& value) const { return describe(value); }
};

}  // namespace

std::string describe(const Value& value) {
    return value.kind + (":" + std::visit(Describe{}, value.data));
}

std::string describe(const Table& table) {
    std::string text = "{";
    for (const Field& field : table)
        text += (text.size() > 1 ? ", " : "") + field.name + "=" + describe(field.value);
    return text + "}";
}

}  // namespace retryd::test
