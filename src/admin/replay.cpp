#include "admin/replay.h"

#include <algorithm>
#include <array>

#include "core/names.h"
#include "core/text.h"

namespace retryd::admin {

namespace {

std::string_view text_in(const core::Table& entry, std::string_view name) {
    return core::utf8_prefix(text_of(find(entry, name)).value_or(""), longest_replay_text);
}

Replay replay_of(const core::Table& entry) {
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

std::vector<Replay> read_replays(const core::Table& headers) {
    std::vector<Replay> replays;
    const auto entries = array_of(find(headers, core::header::replays));
    if (!entries) return replays;
    for (const core::Value& value : *entries) {
        const auto entry = table_of(&value);
        if (!entry || replays.size() == most_replays) break;
        replays.push_back(replay_of(*entry));
    }
    return replays;
}

std::string_view newest_replay_id(const core::Table& headers) {
    const auto entries = array_of(find(headers, core::header::replays));
    const auto newest = entries && !entries->empty() ? table_of(entries->begin()) : std::nullopt;
    return newest ? text_in(*newest, "id") : "";
}

core::Value write_replays(const std::vector<Replay>& replays, ReplayFields& fields) {
    fields.tables.clear();
    fields.elements.clear();
    for (const Replay& replay : replays) {
        if (fields.elements.size() == most_replays) break;
        const std::vector<core::Field>& entry = fields.tables.emplace_back(std::vector<core::Field>{
            {"time", core::Value::of_timestamp(replay.time)},
            {"id", core::Value::of_longstr(replay.id)},
            {"from", core::Value::of_longstr(replay.from)},
            {"to", core::Value::of_longstr(replay.to)},
            {"parked-reason", core::Value::of_longstr(replay.parked_reason)},
            {"attempts", core::Value::of_long(replay.attempts)},
        });
        fields.elements.push_back({core::Kind::table, core::Table{entry.data(), entry.size()}});
    }
    return {core::Kind::array, core::Array{fields.elements.data(), fields.elements.size()}};
}

namespace {

/// Headers that carry the attempts and the age of a message; a replay starts both anew.
bool is_reset(const core::Field& field) {
    constexpr std::array reset{core::header::attempt, core::header::reason, core::header::first_death,
                               core::header::replays, core::header::queue,  core::header::proof};
    return std::find(reset.begin(), reset.end(), field.name) != reset.end();
}

std::vector<Replay> with_this_one(const core::Table& headers, const Parked& parked, std::string_view to,
                                  const ReplayStamp& stamp) {
    std::vector<Replay> replays = read_replays(headers);
    replays.insert(replays.begin(), {stamp.time, stamp.id, stamp.from, to, parked.reason.substr(0, longest_replay_text),
                                     parked.attempts});
    return replays;
}

}  // namespace

core::ComposeContext compose_context_of(const Parked& parked, std::string_view connection_user,
                                        const core::ProofKeys& keys) {
    const core::Value* const x_death = parked.carried.proven ? parked.carried.x_death : nullptr;
    return {parked.death, parked.carried, connection_user, &keys, false, x_death};
}

core::Message compose_replay(const core::Message& message, const Parked& parked, std::string_view to,
                             const ReplayStamp& stamp, const core::ComposeContext& context, ReplayScratch& scratch) {
    core::Message composed = compose_return(message, context, scratch.compose);
    std::vector<core::Field>& fields = scratch.compose.fields;
    std::erase_if(fields, is_reset);
    fields.push_back({core::header::queue, core::Value::of_longstr(to)});
    if (context.death || context.history.proven) add_proof(context, scratch.compose);
    const auto replays = with_this_one(message.properties.header_table(), parked, to, stamp);
    fields.push_back({core::header::replays, write_replays(replays, scratch.replays)});
    composed.properties.headers = core::Table{fields.data(), fields.size()};
    return composed;
}

}  // namespace retryd::admin
