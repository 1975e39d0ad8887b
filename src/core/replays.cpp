#include "core/replays.h"

#include <algorithm>

#include "core/names.h"
#include "core/utf8.h"

namespace retryd::core {
namespace {

std::string_view text_in(const Table& entry, std::string_view name) {
    return utf8_prefix(text_of(find(entry, name)).value_or(""), longest_replay_text);
}

Replay replay_of(const Table& entry) {
    Replay replay;
    replay.time = static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer_of(find(entry, "time")).value_or(0)));
    replay.id = text_in(entry, "id");
    replay.from = text_in(entry, "from");
    replay.to = text_in(entry, "to");
    replay.parked_reason = text_in(entry, "parked-reason");
    replay.attempts = std::max<std::int64_t>(0, integer_of(find(entry, "attempts")).value_or(0));
    return replay;
}

}  // namespace

std::vector<Replay> read_replays(const Table& headers) {
    std::vector<Replay> replays;
    const auto entries = array_of(find(headers, header::replays));
    if (!entries) return replays;
    for (const Value& value : *entries) {
        const auto entry = table_of(&value);
        if (!entry || replays.size() == most_replays) break;
        replays.push_back(replay_of(*entry));
    }
    return replays;
}

std::string_view newest_replay_id(const Table& headers) {
    const auto entries = array_of(find(headers, header::replays));
    const auto newest = entries && !entries->empty() ? table_of(entries->begin()) : std::nullopt;
    return newest ? text_in(*newest, "id") : "";
}

Value write_replays(const std::vector<Replay>& replays, ReplayFields& fields) {
    fields.tables.clear();
    fields.elements.clear();
    for (const Replay& replay : replays) {
        if (fields.elements.size() == most_replays) break;
        const std::vector<Field>& entry = fields.tables.emplace_back(std::vector<Field>{
            {"time", Value::of_timestamp(replay.time)},
            {"id", Value::of_longstr(replay.id)},
            {"from", Value::of_longstr(replay.from)},
            {"to", Value::of_longstr(replay.to)},
            {"parked-reason", Value::of_longstr(replay.parked_reason)},
            {"attempts", Value::of_long(replay.attempts)},
        });
        fields.elements.push_back({Kind::table, Table{entry.data(), entry.size()}});
    }
    return {Kind::array, Array{fields.elements.data(), fields.elements.size()}};
}

}  // namespace retryd::core
