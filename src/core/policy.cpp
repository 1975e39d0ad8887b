#include "core/policy.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/names.h"

namespace retryd::core {

namespace {

/// Whether the entry parks messages of a work queue that it matches in a queue of that name.
bool parks_in(const Entry& entry, std::string_view queue) {
    const std::string_view pattern = entry.parked.queue;
    const std::size_t at = pattern.find(queue_placeholder);
    if (at == std::string_view::npos) return !pattern.empty() && queue == pattern;
    const std::string_view before = pattern.substr(0, at);
    const std::string_view after = pattern.substr(at + queue_placeholder.size());
    if (queue.size() <= before.size() + after.size()) return false;
    if (!queue.starts_with(before) || !queue.ends_with(after)) return false;
    queue.remove_prefix(before.size());
    queue.remove_suffix(after.size());
    return glob_matches(entry.match, queue);
}

bool is_held_queue(const Policy& policy, std::string_view queue) {
    if (!queue.ends_with(held_suffix) || queue.size() == held_suffix.size()) return false;
    queue.remove_suffix(held_suffix.size());
    return std::any_of(policy.entries.begin(), policy.entries.end(),
                       [&](const Entry& entry) { return may_hold(entry) && glob_matches(entry.match, queue); });
}

}  // namespace

std::string_view to_string(QueueType type) {
    return type == QueueType::quorum ? "quorum" : "classic";
}

std::string_view to_string(ReturnPath path) {
    return path == ReturnPath::queue ? "queue" : "headers";
}

std::string_view to_string(XDeath deaths) {
    return deaths == XDeath::keep ? "keep" : "remove";
}

std::string_view to_string(FailuresBy failures) {
    return failures == FailuresBy::source ? "source" : "error_queue";
}

std::string_view to_string(Action action) {
    switch (action) {
        case Action::retry:
            return "retry";
        case Action::drop:
            return "drop";
        case Action::park:
            break;
    }
    return "park";
}

std::vector<Milliseconds> lanes_of(Milliseconds step, const Jitter& jitter) {
    std::vector<Milliseconds> lanes;
    for (int lane = 0; lane < jitter.lanes; ++lane)
        lanes.push_back(lane_delay(step, jitter, lane));
    return lanes;
}

std::vector<Milliseconds> distinct_delays(const Ladder& ladder) {
    std::vector<Milliseconds> delays;
    for (const Milliseconds step : ladder.steps) {
        for (const Milliseconds delay : lanes_of(step, ladder.jitter)) {
            if (std::find(delays.begin(), delays.end(), delay) == delays.end()) delays.push_back(delay);
        }
    }
    return delays;
}

const Entry* match(const Policy& policy, std::string_view work_queue) {
    // Not a queue, though the broker says that it is there; and it ends the connection (541) that asks for one with
    // more behind it that is not real, such as the name of its rung (tried on 3.10.8, 4.0.5 and 4.3.6).
    constexpr std::string_view direct_reply_to = "amq.rabbitmq.reply-to";
    if (is_own_queue(policy, work_queue) || work_queue.starts_with(direct_reply_to)) return nullptr;
    if (!policy.sources.empty() && is_source(policy, work_queue)) return nullptr;
    const auto& entries = policy.entries;
    auto entry =
        std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return glob_matches(e.match, work_queue); });
    if (entry == entries.end()) return nullptr;
    // What a framework keeps for itself is a work queue only for an entry with its very name.
    if (is_known_plumbing(work_queue) && entry->match != work_queue) {
        entry = std::find_if(entry, entries.end(), [&](const Entry& e) { return e.match == work_queue; });
    }
    return entry == entries.end() ? nullptr : &*entry;
}

bool is_own_queue(const Policy& policy, std::string_view queue) {
    return queue == policy.error_queue || looks_like_rung(queue) || looks_like_shared_rung(queue) ||
           is_parking_queue(policy, queue) || is_held_queue(policy, queue);
}

bool is_parking_queue(const Policy& policy, std::string_view queue) {
    if (queue == policy.catch_all) return true;
    const auto any = [&](const auto& condition) {
        return std::any_of(policy.entries.begin(), policy.entries.end(), condition);
    };
    if (any([&](const Entry& entry) { return parks_in(entry, queue); })) return true;
    // A shortened name is about as long as one may be: no character of it is cut in two.
    constexpr std::size_t shortest_of_them = longest_queue_name - 3;
    return queue.size() >= shortest_of_them && any([&](const Entry& entry) {
               return !is_glob(entry.match) && queue == expand_queue(entry.parked.queue, entry.match);
           });
}

bool has_shared_ladder(const Policy& policy) {
    return std::any_of(policy.entries.begin(), policy.entries.end(),
                       [](const Entry& entry) { return entry.ladder.return_path == ReturnPath::headers; });
}

bool is_source(const Policy& policy, std::string_view queue) {
    return std::any_of(policy.sources.begin(), policy.sources.end(),
                       [&](const Source& source) { return glob_matches(source.queue, queue); });
}

std::optional<std::size_t> source_of(const Policy& policy, std::string_view queue) {
    if (is_own_queue(policy, queue)) return std::nullopt;
    for (std::size_t i = 0; i < policy.sources.size(); ++i) {
        if (glob_matches(policy.sources[i].queue, queue)) return i;
    }
    return std::nullopt;
}

bool may_name(const Source& source, std::string_view work_queue) {
    switch (source.work_queue.place) {
        case WorkQueueOf::Place::name:
            return source.work_queue.text == work_queue;
        case WorkQueueOf::Place::suffix:
            return glob_matches(source.queue, std::string{work_queue} + source.work_queue.text);
        case WorkQueueOf::Place::header:
        case WorkQueueOf::Place::dialect:
            break;
    }
    return true;
}

bool may_come_by_source(const Policy& policy, std::string_view work_queue) {
    return std::any_of(policy.sources.begin(), policy.sources.end(),
                       [&](const Source& source) { return may_name(source, work_queue); });
}

bool comes_by_source_alone(const Policy& policy, std::string_view work_queue) {
    const Entry* const entry = match(policy, work_queue);
    return entry != nullptr && entry->failures == FailuresBy::source;
}

bool has_source_globs(const Policy& policy) {
    return std::any_of(policy.sources.begin(), policy.sources.end(),
                       [](const Source& source) { return is_glob(source.queue); });
}

namespace {

/// `MOL.EVENT.node`, with a namespace `MOL-shop.EVENT.node`. Not `MOL.REQB.action` and `MOL.EVENTB.group.event`, which
/// all nodes share: these are work.
bool is_of_moleculer_node(std::string_view queue) {
    constexpr std::array<std::string_view, 9> packets{"EVENT",      "REQ",       "RES",  "INFO", "DISCOVER",
                                                      "DISCONNECT", "HEARTBEAT", "PING", "PONG"};
    if (!queue.starts_with("MOL.") && !queue.starts_with("MOL-")) return false;
    queue.remove_prefix(queue.find('.') == std::string_view::npos ? queue.size() : queue.find('.') + 1);
    const std::size_t dot = queue.find('.');
    return dot != std::string_view::npos && dot + 1 < queue.size() &&
           std::find(packets.begin(), packets.end(), queue.substr(0, dot)) != packets.end();
}

/// `celery_delayed_N`, with a prefix `shop_celery_delayed_N`.
bool is_celery_delay(std::string_view queue) {
    constexpr std::string_view delay = "celery_delayed_";
    const std::size_t level = queue.find_last_not_of("0123456789") + 1;
    if (level == queue.size() || !queue.substr(0, level).ends_with(delay)) return false;
    const std::size_t prefix = level - delay.size();
    return prefix == 0 || (prefix > 1 && queue[prefix - 1] == '_');
}

}  // namespace

bool has_name_of_plumbing(std::string_view queue) {
    return is_celery_delay(queue) || queue.ends_with(".celery.pidbox") || queue.starts_with("celeryev.") ||
           queue.starts_with("nsb.delay-level-") || queue.starts_with("nsb.v2.delay-level-") ||
           queue.starts_with("nsb.v2.verify-") || is_of_moleculer_node(queue);
}

}  // namespace retryd::core
