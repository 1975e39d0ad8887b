#include "fuzz/composed.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/names.h"
#include "fuzz/encoded.h"
#include "fuzz/require.h"

namespace retryd::fuzz {
namespace {

using core::Field;
using core::Kind;
using core::Table;
namespace header = core::header;

constexpr std::array ours{header::queue,     header::attempt,       header::reason,         header::first_death,
                          header::exchange,  header::routing_key,   header::user_id,        header::cc,
                          header::bcc,       header::expiration,    header::reply_to,       header::parked_reason,
                          header::parked_at, header::delivery_time, header::deferral_token, header::proof};

constexpr std::string_view refused_reply_to = "amq.rabbitmq.reply-to";

bool is_ours(std::string_view name) {
    return std::find(ours.begin(), ours.end(), name) != ours.end();
}

/// The contract's list of what is taken off.
bool is_taken_off(std::string_view name) {
    return name.starts_with("x-first-death-") || name.starts_with("x-last-death-") || name == "x-delivery-count" ||
           name == "x-acquired-count" || name == "CC" || name == "BCC" || name == core::delivery_time_annotation ||
           name == core::deferral_token_annotation;
}

std::string foreign_headers(const Table& headers, bool with_death) {
    std::vector<Field> foreign;
    for (const Field& field : headers) {
        if (is_ours(field.name) || is_taken_off(field.name) || (field.name == "x-death" && !with_death)) continue;
        foreign.push_back(field);
    }
    return encoded(Table{foreign.data(), foreign.size()});
}

std::ptrdiff_t count(const Table& headers, std::string_view name) {
    return std::count_if(headers.begin(), headers.end(), [&](const Field& field) { return field.name == name; });
}

void check_one(const Table& headers, std::string_view name, Kind kind) {
    const std::string what{name};
    require(count(headers, name) == 1, what + " is there once");
    require(core::find(headers, name)->kind == kind, what + " has the type that is promised");
}

void check_origin(const Table& headers, const core::ComposeContext& story) {
    for (const std::string_view name : ours)
        require(count(headers, name) <= 1, std::string{name} + " is there once at most");
    for (const std::string_view name : {header::queue, header::reason, header::exchange, header::routing_key})
        check_one(headers, name, Kind::longstr);
    check_one(headers, header::attempt, Kind::int64);
    require(core::text_of(core::find(headers, header::queue)) == story.death->queue, "the work queue is the death's");
    require(core::integer_of(core::find(headers, header::attempt)) >= 1, "the attempt is at least 1");
    const core::Value* first = core::find(headers, header::first_death);
    require(first == nullptr || first->kind == Kind::timestamp, "the first death is a timestamp");
}

/// Those that nobody may touch, compared by leaving out those that may change.
void check_properties(const core::Properties& was, const core::Properties& is) {
    require(is.delivery_mode == 2, "delivery-mode is 2");
    require(!is.expiration, "an expiration would cut the delay short");
    require(is.reply_to != refused_reply_to, "such a reply-to would be refused");
    require(!is.user_id || (is.user_id == "retryd" && was.user_id == is.user_id), "a foreign user-id would be refused");
    const auto rest = [](core::Properties properties) {
        properties.headers.reset();
        properties.delivery_mode.reset();
        properties.expiration.reset();
        properties.user_id.reset();
        if (properties.reply_to == refused_reply_to) properties.reply_to.reset();
        return encoded(properties);
    };
    require(rest(was) == rest(is), "all other properties are as they were");
}

/// What is set aside is found again under the name of ours.
void check_set_aside(const core::Properties& was, const Table& headers) {
    const auto text = [&](std::string_view name) { return core::text_of(core::find(headers, name)); };
    if (was.expiration) require(text(header::expiration) == was.expiration, "the expiration is kept");
    if (was.user_id && was.user_id != "retryd") require(text(header::user_id) == was.user_id, "the user-id is kept");
    if (was.reply_to == refused_reply_to)
        require(text(header::reply_to) == refused_reply_to, "a reply-to that would be refused is kept");
    for (const auto& [theirs, kept] :
         {std::pair{std::string_view{"CC"}, header::cc}, std::pair{std::string_view{"BCC"}, header::bcc},
          std::pair{core::delivery_time_annotation, header::delivery_time},
          std::pair{core::deferral_token_annotation, header::deferral_token}}) {
        const core::Value* value = core::find(was.header_table(), theirs);
        if (value == nullptr) continue;
        const core::Value* found = core::find(headers, kept);
        require(found != nullptr, "what is set aside is kept");
        const Field before{"", *value};
        const Field after{"", *found};
        require(encoded(Table{&before, 1}) == encoded(Table{&after, 1}), "what is set aside is kept as it was");
    }
}

}  // namespace

void check_composed(const core::Message& was, const core::ComposeContext& story, const core::Message& composed,
                    Composed how) {
    const bool parked = how == Composed::parked;
    const Table headers = composed.properties.header_table();
    require(composed.body == was.body, "the body is as it was");
    check_properties(was.properties, composed.properties);
    for (const Field& field : headers)
        require(!is_taken_off(field.name), "what belongs to the broker is taken off");
    require(parked || count(headers, "x-death") == 0, "a kept x-death makes the broker drop the message");
    require(foreign_headers(headers, parked) == foreign_headers(was.properties.header_table(), parked),
            "foreign headers are as they were, in their order");
    if (story.death) check_origin(headers, story);
    check_set_aside(was.properties, headers);
    if (parked) {
        check_one(headers, header::parked_reason, Kind::longstr);
        check_one(headers, header::parked_at, Kind::timestamp);
    } else {
        require(count(headers, header::parked_reason) == 0, "what is not parked does not say so");
    }
}

}  // namespace retryd::fuzz
