// Composes the message that goes from a parking queue back to its work queue, and keeps the record of that in the
// header `retryd-replays`: an array of tables, the newest first. Only `retryd parked replay` writes that header; the
// daemon leaves it alone, as it does every header that is not its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "admin/parked.h"
#include "core/compose.h"
#include "core/value.h"

namespace retryd::admin {

/// One replay of a message. Texts are views into the header table, cut to longest_replay_text; empty if absent.
struct Replay {
    std::uint64_t time = 0;      // seconds
    std::string_view id = {};    // the same for all messages of one run of the command
    std::string_view from = {};  // the parking queue
    std::string_view to = {};    // the work queue
    std::string_view parked_reason = {};
    std::int64_t attempts = 0;  // how often it had died in the work queue when it was parked
};

inline constexpr std::size_t most_replays = 16;
inline constexpr std::size_t longest_replay_text = 255;

/// At most most_replays. Anyone who may publish can forge the header: an element that is not a table ends the list, and
/// a field of another type is ignored.
std::vector<Replay> read_replays(const core::Table& headers);

/// The id of the newest one; empty if there is none.
std::string_view newest_replay_id(const core::Table& headers);

/// Owns the structure of a written header, not its texts.
struct ReplayFields {
    std::deque<std::vector<core::Field>> tables;
    std::vector<core::Value> elements;
};

/// The header value, composed from what was read, so that nothing else that a client put there is passed on. If there
/// are more than most_replays, the oldest are left out. Valid as long as `fields` and the texts.
core::Value write_replays(const std::vector<Replay>& replays, ReplayFields& fields);

/// What is recorded about the current replay.
struct ReplayStamp {
    std::uint64_t time = 0;  // seconds
    std::string_view id;
    std::string_view from;
};

struct ReplayScratch {
    core::ComposeScratch compose;
    ReplayFields replays;
};

/// As compose_retry, but attempts and age start anew: retryd-attempt, retryd-reason, retryd-first-death and
/// retryd-parked-* are removed. What the producer set is kept (retryd-exchange, retryd-routing-key, what was moved to
/// headers), and retryd-queue names `to`, so that a later failure there still knows it; with a proof if the history was
/// proven. `context` is compose_context_of(parked). The result holds views into all arguments.
core::Message compose_replay(const core::Message& message, const Parked& parked, std::string_view to,
                             const ReplayStamp& stamp, const core::ComposeContext& context, ReplayScratch& scratch);

/// The compose context for a parked message. `keys` must outlive it.
core::ComposeContext compose_context_of(const Parked& parked, std::string_view connection_user,
                                        const core::ProofKeys& keys);

}  // namespace retryd::admin
