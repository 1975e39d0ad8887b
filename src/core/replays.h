// How often a message was sent back out of a parking queue: the header `retryd-replays`, an array of tables, the newest
// first. Written by `retryd parked replay` alone; the daemon carries it like any header that is not its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace retryd::core {

/// One of them. Texts are views into the header table, cut to longest_replay_text; empty where absent.
struct Replay {
    std::uint64_t time = 0;      // seconds
    std::string_view id = {};    // the same for all that one run of the command sent
    std::string_view from = {};  // the parking queue
    std::string_view to = {};    // the work queue
    std::string_view parked_reason = {};
    std::int64_t attempts = 0;  // how often it had died there when it was parked
};

inline constexpr std::size_t most_replays = 16;
inline constexpr std::size_t longest_replay_text = 255;

/// At most most_replays. Anyone who may publish can forge the header: an element that is no table ends the list, a
/// field of another type is as if it were not there.
std::vector<Replay> read_replays(const Table& headers);

/// The id of the newest one; empty where there is none.
std::string_view newest_replay_id(const Table& headers);

/// Owns the structure of a written header, not its texts.
struct ReplayFields {
    std::deque<std::vector<Field>> tables;
    std::vector<Value> elements;
};

/// As a header's value, made anew from what was read, so that nothing a stranger put there travels on. Of more than
/// most_replays the oldest are left out. Valid as long as `fields` and the texts.
Value write_replays(const std::vector<Replay>& replays, ReplayFields& fields);

}  // namespace retryd::core
