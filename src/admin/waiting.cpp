#include "admin/waiting.h"

#include <algorithm>
#include <chrono>

#include "core/names.h"
#include "core/own_headers.h"
#include "core/text.h"

namespace retryd::admin {

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
