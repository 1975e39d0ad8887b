#include "core/compose.h"

#include <algorithm>
#include <optional>

#include "core/death.h"
#include "core/kept_deaths.h"
#include "core/names.h"
#include "core/text.h"
#include "core/verdict.h"

namespace retryd::core {
namespace {

constexpr std::uint8_t persistent = 2;

/// Headers of others that are set aside. Null where they are absent.
struct SetAside {
    const Value* cc = nullptr;
    const Value* bcc = nullptr;
    const Value* delivery_time = nullptr;
    const Value* deferral_token = nullptr;
};

/// Of two with one name the first counts.
bool sets_aside(const Value*& value, const Field& field, std::string_view name) {
    if (field.name != name) return false;
    if (value == nullptr) value = &field.value;
    return true;
}

/// Headers that would travel on as stale claims, send copies or cause delays: never part of what is published again.
/// And what a framework said of why it failed, which only a parked message carries. Asked of every header of every
/// message: most of them differ in the first letter.
bool is_left_out(const Field& field, bool parked, SetAside& aside) {
    const std::string_view name = field.name;
    switch (name.empty() ? '\0' : name.front()) {
        case 'x':
            return name.starts_with("x-first-death-") || name.starts_with("x-last-death-") ||
                   name == "x-delivery-count" || name == "x-acquired-count" ||
                   sets_aside(aside.delivery_time, field, delivery_time_annotation) ||
                   sets_aside(aside.deferral_token, field, deferral_token_annotation);
        case 'C':
            return sets_aside(aside.cc, field, "CC");
        case 'B':
            return sets_aside(aside.bcc, field, "BCC");
        case 'r':
            return !parked && name == header::exception;
        default:
            return false;
    }
}

/// Ours are written anew, unless nothing is known about this death: then the old ones are all that is known.
bool is_rewritten(std::string_view name, bool death_known) {
    const OwnHeader own = own_header_of(name);
    if (own == OwnHeader::parked_reason || own == OwnHeader::parked_at || own == OwnHeader::held_since) return true;
    return death_known && own != OwnHeader::none;
}

SetAside keep_headers(const Table& headers, bool keep_death, bool death_known, std::vector<Field>& fields) {
    SetAside aside;
    for (const Field& field : headers) {
        if (is_left_out(field, keep_death, aside) || is_rewritten(field.name, death_known)) continue;
        if (field.name == x_death && !keep_death) continue;
        fields.push_back(field);
    }
    return aside;
}

/// Ours stay as well.
SetAside keep_all_headers(const Table& headers, bool keep_death, std::vector<Field>& fields) {
    SetAside aside;
    for (const Field& field : headers) {
        if (!is_left_out(field, true, aside) && (keep_death || field.name != x_death)) fields.push_back(field);
    }
    return aside;
}

/// What the consumer says of why stays with a parked message, for people.
void leave_out_verdict(std::vector<Field>& fields, bool parked) {
    std::erase_if(fields, [&](const Field& field) {
        return is_verdict(field.name) && !(parked && field.name == verdict_header::retry_reason);
    });
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

/// Writes `retryd-*` headers, in the order of OwnHeader, and the proof for them. Where the death is known, all of them
/// are written anew, and nothing else is proven. Else older ones stand where they were.
class OwnFields {
  public:
    OwnFields(const SetAside& aside, const ComposeContext& context, ComposeScratch& scratch)
        : context_(context), scratch_(scratch), set_aside_(aside) {
        if (context.death && context.keys != nullptr && !context.keys->empty()) hash_.emplace(context.keys->front());
    }

    void add(OwnHeader name, const Value& value) {
        const std::string_view text = own_header_names[static_cast<std::size_t>(name)];
        if (!context_.death) return put(scratch_.fields, text, value);
        scratch_.fields.push_back({text, value});
        if (hash_) hash_->add(name, value);
    }
    void add_text(OwnHeader name, const std::optional<std::string_view>& text) {
        if (text) add(name, Value::of_longstr(*text));
    }

    const SetAside& set_aside() const { return set_aside_; }
    /// What is set aside now wins over what an earlier round set aside.
    void add_set_aside(OwnHeader name, const Value* now, const Value* earlier) {
        if (const Value* value = now != nullptr ? now : earlier) add(name, *value);
    }
    /// The last of them.
    void add_delays() {
        add_set_aside(OwnHeader::delivery_time, set_aside_.delivery_time, context_.history.delivery_time);
        add_set_aside(OwnHeader::deferral_token, set_aside_.deferral_token, context_.history.deferral_token);
        if (context_.x_death != nullptr) [[unlikely]]
            add(OwnHeader::x_death, *context_.x_death);
    }

    /// Once, when all others are there. What a message claims of itself is not signed.
    void prove() {
        add_delays();
        if (!context_.death) {
            if (context_.history.proven) add_proof(context_, scratch_);
        } else if (hash_) {
            scratch_.proof = proof_text(hash_->finish());
            scratch_.fields.push_back(
                {header::proof, Value::of_longstr({scratch_.proof.data(), scratch_.proof.size()})});
        }
    }

  private:
    const ComposeContext& context_;
    ComposeScratch& scratch_;
    SetAside set_aside_;
    std::optional<ProofHash> hash_;  // none where nothing is proven
};

/// An address that only the requester's own channel may publish with, which the broker then replaces by one that works
/// (direct reply-to): from any other channel it is refused (406; rabbit_channel:maybe_set_fast_reply_to). AMQP 1.0 lets
/// it through.
bool is_refused_reply_to(const std::optional<std::string_view>& reply_to) {
    return reply_to == "amq.rabbitmq.reply-to";
}

bool is_foreign(const std::optional<std::string_view>& user_id, std::string_view connection_user) {
    return user_id && *user_id != connection_user;
}

/// What is set aside now wins over what an earlier round set aside.
void add_set_aside(const Message& message, const ComposeContext& context, OwnFields& own) {
    const Properties& was = message.properties;
    const RetryHistory& before = context.history;
    const bool foreign = is_foreign(was.user_id, context.connection_user);
    own.add_text(OwnHeader::user_id, foreign ? was.user_id : before.user_id);
    own.add_set_aside(OwnHeader::cc, own.set_aside().cc, before.cc);
    own.add_set_aside(OwnHeader::bcc, own.set_aside().bcc, before.bcc);
    auto expiration = was.expiration;
    if (!expiration && context.death) expiration = context.death->original_expiration;
    own.add_text(OwnHeader::expiration, expiration ? expiration : before.expiration);
    own.add_text(OwnHeader::reply_to, is_refused_reply_to(was.reply_to) ? was.reply_to : before.reply_to);
}

/// Where it died and since when. The broker's own stamps start anew with every republish, so the first round's stay.
void add_origin(const ComposeContext& context, std::int64_t attempt, OwnFields& own) {
    if (!context.death) return;
    const Death& death = *context.death;
    const RetryHistory& before = context.history;
    own.add(OwnHeader::queue, Value::of_longstr(death.queue));
    own.add(OwnHeader::attempt, Value::of_long(attempt));
    own.add(OwnHeader::reason, Value::of_longstr(death.reason));
    if (const auto first = first_death_of(death, before)) own.add(OwnHeader::first_death, Value::of_timestamp(*first));
    own.add(OwnHeader::exchange, Value::of_longstr(before.exchange.value_or(death.exchange)));
    own.add(OwnHeader::routing_key, Value::of_longstr(before.routing_key.value_or(death.routing_key)));
}

/// Once the death is known, what the consumer is to see with that; before that, what retryd itself has written.
const Value* kept_deaths(const ComposeContext& context) {
    if (context.x_death != nullptr || context.death) return context.x_death;
    return context.history.proven ? context.history.x_death : nullptr;
}

void restore_deaths(const ComposeContext& context, ComposeScratch& scratch) {
    if (const Value* kept = kept_deaths(context)) [[unlikely]]
        add_kept_deaths(*kept, scratch.fields);
}

Message with_fields(const Message& message, const ComposeContext& context, const std::vector<Field>& fields) {
    Message composed = message;
    Properties& properties = composed.properties;
    properties.headers = Table{fields.data(), fields.size()};
    properties.delivery_mode = persistent;
    properties.expiration.reset();  // it would cut the delay short
    if (is_foreign(properties.user_id, context.connection_user)) properties.user_id.reset();
    if (is_refused_reply_to(properties.reply_to)) properties.reply_to.reset();
    return composed;
}

Value stamp_of(WallTime now) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    return Value::of_timestamp(static_cast<std::uint64_t>(seconds));
}

void add_why_and_when(std::string_view reason, WallTime now, OwnFields& own) {
    own.add(OwnHeader::parked_reason, Value::of_longstr(reason));
    own.add(OwnHeader::parked_at, stamp_of(now));
}

OwnFields add_common(const Message& message, const ComposeContext& context, std::int64_t attempt, bool keep_death,
                     ComposeScratch& scratch) {
    scratch.fields.clear();
    const SetAside aside =
        keep_headers(message.properties.header_table(), keep_death, context.death.has_value(), scratch.fields);
    if (context.applies_verdict) [[unlikely]]
        leave_out_verdict(scratch.fields, keep_death);
    OwnFields own(aside, context, scratch);
    add_origin(context, attempt, own);
    add_set_aside(message, context, own);
    return own;
}

}  // namespace

void add_proof(const ComposeContext& context, ComposeScratch& scratch) {
    if (context.keys == nullptr || context.keys->empty()) return;
    const OwnHeaders own(Table{scratch.fields.data(), scratch.fields.size()});
    scratch.proof = proof_text(own.digest(context.keys->front()));
    put(scratch.fields, header::proof, Value::of_longstr({scratch.proof.data(), scratch.proof.size()}));
}

Message compose_retry(const Message& message, const ComposeContext& context, const Retry& retry,
                      ComposeScratch& scratch) {
    add_common(message, context, retry.attempt, false, scratch).prove();
    return with_fields(message, context, scratch.fields);
}

Message compose_held(const Message& message, const ComposeContext& context, const Hold& hold, WallTime now,
                     ComposeScratch& scratch) {
    OwnFields own = add_common(message, context, hold.attempt, false, scratch);
    own.add(OwnHeader::held_since, stamp_of(now));
    own.prove();
    return with_fields(message, context, scratch.fields);
}

Message compose_released(const Message& message, const ComposeContext& context, ComposeScratch& scratch) {
    scratch.fields.clear();
    const SetAside aside = keep_all_headers(message.properties.header_table(), false, scratch.fields);
    OwnFields own(aside, context, scratch);
    add_set_aside(message, context, own);
    own.prove();
    restore_deaths(context, scratch);
    return with_fields(message, context, scratch.fields);
}

Message compose_return(const Message& message, const ComposeContext& context, ComposeScratch& scratch) {
    add_common(message, context, context.history.attempt, false, scratch).prove();
    restore_deaths(context, scratch);
    return with_fields(message, context, scratch.fields);
}

std::string_view producer_routing_key(const ComposeContext& context) {
    const auto key = context.history.routing_key.value_or(context.death ? context.death->routing_key : "");
    return usable_routing_key(key) ? key : "";
}

Message compose_parked(const Message& message, const ComposeContext& context, const Park& park, WallTime now,
                       ComposeScratch& scratch) {
    OwnFields own = add_common(message, context, park.attempt, true, scratch);
    const std::string_view death_reason = context.death ? context.death->reason : "";
    add_why_and_when(reason_text(park.reason, death_reason, scratch.text), now, own);
    own.prove();
    if (const Value* kept = kept_deaths(context)) [[unlikely]]
        put(scratch.fields, x_death, *kept);
    return with_fields(message, context, scratch.fields);
}

namespace {

void leave_out_death(std::vector<Field>& fields) {
    std::erase_if(fields, [](const Field& field) { return field.name == x_death; });
}

}  // namespace

Message compose_parked_detour(const Message& message, const ComposeContext& context, const Park& park, WallTime now,
                              ComposeScratch& scratch) {
    const Message parked = compose_parked(message, context, park, now, scratch);
    leave_out_death(scratch.fields);
    return with_fields(parked, context, scratch.fields);
}

Message compose_parked_again(const Message& message, const ComposeContext& context, bool keep_death, WallTime now,
                             ComposeScratch& scratch) {
    const Table headers = message.properties.header_table();
    const bool proven = context.keys != nullptr && OwnHeaders(headers).proven(*context.keys);
    scratch.fields.clear();
    const SetAside aside = keep_all_headers(headers, keep_death, scratch.fields);
    OwnFields own(aside, context, scratch);
    add_set_aside(message, context, own);
    if (find(headers, header::parked_reason) == nullptr)
        add_why_and_when(reason_text(ParkReason::no_entry, "", scratch.text), now, own);
    own.add_delays();
    if (proven) add_proof(context, scratch);
    return with_fields(message, context, scratch.fields);
}

Message compose_republished(const Message& message, const ComposeContext& context, ComposeScratch& scratch) {
    add_common(message, context, context.history.attempt, true, scratch).prove();
    return with_fields(message, context, scratch.fields);
}

}  // namespace retryd::core
