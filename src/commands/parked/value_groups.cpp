#include "commands/parked/value_groups.h"

#include <algorithm>
#include <ostream>
#include <utility>
#include <vector>

#include "admin/rabbitmqctl.h"
#include "admin/replay.h"
#include "commands/common/json.h"
#include "commands/common/text.h"
#include "commands/parked/value_view.h"
#include "core/safe_text.h"

namespace retryd::commands {

namespace {

constexpr std::size_t longest_kept_value = 200;
constexpr std::size_t most_printed = 100;

using ValueGroup = std::pair<GroupValue, ParkedGroup>;

GroupValue value_of_header(const core::Value* value) {
    if (value == nullptr) return {};
    auto text = admin::header_text(value);
    return text ? GroupValue{std::move(*text)} : GroupValue{text_of_value(*value), false};
}

std::vector<ValueGroup> largest_first(const ValueGroups& groups) {
    std::vector<ValueGroup> sorted(groups.all().begin(), groups.all().end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const ValueGroup& left, const ValueGroup& right) {
        return left.second.messages > right.second.messages;
    });
    return sorted;
}

std::string age_of(const std::optional<std::uint64_t>& seconds, core::WallTime now) {
    return seconds ? age(*seconds, now) : "(unknown)";
}

std::vector<std::string> row_of(const std::string& value, const ParkedGroup& group, core::WallTime now,
                                const std::string& options) {
    return {value,
            std::to_string(group.messages),
            age_of(group.oldest, now),
            age_of(group.newest, now),
            std::to_string(group.replayed),
            options};
}

Json json_of_group(const ParkedGroup& group) {
    return {{"messages", group.messages},
            {"bytes", group.bytes},
            {"oldest", group.oldest ? Json(utc(*group.oldest)) : Json()},
            {"newest", group.newest ? Json(utc(*group.newest)) : Json()},
            {"replayed_before", group.replayed}};
}

}  // namespace

GroupValue value_by(const std::string& by, const admin::Parked& parked, const core::Message& message) {
    if (by == "reason") return {std::string{parked.reason}};
    if (by == "queue") return {std::string{parked.queue}};
    if (by == "type") return {std::string{message.properties.type.value_or(std::string_view{})}};
    if (by == "exchange") return {std::string{admin::exchange_of(parked)}};
    return value_of_header(core::find(message.properties.header_table(), by));
}

/// In a glob * and ? stand for others, which is more than was counted; nothing selects what has no value, nor a header
/// whose name has a =.
std::string options_for(const std::string& by, const GroupValue& group) {
    const std::string& value = group.text;
    const bool printable = !value.empty() && value.size() < longest_kept_value && value.find('\0') == value.npos;
    if (!printable || !group.selectable) return "";
    if (by == "reason" || by == "queue" || by == "exchange" || by == "type")
        return "--" + by + ' ' + admin::shell_word(value);
    return by.find('=') != std::string::npos ? "" : "--header " + admin::shell_word(by + "=" + value);
}

void ValueGroups::add(const GroupValue& value, const admin::Parked& parked, const core::Message& message) {
    const GroupValue kept{shortened(value.text, longest_kept_value), value.selectable};
    const bool room = groups_.size() < most_values || groups_.count(kept) > 0;
    count_into(room ? groups_[kept] : others_, parked, message);
}

void print_groups(const std::string& by, const ValueGroups& groups, core::WallTime now, std::ostream& out) {
    Rows rows{{core::safe_name(by), "messages", "oldest", "newest", "replayed before", "selected by"}};
    const auto sorted = largest_first(groups);
    ParkedGroup rest = groups.others();
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const auto& [value, group] = sorted[i];
        if (i < most_printed) {
            const std::string shown = value.text.empty() ? "(none)" : core::safe_name(value.text);
            rows.push_back(row_of(shown, group, now, options_for(by, value)));
        } else {
            rest.messages += group.messages;
        }
    }
    print_table(rows, "  ", out);
    if (rest.messages > 0)
        out << "  and " << counted(rest.messages, "message", "messages") << " with other values; --json has up to "
            << ValueGroups::most_values << " of them\n";
}

Json json_of_groups(const std::string& by, const ValueGroups& groups) {
    Json list = Json::array();
    for (const auto& [value, group] : largest_first(groups)) {
        Json object;
        put_text(object, "value", value.text);
        object.update(json_of_group(group));
        object["selected_by"] = text_or_null(options_for(by, value));
        list.push_back(std::move(object));
    }
    if (groups.others().messages > 0) {
        Json object{{"value", Json()}, {"others", true}};
        object.update(json_of_group(groups.others()));
        list.push_back(std::move(object));
    }
    return list;
}

}  // namespace retryd::commands
