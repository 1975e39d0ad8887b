#include "admin/parked.h"

#include <algorithm>

#include "core/names.h"

namespace retryd::admin {

namespace {

std::optional<std::uint64_t> seconds_in(const core::Table& table, std::string_view name) {
    const auto seconds = integer_of(find(table, name));
    if (!seconds || *seconds < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*seconds);
}

/// The newest entry of x-death, whichever queue it is about.
std::optional<core::Table> newest_death(const core::Table& headers) {
    const auto entries = array_of(find(headers, "x-death"));
    if (!entries || entries->empty()) return std::nullopt;
    return table_of(entries->begin());
}

std::string_view usable(std::optional<std::string_view> name) {
    return name && core::usable_queue_name(*name) ? *name : "";
}

void read_dead_lettered_by_broker(const core::Table& headers, Parked& parked) {
    const auto newest = newest_death(headers);
    if (!newest) return;
    parked.reason = text_of(find(*newest, "reason")).value_or("");
    parked.at = seconds_in(*newest, "time");
}

bool matches_value(const std::string& glob, const core::Value* value) {
    if (value == nullptr) return false;
    if (const auto text = text_of(value)) return core::glob_matches(glob, *text);
    if (const auto* truth = std::get_if<bool>(&value->data)) return core::glob_matches(glob, *truth ? "true" : "false");
    const auto number = integer_of(value);
    return number && core::glob_matches(glob, std::to_string(*number));
}

bool matches_time(const Selection& selection, const std::optional<std::uint64_t>& at) {
    if (!selection.parked_before && !selection.parked_after) return true;
    constexpr std::uint64_t latest = 253'402'300'799;  // the year 9999: what a header claims beyond it would overflow
    if (!at || *at > latest) return false;
    const core::WallTime time{std::chrono::seconds{static_cast<std::int64_t>(*at)}};
    return (!selection.parked_before || time <= *selection.parked_before) &&
           (!selection.parked_after || time >= *selection.parked_after);
}

}  // namespace

Parked read_parked(const core::Table& headers, std::string_view error_queue) {
    Parked parked;
    const auto reason = text_of(find(headers, core::header::parked_reason));
    const std::string_view claimed = usable(text_of(find(headers, core::header::queue)));
    parked.by_retryd = reason.has_value();
    parked.death = read_death(headers, error_queue);
    const bool by_header = parked.by_retryd && !claimed.empty();
    parked.queue = !by_header && parked.death ? parked.death->queue : claimed;
    if (parked.death && parked.death->queue != parked.queue) parked.death.reset();
    parked.carried = read_retry_history(headers, parked.queue);
    if (parked.by_retryd) {
        parked.reason = *reason;
        parked.at = seconds_in(headers, core::header::parked_at);
        parked.attempts = parked.carried.attempt;
        parked.death_reason = text_of(find(headers, core::header::reason)).value_or("");
    } else {
        read_dead_lettered_by_broker(headers, parked);
    }
    if (parked.death_reason.empty() && parked.death) parked.death_reason = parked.death->reason;
    return parked;
}

bool selects(const Selection& selection, const Parked& parked, const core::Table& headers) {
    if (!selection.queue.empty() && !core::glob_matches(selection.queue, parked.queue)) return false;
    if (!selection.reason.empty() && !core::glob_matches(selection.reason, parked.reason)) return false;
    if (!matches_time(selection, parked.at)) return false;
    return std::all_of(selection.headers.begin(), selection.headers.end(), [&](const HeaderMatch& wanted) {
        return matches_value(wanted.value, find(headers, wanted.name));
    });
}

}  // namespace retryd::admin
