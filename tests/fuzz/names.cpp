// Names, globs, durations, sizes and versions: what is parsed from them and composed into them.
#include "core/names.h"

#include <string>
#include <vector>

#include "config/scalars.h"
#include "core/broker_features.h"
#include "core/duration.h"
#include "core/text.h"
#include "core/topology.h"
#include "fuzz/bytes.h"
#include "fuzz/checked_settings.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"

namespace retryd::fuzz {
namespace {

using core::Milliseconds;

/// A millisecond, with room for sanitizers and a debug build.
constexpr std::chrono::milliseconds name_patience{20};

bool is_utf8(std::string_view text) {
    return core::valid_utf8_length(text) == text.size();
}

void measures(std::string_view text) {
    if (const auto duration = core::parse_duration(text)) {
        require(*duration >= Milliseconds::zero() && *duration <= core::longest_ttl, "a duration is a possible TTL");
        require(core::parse_duration(core::format_duration(*duration)) == duration, "a duration has one spelling");
    }
    if (const auto size = config::parse_size(text)) {
        require(*size <= config::largest_size, "a size is bounded");
        require(config::parse_size(config::format_size(*size)) == size, "a size can be written");
    }
    if (const auto steps = config::parse_steps(text)) {
        require(steps->times >= 1 && steps->times <= config::longest_ladder, "a step is taken a few times");
    }
    if (const auto version = core::parse_version(text)) {
        require(core::parse_version(core::to_string(*version)) == version, "a version can be written");
        core::features_of(*version);
        core::remarks(*version);
    }
}

/// The slow and obvious way: which prefixes of the name each prefix of the glob matches.
bool matches(std::string_view glob, std::string_view name) {
    std::vector<bool> reached(name.size() + 1);
    reached[0] = true;
    for (const char g : glob) {
        std::vector<bool> next(name.size() + 1);
        next[0] = g == '*' && reached[0];
        for (std::size_t n = 1; n <= name.size(); ++n)
            next[n] = g == '*' ? reached[n] || next[n - 1] : reached[n - 1] && (g == '?' || g == name[n - 1]);
        reached = std::move(next);
    }
    return reached[name.size()];
}

void globs(std::string_view glob, std::string_view name) {
    bool found = false;
    const auto time = time_of([&] { found = core::glob_matches(glob, name); });
    require(time <= name_patience, "a glob is matched within a millisecond");
    require(found == matches(glob, name), "a glob matches what it should");
    require(core::is_glob(glob) || found == (glob == name), "what is no glob matches itself");
}

void own_rung(std::string_view queue, Milliseconds delay, bool high) {
    const std::string name = core::rung_name(queue, delay, high);
    require(core::usable_queue_name(name), "a rung's name is possible");
    require(core::looks_like_rung(name), "a rung looks like one");
    require(!is_utf8(queue) || is_utf8(name), "a name is cut between two characters");
    const core::Ladder ladder{"l", {delay}};
    const auto topology = core::rung_topology({}, ladder, queue, delay, high, {});
    const auto& spec = std::get<core::QueueSpec>(topology.at(0));
    require(core::parse_rung(spec.name, spec.arguments) ==
                core::ParsedRung{std::string{queue}, core::ReturnPath::queue, delay},
            "a rung is known again");
}

/// As a configuration may have it: one {queue} at most, and room for a name.
void templates(std::string_view pattern, std::string_view queue) {
    const std::string longest = core::expand_queue(pattern, std::string(core::longest_queue_name, 'q'));
    if (longest.size() > core::longest_queue_name || !core::usable_queue_name(longest)) return;
    const std::string expanded = core::expand_queue(pattern, queue);
    require(core::usable_queue_name(expanded), "a queue that is parked in has a possible name");
    require(!is_utf8(pattern) || !is_utf8(queue) || is_utf8(expanded), "a name is cut between two characters");
}

void shared_rung(std::string_view text, Milliseconds delay, bool high) {
    std::string ladder;
    for (const char c : text.substr(0, 64))
        ladder += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ? c : 'x';
    if (ladder.empty()) return;
    const std::string name = core::shared_rung_name(ladder, delay, high);
    require(core::usable_queue_name(name) && core::looks_like_shared_rung(name), "a shared rung looks like one");
}

}  // namespace

void names(std::string_view input) {
    Bytes bytes{input};
    const std::uint8_t options = bytes.byte();
    const auto most = static_cast<std::uint64_t>(core::longest_ttl.count());
    const Milliseconds delay{static_cast<std::int64_t>(bytes.eight() % most) + 1};
    const std::string_view one = bytes.text_until('\0');
    const std::string_view other = bytes.rest();
    measures(one);
    globs(one.substr(0, 255), other.substr(0, 255));
    core::looks_like_rung(one);
    core::looks_like_shared_rung(one);
    if (!core::usable_queue_name(other)) return;
    own_rung(other, delay, (options & 1U) != 0);
    templates(one, other);
    shared_rung(other, delay, (options & 1U) != 0);
}

}  // namespace retryd::fuzz
