#include "core/death.h"

#include <algorithm>
#include <limits>

#include "core/names.h"

namespace retryd::core {
namespace {

struct Place {
    std::string_view queue;
    std::string_view reason;
};

std::optional<Place> place_in(const XDeathEntry& entry) {
    const auto queue = text_of(entry.queue);
    const auto reason = text_of(entry.reason);
    if (!queue || !reason || reason->empty() || !usable_queue_name(*queue)) return std::nullopt;
    return Place{*queue, *reason};
}

std::optional<Place> read_place(const Table& entry) {
    return place_in(read_death_entry(entry));
}

/// A look-alike may be an application's own queue.
bool is_detour(const Place& place) {
    return core::is_detour(place.queue);
}

bool is_rung(const Place& place) {
    return place.reason == "expired" && (looks_like_rung(place.queue) || looks_like_shared_rung(place.queue));
}

bool is_rung_of(const Place& place, std::string_view queue) {
    if (!is_rung(place)) return false;
    if (looks_like_shared_rung(place.queue)) return true;
    return place.queue.starts_with(queue) && place.queue.substr(queue.size()).starts_with(".retry.");
}

std::optional<Place> newest_place(const Array& entries) {
    const auto newest = entries.empty() ? std::nullopt : table_of(entries.begin());
    return newest ? read_place(*newest) : std::nullopt;
}

/// At least 1: a death happened, whatever the number says.
std::int64_t count_of(const XDeathEntry& entry) {
    return std::max<std::int64_t>(1, integer_of(entry.count).value_or(1));
}

/// In the same queue, over this entry and all others with another reason; stops at the largest number.
std::int64_t deaths_in(const Array& entries, const Value& newest, const XDeathEntry& death, std::string_view queue) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::int64_t sum = count_of(death);
    for (const Value& value : entries) {
        const auto fields = &value == &newest ? std::nullopt : table_of(&value);
        if (!fields) continue;
        const XDeathEntry entry = read_death_entry(*fields);
        if (text_of(entry.queue) != queue) continue;
        const std::int64_t count = count_of(entry);
        sum = count > most - sum ? most : sum + count;
    }
    return sum;
}

std::string_view first_text(const std::optional<Array>& texts) {
    return texts && !texts->empty() ? text_of(texts->begin()).value_or("") : "";
}

Death make_death(const Array& entries, const Value& newest, const XDeathEntry& entry, const Place& place) {
    Death death;
    death.queue = place.queue;
    death.reason = place.reason;
    death.count = deaths_in(entries, newest, entry, place.queue);
    if (const auto time = integer_of(entry.time); time && *time >= 0) {
        death.time = static_cast<std::uint64_t>(*time);
    }
    death.exchange = text_of(entry.exchange).value_or("");
    death.routing_key = first_text(array_of(entry.routing_keys));
    death.original_expiration = text_of(entry.original_expiration);
    return death;
}

/// Where a message died that waited on a detour: retryd took the broker's own record off on its way there, and its
/// `retryd-*` headers are as they would be on a rung. What was thrown out of a full detour died of that.
std::optional<Death> death_before_detour(const Table& headers, const Place& detour, std::string_view error_queue) {
    const auto queue = text_of(find(headers, header::queue));
    if (!queue || !usable_queue_name(*queue) || *queue == error_queue) return std::nullopt;
    const std::string_view earlier = text_of(find(headers, header::reason)).value_or("");
    Death death;
    death.queue = *queue;
    death.reason = detour.reason != "expired" ? detour.reason : earlier.empty() ? "rejected" : earlier;
    death.count = 0;
    return death;
}

std::optional<Place> place_of(const Value& entry) {
    const auto table = table_of(&entry);
    return table ? read_place(*table) : std::nullopt;
}

/// Whether all of them are about that queue: deaths in it or in the error queue, and the expiry of its rungs.
bool all_about(const Array& entries, std::string_view queue, std::string_view error_queue) {
    return std::all_of(entries.begin(), entries.end(), [&](const Value& entry) {
        const auto place = place_of(entry);
        return place && (place->queue == queue || place->queue == error_queue || is_rung_of(*place, queue));
    });
}

/// The broker's own record says that the message comes from a queue of ours, or came from one before this death.
bool came_from_us(const Table& headers) {
    const auto entries = array_of(find(headers, x_death));
    if (!entries || entries->empty()) return false;
    const auto newest = place_of(*entries->begin());
    if (!newest) return false;
    if (is_detour(*newest) || is_rung(*newest)) return true;
    const auto before = entries->size() > 1 ? place_of(*(entries->begin() + 1)) : std::nullopt;
    return before && is_rung(*before);
}

RetryHistory claimed_history(const OwnHeaders& own, std::string_view work_queue) {
    RetryHistory history;
    if (text_of(own[OwnHeader::queue]) != work_queue) return history;
    history.attempt = std::max<std::int64_t>(0, integer_of(own[OwnHeader::attempt]).value_or(0));
    if (const auto time = integer_of(own[OwnHeader::first_death]); time && *time >= 0) {
        history.first_death = static_cast<std::uint64_t>(*time);
    }
    history.exchange = text_of(own[OwnHeader::exchange]);
    history.routing_key = text_of(own[OwnHeader::routing_key]);
    history.user_id = text_of(own[OwnHeader::user_id]);
    history.expiration = text_of(own[OwnHeader::expiration]);
    history.reply_to = text_of(own[OwnHeader::reply_to]);
    history.was_held = own[OwnHeader::held_since] != nullptr;
    history.cc = own[OwnHeader::cc];
    history.bcc = own[OwnHeader::bcc];
    history.delivery_time = own[OwnHeader::delivery_time];
    history.deferral_token = own[OwnHeader::deferral_token];
    history.x_death = own[OwnHeader::x_death];
    return history;
}

}  // namespace

std::optional<Death> read_death(const Table& headers, std::string_view error_queue) {
    const auto entries = array_of(find(headers, x_death));
    if (!entries) return std::nullopt;
    bool behind_error_queue = false;
    for (const Value& value : *entries) {
        const auto fields = table_of(&value);
        if (!fields) return std::nullopt;
        const XDeathEntry entry = read_death_entry(*fields);
        const auto place = place_in(entry);
        if (!place) return std::nullopt;
        if (place->queue == error_queue) {
            behind_error_queue = true;
            continue;
        }
        const bool detour = is_detour(*place);
        if (is_rung(*place) && !detour) {
            if (behind_error_queue) continue;
            return std::nullopt;
        }
        if (behind_error_queue && !all_about(*entries, place->queue, error_queue)) return std::nullopt;
        return detour ? death_before_detour(headers, *place, error_queue) : make_death(*entries, value, entry, *place);
    }
    return std::nullopt;
}

std::optional<std::string_view> detour_of(const Table& headers, std::string_view error_queue) {
    const auto entries = array_of(find(headers, x_death));
    if (!entries) return std::nullopt;
    for (const Value& entry : *entries) {
        const auto place = place_of(entry);
        if (!place) return std::nullopt;
        if (is_detour(*place)) return place->queue;
        if (place->queue != error_queue) return std::nullopt;
    }
    return std::nullopt;
}

bool left_queue_of_ours(const Table& headers, std::string_view error_queue) {
    const auto entries = array_of(find(headers, x_death));
    if (!entries) return false;
    for (const Value& entry : *entries) {
        const auto place = place_of(entry);
        if (!place) return false;
        if (place->queue != error_queue) return is_detour(*place) || is_rung(*place);
    }
    return false;
}

bool is_parked_detour(const Table& headers, std::string_view error_queue) {
    const auto is_mark = [](const Field& field) { return field.name == header::parked_reason; };
    return std::any_of(headers.begin(), headers.end(), is_mark) && detour_of(headers, error_queue).has_value();
}

std::optional<std::uint64_t> first_death_of(const Death& death, const RetryHistory& history) {
    if (history.proven && history.first_death) return history.first_death;
    if (!history.first_death || !death.time) return history.first_death ? history.first_death : death.time;
    return std::min(*history.first_death, *death.time);
}

void sanitise_forgeable_fields(Death& death, bool forgeable, std::optional<std::string_view> delivered_key,
                               WallTime now) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    if (death.time) death.time = std::min(*death.time, static_cast<std::uint64_t>(std::max<std::int64_t>(0, seconds)));
    if (forgeable && delivered_key) death.routing_key = *delivered_key;
}

std::optional<ReturnedByRung> read_returned_by_rung(const Table& headers) {
    const auto entries = array_of(find(headers, x_death));
    if (!entries) return std::nullopt;
    const auto place = newest_place(*entries);
    if (!place) return std::nullopt;
    const bool awaited = looks_like_x_death_rung(place->queue);
    const bool unbound = !awaited && place->reason == "expired" && looks_like_shared_rung(place->queue);
    if ((!awaited && !unbound) || is_detour(*place)) return std::nullopt;
    const auto queue = text_of(find(headers, header::queue));
    if (!queue || !usable_queue_name(*queue)) return std::nullopt;
    if (awaited && !read_x_death_rung(place->queue, *queue)) return std::nullopt;
    return ReturnedByRung{*queue, place->queue, unbound};
}

std::int64_t deliveries_in_vain(const Table& headers) {
    return std::max<std::int64_t>(0, integer_of(find(headers, "x-delivery-count")).value_or(0));
}

RetryHistory read_retry_history(const Table& headers, std::string_view work_queue, const ProofKeys& keys) {
    const OwnHeaders own(headers);
    RetryHistory claimed = claimed_history(own, work_queue);
    if (text_of(own[OwnHeader::queue]) != work_queue) return claimed;
    if (own.proven(keys)) {
        claimed.proven = true;
        return claimed;
    }
    RetryHistory history;
    if (came_from_us(headers)) {
        history.attempt = claimed.attempt;
        history.first_death = claimed.first_death;
    }
    return history;
}

RetryHistory read_claimed_history(const Table& headers, std::string_view work_queue) {
    return claimed_history(OwnHeaders(headers), work_queue);
}

}  // namespace retryd::core
