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

std::optional<Place> read_place(const Table& entry) {
    const auto queue = text_of(find(entry, "queue"));
    const auto reason = text_of(find(entry, "reason"));
    if (!queue || !reason || reason->empty() || !usable_queue_name(*queue)) return std::nullopt;
    return Place{*queue, *reason};
}

bool is_detour(const Place& place) {
    return looks_like_detour(place.queue);
}

/// A rung's expiry and a death in the error queue are hops of ours on the message's way.
bool is_own_hop(const Place& place, std::string_view error_queue) {
    if (place.queue == error_queue) return true;
    return place.reason == "expired" && (looks_like_rung(place.queue) || looks_like_shared_rung(place.queue));
}

std::optional<Place> newest_place(const Array& entries) {
    const auto newest = entries.empty() ? std::nullopt : table_of(entries.begin());
    return newest ? read_place(*newest) : std::nullopt;
}

/// At least 1: a death happened, whatever the number says.
std::int64_t count_of(const Table& entry) {
    return std::max<std::int64_t>(1, integer_of(find(entry, "count")).value_or(1));
}

/// Over all the reasons for which a message died in this queue; stops at the largest number.
std::int64_t deaths_in(const Array& entries, std::string_view queue) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::int64_t sum = 0;
    for (const Value& value : entries) {
        const auto entry = table_of(&value);
        if (!entry || text_of(find(*entry, "queue")) != queue) continue;
        const std::int64_t count = count_of(*entry);
        sum = count > most - sum ? most : sum + count;
    }
    return sum;
}

std::string_view first_text(const std::optional<Array>& texts) {
    return texts && !texts->empty() ? text_of(texts->begin()).value_or("") : "";
}

Death make_death(const Array& entries, const Table& entry, const Place& place) {
    Death death;
    death.queue = place.queue;
    death.reason = place.reason;
    death.count = deaths_in(entries, place.queue);
    if (const auto time = integer_of(find(entry, "time")); time && *time >= 0) {
        death.time = static_cast<std::uint64_t>(*time);
    }
    death.exchange = text_of(find(entry, "exchange")).value_or("");
    death.routing_key = first_text(array_of(find(entry, "routing-keys")));
    death.original_expiration = text_of(find(entry, "original-expiration"));
    return death;
}

/// Where a message died that waited on a detour: retryd took the broker's own record off on its way there, and its
/// headers of ours are as they would be on a rung. What was thrown out of a full detour died of that.
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

}  // namespace

std::optional<Death> read_death(const Table& headers, std::string_view error_queue) {
    const auto entries = array_of(find(headers, x_death));
    if (!entries) return std::nullopt;
    for (const Value& value : *entries) {
        const auto entry = table_of(&value);
        if (!entry) return std::nullopt;
        const auto place = read_place(*entry);
        if (!place) return std::nullopt;
        if (is_detour(*place)) return death_before_detour(headers, *place, error_queue);
        if (!is_own_hop(*place, error_queue)) return make_death(*entries, *entry, *place);
    }
    return std::nullopt;
}

bool is_parked_detour(const Table& headers, std::string_view error_queue) {
    const auto is_mark = [](const Field& field) { return field.name == header::parked_reason; };
    if (std::none_of(headers.begin(), headers.end(), is_mark)) return false;
    const auto entries = array_of(find(headers, x_death));
    if (!entries) return false;
    for (const Value& value : *entries) {
        const auto entry = table_of(&value);
        const auto place = entry ? read_place(*entry) : std::nullopt;
        if (!place) return false;
        if (is_detour(*place)) return true;
        if (!is_own_hop(*place, error_queue)) return false;
    }
    return false;
}

std::optional<std::string_view> read_undelivered(const Table& headers) {
    const auto entries = array_of(find(headers, x_death));
    if (!entries) return std::nullopt;
    const auto place = newest_place(*entries);
    if (!place || place->reason != "expired" || !looks_like_shared_rung(place->queue) || is_detour(*place))
        return std::nullopt;
    const auto queue = text_of(find(headers, header::queue));
    return queue && usable_queue_name(*queue) ? queue : std::nullopt;
}

RetryHistory read_retry_history(const Table& headers, std::string_view work_queue) {
    RetryHistory history;
    if (text_of(find(headers, header::queue)) != work_queue) return history;
    history.attempt = std::max<std::int64_t>(0, integer_of(find(headers, header::attempt)).value_or(0));
    if (const auto time = integer_of(find(headers, header::first_death)); time && *time >= 0) {
        history.first_death = static_cast<std::uint64_t>(*time);
    }
    history.exchange = text_of(find(headers, header::exchange));
    history.routing_key = text_of(find(headers, header::routing_key));
    history.user_id = text_of(find(headers, header::user_id));
    history.expiration = text_of(find(headers, header::expiration));
    history.cc = find(headers, header::cc);
    history.bcc = find(headers, header::bcc);
    return history;
}

}  // namespace retryd::core
