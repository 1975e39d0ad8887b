#include "core/compose_replay.h"

#include <algorithm>
#include <array>

#include "core/names.h"

namespace retryd::core {
namespace {

/// The count and the age of the former life.
bool begins_anew(const Field& field) {
    constexpr std::array gone{header::attempt, header::reason, header::first_death, header::replays, header::queue};
    return std::find(gone.begin(), gone.end(), field.name) != gone.end();
}

std::vector<Replay> with_this_one(const Table& headers, const Parked& parked, std::string_view to,
                                  const ReplayStamp& stamp) {
    std::vector<Replay> replays = read_replays(headers);
    replays.insert(replays.begin(), {stamp.time, stamp.id, stamp.from, to, parked.reason.substr(0, longest_replay_text),
                                     parked.attempts});
    return replays;
}

}  // namespace

Story story_of(const Parked& parked, std::string_view connection_user) {
    return {parked.death, parked.carried, connection_user};
}

Message compose_replay(const Message& message, const Parked& parked, std::string_view to, const ReplayStamp& stamp,
                       std::string_view connection_user, ReplayScratch& scratch) {
    const Story story = story_of(parked, connection_user);
    Message composed = compose_home(message, story, scratch.compose);
    std::vector<Field>& fields = scratch.compose.fields;
    std::erase_if(fields, begins_anew);
    fields.push_back({header::queue, Value::of_longstr(to)});
    const auto replays = with_this_one(message.properties.header_table(), parked, to, stamp);
    fields.push_back({header::replays, write_replays(replays, scratch.replays)});
    composed.properties.headers = Table{fields.data(), fields.size()};
    return composed;
}

}  // namespace retryd::core
