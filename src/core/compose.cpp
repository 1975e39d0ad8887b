#include "core/compose.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/death.h"
#include "core/names.h"
#include "core/text.h"

namespace retryd::core {
namespace {

constexpr std::uint8_t persistent = 2;

/// Headers that would travel on as stale claims, or send copies: never part of what is published again.
bool belongs_to_broker(std::string_view name) {
    return name.starts_with("x-first-death-") || name.starts_with("x-last-death-") || name == "x-delivery-count" ||
           name == "x-acquired-count" || name == "CC" || name == "BCC";
}

bool is_ours(std::string_view name) {
    using namespace header;
    constexpr std::array all{queue,   attempt, reason, first_death, exchange,      routing_key,
                             user_id, cc,      bcc,    expiration,  parked_reason, parked_at};
    return name.starts_with("retryd-") && std::find(std::begin(all), std::end(all), name) != std::end(all);
}

/// Ours are written anew, unless nothing is known about this death: then the old ones are all that is known.
bool is_rewritten(std::string_view name, bool death_known) {
    if (name == header::parked_reason || name == header::parked_at) return true;
    return death_known && is_ours(name);
}

void keep_headers(const Table& headers, bool keep_death, bool death_known, std::vector<Field>& fields) {
    for (const Field& field : headers) {
        if (belongs_to_broker(field.name) || is_rewritten(field.name, death_known)) continue;
        if (field.name == x_death && !keep_death) continue;
        fields.push_back(field);
    }
}

/// In the place of the same header where it stands already, kept from an unknown earlier round.
void put(std::vector<Field>& fields, std::string_view name, const Value& value) {
    const auto same = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
    if (same == fields.end()) {
        fields.push_back({name, value});
    } else {
        same->value = value;
    }
}

void put_text(std::vector<Field>& fields, std::string_view name, const std::optional<std::string_view>& text) {
    if (text) put(fields, name, Value::of_longstr(*text));
}

void put_value(std::vector<Field>& fields, std::string_view name, const Value* now, const Value* earlier) {
    if (const Value* value = now != nullptr ? now : earlier) put(fields, name, *value);
}

bool is_foreign(const std::optional<std::string_view>& user_id, std::string_view connection_user) {
    return user_id && *user_id != connection_user;
}

/// What is set aside now wins over what an earlier round set aside.
void put_set_aside(const Message& message, const ComposeContext& context, std::vector<Field>& fields) {
    const Properties& was = message.properties;
    const RetryHistory& before = context.history;
    const bool foreign = is_foreign(was.user_id, context.connection_user);
    put_text(fields, header::user_id, foreign ? was.user_id : before.user_id);
    put_value(fields, header::cc, find(was.header_table(), "CC"), before.cc);
    put_value(fields, header::bcc, find(was.header_table(), "BCC"), before.bcc);
    auto expiration = was.expiration;
    if (!expiration && context.death) expiration = context.death->original_expiration;
    put_text(fields, header::expiration, expiration ? expiration : before.expiration);
}

/// Where it died and since when. The broker's own stamps start anew with every republish, so the first round's stay.
void add_origin(const ComposeContext& context, std::int64_t attempt, std::vector<Field>& fields) {
    if (!context.death) return;
    const Death& death = *context.death;
    const RetryHistory& before = context.history;
    fields.push_back({header::queue, Value::of_longstr(death.queue)});
    fields.push_back({header::attempt, Value::of_long(attempt)});
    fields.push_back({header::reason, Value::of_longstr(death.reason)});
    if (const auto first = before.first_death ? before.first_death : death.time) {
        fields.push_back({header::first_death, Value::of_timestamp(*first)});
    }
    fields.push_back({header::exchange, Value::of_longstr(before.exchange.value_or(death.exchange))});
    fields.push_back({header::routing_key, Value::of_longstr(before.routing_key.value_or(death.routing_key))});
}

Message with_fields(const Message& message, const ComposeContext& context, const std::vector<Field>& fields) {
    Message composed = message;
    Properties& properties = composed.properties;
    properties.headers = Table{fields.data(), fields.size()};
    properties.delivery_mode = persistent;
    properties.expiration.reset();  // it would cut the delay short
    if (is_foreign(properties.user_id, context.connection_user)) properties.user_id.reset();
    return composed;
}

void add_why_and_when(std::string_view reason, WallTime now, std::vector<Field>& fields) {
    fields.push_back({header::parked_reason, Value::of_longstr(reason)});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    fields.push_back({header::parked_at, Value::of_timestamp(static_cast<std::uint64_t>(seconds))});
}

void add_common(const Message& message, const ComposeContext& context, std::int64_t attempt, bool keep_death,
                std::vector<Field>& fields) {
    fields.clear();
    keep_headers(message.properties.header_table(), keep_death, context.death.has_value(), fields);
    add_origin(context, attempt, fields);
    put_set_aside(message, context, fields);
}

}  // namespace

Message compose_retry(const Message& message, const ComposeContext& context, const Retry& retry,
                      ComposeScratch& scratch) {
    add_common(message, context, retry.attempt, false, scratch.fields);
    return with_fields(message, context, scratch.fields);
}

Message compose_return(const Message& message, const ComposeContext& context, ComposeScratch& scratch) {
    add_common(message, context, context.history.attempt, false, scratch.fields);
    return with_fields(message, context, scratch.fields);
}

std::string_view producer_routing_key(const ComposeContext& context) {
    const auto key = context.history.routing_key.value_or(context.death ? context.death->routing_key : "");
    return usable_routing_key(key) ? key : "";
}

Message compose_parked(const Message& message, const ComposeContext& context, const Park& park, WallTime now,
                       ComposeScratch& scratch) {
    add_common(message, context, park.attempt, true, scratch.fields);
    const std::string_view death_reason = context.death ? context.death->reason : "";
    add_why_and_when(reason_text(park.reason, death_reason, scratch.text), now, scratch.fields);
    return with_fields(message, context, scratch.fields);
}

namespace {

void leave_out_death(std::vector<Field>& fields) {
    std::erase_if(fields, [](const Field& field) { return field.name == x_death; });
}

}  // namespace

Message compose_parked_detour(const Message& message, const ComposeContext& context, WallTime now,
                              ComposeScratch& scratch) {
    const Message parked = compose_parked(message, context, {ParkReason::no_death}, now, scratch);
    leave_out_death(scratch.fields);
    return with_fields(parked, context, scratch.fields);
}

Message compose_parked_again(const Message& message, const ComposeContext& context, bool keep_death, WallTime now,
                             ComposeScratch& scratch) {
    const Table headers = message.properties.header_table();
    scratch.fields.clear();
    for (const Field& field : headers) {
        if (!belongs_to_broker(field.name)) scratch.fields.push_back(field);
    }
    if (!keep_death) leave_out_death(scratch.fields);
    put_set_aside(message, context, scratch.fields);
    if (find(headers, header::parked_reason) == nullptr)
        add_why_and_when(reason_text(ParkReason::no_entry, "", scratch.text), now, scratch.fields);
    return with_fields(message, context, scratch.fields);
}

}  // namespace retryd::core
