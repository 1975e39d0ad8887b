#include "core/kept_deaths.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/death.h"
#include "core/names.h"
#include "core/text.h"

namespace retryd::core {
namespace {

constexpr std::size_t fields_of_death = 7;

/// Those that every version knows: 3.13 makes an atom of what stands there.
bool is_known_reason(std::string_view reason) {
    constexpr std::array known{"rejected", "expired", "maxlen", "delivery_limit"};
    return std::any_of(known.begin(), known.end(), [&](std::string_view each) { return reason == each; });
}

/// 3.13 makes a number of it.
bool is_expiration(std::string_view text) {
    constexpr std::size_t longest = 12;
    return !text.empty() && text.size() <= longest &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool are_texts(const Array& values) {
    return std::all_of(values.begin(), values.end(), [](const Value& each) { return each.kind == Kind::longstr; });
}

std::int64_t count_in(const XDeathEntry& entry) {
    return std::max<std::int64_t>(1, integer_of(entry.count).value_or(1));
}

std::int64_t saturated_sum(std::int64_t left, std::int64_t right) {
    return left > std::numeric_limits<std::int64_t>::max() - right ? std::numeric_limits<std::int64_t>::max()
                                                                   : left + right;
}

/// The entry of that queue and reason.
std::optional<XDeathEntry> entry_in(const Value* deaths, const XDeathEntry& like) {
    const auto entries = array_of(deaths);
    if (!entries) return std::nullopt;
    for (const Value& value : *entries) {
        const auto fields = table_of(&value);
        if (!fields) continue;
        const XDeathEntry entry = read_death_entry(*fields);
        if (text_of(entry.queue) == text_of(like.queue) && text_of(entry.reason) == text_of(like.reason)) return entry;
    }
    return std::nullopt;
}

/// What the broker's entry counts beyond the one that it was sent home with. It has counted that one on if it kept its
/// time, which is that of the first death for ever (3.13.3 and 3.13.4 divide it by 1000), and the exchange. Any other
/// time is that of one that it has begun anew, earlier ones too: on 3.x a producer may have written a time to come.
std::int64_t new_deaths(const XDeathEntry& broker, const std::optional<XDeathEntry>& sent) {
    const std::int64_t count = count_in(broker);
    if (!sent || text_of(broker.exchange) != text_of(sent->exchange)) return count;
    const auto time = integer_of(broker.time);
    const auto sent_time = integer_of(sent->time);
    const std::int64_t before = count_in(*sent);
    constexpr std::int64_t thousand = 1000;
    const bool kept = time && sent_time && (*time == *sent_time || *time == *sent_time / thousand);
    return kept && count >= before ? count - before : count;
}

bool is_queue_of_ours(std::string_view queue, std::string_view error_queue) {
    return queue == error_queue || looks_like_rung(queue) || looks_like_shared_rung(queue);
}

}  // namespace

std::int64_t deaths_since(const Table& headers, const Value& kept, std::string_view work_queue) {
    const auto entries = array_of(find(headers, x_death));
    if (!entries) return 0;
    std::int64_t sum = 0;
    for (const Value& value : *entries) {
        const auto fields = table_of(&value);
        if (!fields) continue;
        const XDeathEntry entry = read_death_entry(*fields);
        if (text_of(entry.queue) == work_queue) sum = saturated_sum(sum, new_deaths(entry, entry_in(&kept, entry)));
    }
    return sum;
}

namespace {

/// As the broker forms one; else it is not handed on.
bool is_well_formed(const XDeathEntry& entry) {
    const auto queue = text_of(entry.queue);
    const auto reason = text_of(entry.reason);
    return queue && reason && usable_queue_name(*queue) && is_known_reason(*reason);
}

}  // namespace

/// `broker`: of its x-death; else of what is kept, and nothing new.
void KeptDeaths::add(const From& from, const Table& fields, bool broker, bool died) {
    const XDeathEntry entry = read_death_entry(fields);
    if (!is_well_formed(entry) || entries_.size() == most_kept_deaths) return;
    const std::string_view queue = *text_of(entry.queue);
    const std::string_view reason = *text_of(entry.reason);
    const bool known = std::any_of(entries_.begin(), entries_.end(),
                                   [&](const Entry& each) { return each.queue == queue && each.reason == reason; });
    if (known || is_queue_of_ours(queue, from.error_queue)) return;
    const std::optional<XDeathEntry> sent = entry_in(from.kept, entry);
    const bool in_work_queue = queue == from.work_queue;
    std::int64_t more = broker ? new_deaths(entry, sent) : 0;
    if (died && in_work_queue && entries_.empty()) more = std::max<std::int64_t>(1, more);
    const XDeathEntry& first = sent ? *sent : entry;
    Entry& added = entries_.emplace_back();
    added.queue = queue;
    added.reason = reason;
    added.count = saturated_sum(sent ? count_in(*sent) : 0, more);
    if (const auto time = integer_of(first.time); time && *time >= 0) added.time = static_cast<std::uint64_t>(*time);
    added.exchange = text_of(first.exchange).value_or("");
    if (const auto keys = array_of(first.routing_keys); keys && are_texts(*keys)) added.routing_keys = *keys;
    if (const auto text = text_of(first.original_expiration); text && is_expiration(*text))
        added.original_expiration = text;
    if (sent || !in_work_queue || !from.exchange) return;
    added.exchange = *from.exchange;
    if (from.routing_key) added.routing_keys = Array{&routing_key_, 1};
}

const Value* KeptDeaths::merge(const From& from, bool died) {
    entries_.clear();
    routing_key_ = Value::of_longstr(from.routing_key.value_or(""));
    const Value* const told = find(from.headers, x_death);
    for (const Value* deaths : {told, from.kept}) {
        const auto entries = array_of(deaths);
        if (!entries) continue;
        for (const Value& value : *entries) {
            if (const auto fields = table_of(&value)) add(from, *fields, deaths == told, died && deaths == told);
        }
    }
    write();
    return entries_.empty() ? nullptr : &value_;
}

void KeptDeaths::write() {
    fields_.clear();
    tables_.clear();
    fields_.reserve(most_kept_deaths * fields_of_death);  // the tables point into it
    for (const Entry& entry : entries_) {
        const std::size_t begin = fields_.size();
        fields_.push_back({"count", Value::of_long(entry.count)});
        fields_.push_back({"reason", Value::of_longstr(entry.reason)});
        fields_.push_back({"queue", Value::of_longstr(entry.queue)});
        if (entry.time) fields_.push_back({"time", Value::of_timestamp(*entry.time)});
        fields_.push_back({"exchange", Value::of_longstr(entry.exchange)});
        fields_.push_back({"routing-keys", {Kind::array, entry.routing_keys}});
        if (entry.original_expiration)
            fields_.push_back({"original-expiration", Value::of_longstr(*entry.original_expiration)});
        tables_.push_back({Kind::table, Table{fields_.data() + begin, fields_.size() - begin}});
    }
    value_ = {Kind::array, Array{tables_.data(), tables_.size()}};
}

namespace {

struct PlaceNames {
    std::string_view queue;
    std::string_view reason;
    std::string_view exchange;
};
constexpr PlaceNames first_death_names{"x-first-death-queue", "x-first-death-reason", "x-first-death-exchange"};
constexpr PlaceNames last_death_names{"x-last-death-queue", "x-last-death-reason", "x-last-death-exchange"};

void add_place(const XDeathEntry& entry, const PlaceNames& called, std::vector<Field>& fields) {
    fields.push_back({called.queue, Value::of_longstr(text_of(entry.queue).value_or(""))});
    fields.push_back({called.reason, Value::of_longstr(text_of(entry.reason).value_or(""))});
    fields.push_back({called.exchange, Value::of_longstr(text_of(entry.exchange).value_or(""))});
}

}  // namespace

void add_kept_deaths(const Value& kept, std::vector<Field>& fields) {
    const auto entries = array_of(&kept);
    if (!entries || entries->empty()) return;
    XDeathEntry first;
    XDeathEntry last;
    for (const Value& value : *entries) {
        const auto table = table_of(&value);
        if (!table) return;
        const XDeathEntry entry = read_death_entry(*table);
        if (&value == entries->begin()) last = entry;
        const auto time = integer_of(entry.time);
        const auto earliest = integer_of(first.time);
        // Of one second, the one further behind.
        if (first.queue == nullptr || !earliest || (time && *time <= *earliest)) first = entry;
    }
    fields.push_back({x_death, kept});
    add_place(first, first_death_names, fields);
    add_place(last, last_death_names, fields);
}

}  // namespace retryd::core
