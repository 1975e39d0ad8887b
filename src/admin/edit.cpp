#include "admin/edit.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/death.h"
#include "core/names.h"
#include "core/own_headers.h"
#include "core/text.h"

namespace retryd::admin {

namespace {

std::string_view short_text(const core::Value* value) {
    return core::utf8_prefix(text_of(value).value_or(""), longest_edit_text);
}

Edit edit_of(const core::Table& entry) {
    Edit edit;
    edit.time = static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer_of(find(entry, "time")).value_or(0)));
    edit.by = short_text(find(entry, "by"));
    for (const core::Value& name : array_of(find(entry, "fields")).value_or(core::Array{})) {
        if (edit.fields.size() == most_edited_fields) break;
        if (text_of(&name)) edit.fields.push_back(short_text(&name));
    }
    return edit;
}

bool is_counted_by_broker(std::string_view name) {
    return name == "x-delivery-count" || name == "x-acquired-count";
}

std::vector<std::string> changed_properties(const core::Properties& was, const core::Properties& is) {
    std::vector<std::string> changed;
    for (const core::TextProperty& each : core::text_properties) {
        if (was.*each.value != is.*each.value) changed.emplace_back(each.name);
    }
    if (was.delivery_mode != is.delivery_mode) changed.emplace_back("delivery-mode");
    if (was.priority != is.priority) changed.emplace_back("priority");
    if (was.timestamp != is.timestamp) changed.emplace_back("timestamp");
    return changed;
}

using ValuesByName = std::map<std::string_view, std::vector<core::Value>>;

ValuesByName by_name(const std::vector<core::Field>& fields) {
    ValuesByName values;
    for (const core::Field& field : fields)
        values[field.name].push_back(field.value);
    return values;
}

bool same_values(const std::vector<core::Value>& left, const std::vector<core::Value>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const core::Value& a, const core::Value& b) { return equal(a, b); });
}

std::vector<std::string> changed_headers(const core::Message& was, const core::Message& is) {
    std::map<std::string_view, std::pair<std::vector<core::Value>, std::vector<core::Value>>> all;
    for (auto& [name, values] : by_name(editable_headers(was)))
        all[name].first = values;
    for (auto& [name, values] : by_name(editable_headers(is)))
        all[name].second = values;
    std::vector<std::string> changed;
    for (const auto& [name, values] : all) {
        if (!same_values(values.first, values.second)) changed.push_back("header " + std::string{name});
    }
    return changed;
}

std::vector<core::Field> without_counts(const core::Table& headers) {
    std::vector<core::Field> fields;
    std::copy_if(headers.begin(), headers.end(), std::back_inserter(fields),
                 [](const core::Field& field) { return !is_counted_by_broker(field.name); });
    return fields;
}

}  // namespace

std::vector<Edit> read_edits(const core::Table& headers) {
    std::vector<Edit> edits;
    for (const core::Value& value : array_of(find(headers, core::header::edited)).value_or(core::Array{})) {
        const auto entry = table_of(&value);
        if (!entry || edits.size() == most_edits) break;
        edits.push_back(edit_of(*entry));
    }
    return edits;
}

bool is_editable_header(std::string_view name) {
    return !name.starts_with(core::own_prefix) && name != core::x_death && !name.starts_with("x-first-death-") &&
           !name.starts_with("x-last-death-") && !is_counted_by_broker(name);
}

std::vector<core::Field> editable_headers(const core::Message& message) {
    const core::Table headers = message.properties.header_table();
    std::vector<core::Field> fields;
    std::copy_if(headers.begin(), headers.end(), std::back_inserter(fields),
                 [](const core::Field& field) { return is_editable_header(field.name); });
    return fields;
}

std::vector<std::string> changed_fields(const core::Message& was, const core::Message& is) {
    std::vector<std::string> changed = changed_properties(was.properties, is.properties);
    const auto headers = changed_headers(was, is);
    changed.insert(changed.end(), headers.begin(), headers.end());
    if (was.body != is.body) changed.emplace_back("body");
    return changed;
}

bool same_message(const core::Message& left, const core::Message& right) {
    if (left.body != right.body || !changed_properties(left.properties, right.properties).empty()) return false;
    const ValuesByName one = by_name(without_counts(left.properties.header_table()));
    const ValuesByName other = by_name(without_counts(right.properties.header_table()));
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const auto& a, const auto& b) {
        return a.first == b.first && same_values(a.second, b.second);
    });
}

namespace {

core::Value value_of(const Edit& edit, EditScratch& scratch) {
    std::vector<core::Value>& names = scratch.names.emplace_back();
    for (const std::string_view name : edit.fields) {
        if (names.size() == most_edited_fields) break;
        names.push_back(core::Value::of_longstr(core::utf8_prefix(name, longest_edit_text)));
    }
    const std::vector<core::Field>& entry = scratch.tables.emplace_back(std::vector<core::Field>{
        {"time", core::Value::of_timestamp(edit.time)},
        {"by", core::Value::of_longstr(core::utf8_prefix(edit.by, longest_edit_text))},
        {"fields", {core::Kind::array, core::Array{names.data(), names.size()}}},
    });
    return {core::Kind::table, core::Table{entry.data(), entry.size()}};
}

}  // namespace

core::Message compose_edited(const core::Message& original, const core::Message& edited, const Edit& edit,
                             EditScratch& scratch) {
    scratch = {};
    scratch.elements.push_back(value_of(edit, scratch));
    for (const Edit& earlier : read_edits(original.properties.header_table())) {
        if (scratch.elements.size() == most_edits) break;
        scratch.elements.push_back(value_of(earlier, scratch));
    }
    scratch.fields = editable_headers(edited);
    for (const core::Field& field : original.properties.header_table()) {
        if (!is_editable_header(field.name) && !is_counted_by_broker(field.name) && field.name != core::header::edited)
            scratch.fields.push_back(field);
    }
    scratch.fields.push_back(
        {core::header::edited, {core::Kind::array, core::Array{scratch.elements.data(), scratch.elements.size()}}});
    core::Message composed = edited;
    composed.properties.headers = core::Table{scratch.fields.data(), scratch.fields.size()};
    return composed;
}

}  // namespace retryd::admin
