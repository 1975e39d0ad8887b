#include "admin/parked.h"

#include <algorithm>
#include <chrono>

#include "admin/edit.h"
#include "admin/replay.h"
#include "core/names.h"
#include "core/own_headers.h"
#include "core/text.h"

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

/// Whether its last death was in the error queue: then our headers about its parking are older than that death, or
/// forged.
bool dead_lettered_by_broker(const core::Table& headers, std::string_view error_queue) {
    const auto newest = newest_death(headers);
    return newest && text_of(find(*newest, "queue")) == error_queue;
}

void read_newest_death(const core::Table& headers, Parked& parked) {
    const auto newest = newest_death(headers);
    if (!newest) return;
    parked.reason = text_of(find(*newest, "reason")).value_or("");
    parked.at = seconds_in(*newest, "time");
}

/// Whether the work queue in our headers counts. The message has a proof, but whoever reads a work queue can copy the
/// proof to a message of their own and have the broker dead-letter that. So if the broker's own dead-lettering brought
/// it here, or it died in a queue that is not retryd's, the proof alone does not tell the work queue.
bool own_queue_counts(const core::Table& headers, bool reason_given, std::string_view error_queue) {
    if (find(headers, core::x_death) == nullptr || left_queue_of_ours(headers, error_queue)) return true;
    return reason_given && !dead_lettered_by_broker(headers, error_queue);
}

bool matches_value(const std::string& glob, const core::Value* value) {
    const auto text = header_text(value);
    return text && core::glob_matches(glob, *text);
}

bool matches_time(const Selection& selection, const std::optional<core::WallTime>& at) {
    if (!selection.parked_before && !selection.parked_after) return true;
    return at && (!selection.parked_before || *at <= *selection.parked_before) &&
           (!selection.parked_after || *at >= *selection.parked_after);
}

}  // namespace

std::optional<std::string> header_text(const core::Value* value) {
    if (value == nullptr) return std::nullopt;
    if (const auto text = text_of(value)) return std::string{*text};
    if (const auto* truth = std::get_if<bool>(&value->data)) return *truth ? "true" : "false";
    const auto number = integer_of(value);
    return number ? std::optional{std::to_string(*number)} : std::nullopt;
}

Parked read_parked(const core::Table& headers, std::string_view error_queue, const core::ProofKeys& keys) {
    using core::OwnHeader;
    const core::OwnHeaders own(headers);
    const auto reason = text_of(own[OwnHeader::parked_reason]);
    const bool proven = own.proven(keys) && own_queue_counts(headers, reason.has_value(), error_queue);
    Parked parked;
    parked.by_retryd = proven && reason;
    parked.death = read_death(headers, error_queue);
    // A message from a detour names its work queue itself, and here it is not known who wrote that.
    if (!proven && detour_of(headers, error_queue)) parked.death.reset();
    if (parked.by_retryd || (proven && !parked.death)) {
        parked.queue = usable(text_of(own[OwnHeader::queue]));
    } else if (parked.death) {
        parked.queue = parked.death->queue;
    }
    if (parked.death && parked.death->queue != parked.queue) parked.death.reset();
    parked.carried = read_retry_history(headers, parked.queue, keys);
    if (reason && (proven || !dead_lettered_by_broker(headers, error_queue))) {
        parked.reason = *reason;
        parked.at = seconds_in(headers, core::header::parked_at);
        parked.attempts = read_claimed_history(headers, parked.queue).attempt;
        parked.death_reason = text_of(own[OwnHeader::reason]).value_or("");
    } else {
        read_newest_death(headers, parked);
    }
    if (parked.death_reason.empty() && parked.death) parked.death_reason = parked.death->reason;
    return parked;
}

bool selects_undeliverable(const Selection& selection) {
    const bool by_reason = selection.reason.empty() || core::glob_matches(selection.reason, undeliverable_reason);
    Selection rest = selection;
    rest.reason.clear();
    return by_reason && rest.everything();
}

std::optional<core::WallTime> parked_at(const Parked& parked) {
    constexpr std::uint64_t latest = 253'402'300'799;  // larger values in a header would overflow
    if (!parked.at || *parked.at > latest) return std::nullopt;
    return core::WallTime{std::chrono::seconds{static_cast<std::int64_t>(*parked.at)}};
}

std::string_view exchange_of(const Parked& parked) {
    return parked.carried.exchange.value_or(parked.death ? parked.death->exchange : std::string_view{});
}

bool selects(const Selection& selection, const Parked& parked, const core::Message& message) {
    const core::Table headers = message.properties.header_table();
    if (!selection.message_id.empty() && message.properties.message_id != selection.message_id) return false;
    if (!selection.exchange.empty() && !core::glob_matches(selection.exchange, exchange_of(parked))) return false;
    if (!selection.type.empty() &&
        !core::glob_matches(selection.type, message.properties.type.value_or(std::string_view{})))
        return false;
    if (!selection.queue.empty() && !core::glob_matches(selection.queue, parked.queue)) return false;
    if (!selection.reason.empty() && !core::glob_matches(selection.reason, parked.reason)) return false;
    if (!matches_time(selection, parked_at(parked))) return false;
    if (selection.exactly != nullptr && !same_message(*selection.exactly, message)) return false;
    if (!selection.replay.empty() && newest_replay_id(headers) != selection.replay) return false;
    const bool all = std::all_of(selection.headers.begin(), selection.headers.end(), [&](const HeaderMatch& wanted) {
        return matches_value(wanted.value, find(headers, wanted.name));
    });
    return all && (selection.among == nullptr || selection.among->take(message));
}

Parked read_waiting(const core::Table& headers, const core::ProofKeys& keys) {
    using core::OwnHeader;
    const core::OwnHeaders own(headers);
    Parked waiting;
    waiting.by_retryd = own.proven(keys);
    waiting.reason = text_of(own[OwnHeader::reason]).value_or("");
    waiting.death_reason = waiting.reason;
    const auto queue = text_of(own[OwnHeader::queue]);
    if (!waiting.by_retryd || !queue || !core::usable_queue_name(*queue)) return waiting;
    waiting.queue = *queue;
    waiting.carried = core::read_retry_history(headers, waiting.queue, keys);
    waiting.attempts = waiting.carried.attempt;
    waiting.at = waiting.carried.first_death;
    return waiting;
}

core::Message compose_parked_by_hand(const core::Message& message, const core::ComposeContext& context,
                                     core::WallTime now, core::ComposeScratch& scratch) {
    core::Message composed = compose_return(message, context, scratch);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    scratch.fields.push_back({core::header::parked_reason, core::Value::of_longstr(parked_by_hand)});
    scratch.fields.push_back({core::header::parked_at, core::Value::of_timestamp(static_cast<std::uint64_t>(
                                                           std::max<std::int64_t>(0, seconds)))});
    if (context.history.proven) add_proof(context, scratch);
    composed.properties.headers = core::Table{scratch.fields.data(), scratch.fields.size()};
    return composed;
}

}  // namespace retryd::admin
