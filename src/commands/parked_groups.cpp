#include "commands/parked_groups.h"

#include <algorithm>

#include "commands/json.h"
#include "commands/safe_text.h"
#include "commands/value_view.h"
#include "core/replays.h"

namespace retryd::commands {
namespace {

/// A forged reason may be as long as a header.
constexpr std::size_t longest_reason = 60;

std::string age_or_unknown(const std::optional<std::uint64_t>& seconds, core::WallTime now) {
    return seconds ? age(*seconds, now) : "(unknown)";
}

Json time_or_null(const std::optional<std::uint64_t>& seconds) {
    return seconds ? Json(utc(*seconds)) : Json();
}

}  // namespace

void ParkedGroups::add(const core::Parked& parked, const core::Message& message) {
    ++messages_;
    ParkedGroup& group = groups_[{std::string{parked.queue}, shortened(parked.reason, longest_reason)}];
    ++group.messages;
    group.bytes += message.body.size();
    if (!core::newest_replay_id(message.properties.header_table()).empty()) ++group.replayed;
    if (!parked.at) return;
    group.oldest = std::min(group.oldest.value_or(*parked.at), *parked.at);
    group.newest = std::max(group.newest.value_or(*parked.at), *parked.at);
}

Rows rows_of(const ParkedGroups& groups, core::WallTime now) {
    Rows rows{{"work queue", "reason", "messages", "oldest", "newest", "replayed before"}};
    for (const auto& [key, group] : groups.all()) {
        rows.push_back({or_unknown(key.first), or_unknown(key.second), std::to_string(group.messages),
                        age_or_unknown(group.oldest, now), age_or_unknown(group.newest, now),
                        std::to_string(group.replayed)});
    }
    return rows;
}

Json json_of(const ParkedGroups& groups) {
    Json list = Json::array();
    for (const auto& [key, group] : groups.all()) {
        Json object;
        put_text(object, "work_queue", key.first);
        put_text(object, "reason", key.second);
        object["messages"] = group.messages;
        object["bytes"] = group.bytes;
        object["oldest"] = time_or_null(group.oldest);
        object["newest"] = time_or_null(group.newest);
        object["replayed_before"] = group.replayed;
        list.push_back(std::move(object));
    }
    return list;
}

}  // namespace retryd::commands
