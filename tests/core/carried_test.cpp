#include "core/carried.h"

#include <limits>

#include "core/headers.h"
#include "support/catch.h"

namespace retryd::core::carried_test {
namespace {

using namespace test;

/// What a message that retryd sent back to the queue `email` carries.
std::vector<Field> all_of_ours(Headers& headers) {
    return {{"retryd-queue", text("email")},
            {"retryd-attempt", number(4)},
            {"retryd-reason", text("rejected")},
            {"retryd-first-death", seconds(1'700'000'000)},
            {"retryd-exchange", text("shop")},
            {"retryd-routing-key", text("order.paid")},
            {"retryd-user-id", text("alice")},
            {"retryd-expiration", text("60000")},
            {"retryd-cc", headers.array({text("audit")})},
            {"retryd-bcc", headers.array({text("spy")})}};
}

/// The same with one header of another value.
Carried read_with(Headers& headers, std::string_view name, const Value& value) {
    auto fields = all_of_ours(headers);
    for (Field& field : fields) {
        if (field.name == name) field.value = value;
    }
    return read_carried(headers.fields(std::move(fields)), "email");
}

bool carries_nothing(const Carried& carried) {
    return carried.attempt == 0 && !carried.first_death && !carried.exchange && !carried.routing_key &&
           !carried.user_id && !carried.expiration && carried.cc == nullptr && carried.bcc == nullptr;
}

}  // namespace

TEST_CASE("a message carries its story back from the rung") {
    Headers headers;
    const Table table = headers.fields(all_of_ours(headers));
    const Carried carried = read_carried(table, "email");
    CHECK(carried.attempt == 4);
    CHECK(carried.first_death == 1'700'000'000);
    CHECK(carried.exchange.value_or("(none)") == "shop");
    CHECK(carried.routing_key.value_or("(none)") == "order.paid");
    CHECK(carried.user_id.value_or("(none)") == "alice");
    CHECK(carried.expiration.value_or("(none)") == "60000");
    CHECK(carried.cc == find(table, "retryd-cc"));
    CHECK(carried.bcc == find(table, "retryd-bcc"));
}

TEST_CASE("a message that is new to us carries nothing") {
    Headers headers;
    CHECK(carries_nothing(read_carried(Table{}, "email")));
    CHECK(carries_nothing(read_carried(headers.fields({{"retryd-queue", text("email")}}), "email")));
    CHECK(carries_nothing(read_carried(headers.fields({{"attempt", number(4)}, {"queue", text("email")}}), "email")));
}

TEST_CASE("headers copied into a message for another queue hand on nothing") {
    Headers headers;
    const Table table = headers.fields(all_of_ours(headers));
    for (const std::string_view other : {"sms", "emai", "emails", "Email", ""}) {
        CAPTURE(other);
        CHECK(carries_nothing(read_carried(table, other)));
    }
}

TEST_CASE("headers that name no queue, or not as text, hand on nothing") {
    Headers headers;
    auto fields = all_of_ours(headers);
    fields.erase(fields.begin());
    CHECK(carries_nothing(read_carried(headers.fields(fields), "email")));
    CHECK(carries_nothing(read_carried(headers.fields(fields), "")));
    CHECK(carries_nothing(read_with(headers, "retryd-queue", number(1))));
    CHECK(carries_nothing(read_with(headers, "retryd-queue", headers.array({text("email")}))));
}

TEST_CASE("an attempt is read in every width of integer") {
    Headers headers;
    for (const Kind kind : {Kind::int8, Kind::int16, Kind::int32, Kind::int64})
        CHECK(read_with(headers, "retryd-attempt", {kind, std::int64_t{9}}).attempt == 9);
    for (const Kind kind : {Kind::uint8, Kind::uint16, Kind::uint32, Kind::uint64})
        CHECK(read_with(headers, "retryd-attempt", {kind, std::uint64_t{9}}).attempt == 9);
}

TEST_CASE("an attempt that is negative or no integer is none") {
    Headers headers;
    for (const Value& value :
         {number(-1), number(std::numeric_limits<std::int64_t>::min()), text("4"), Value{Kind::float64, 4.0},
          Value{Kind::boolean, true}, Value{}, Value{Kind::uint64, std::numeric_limits<std::uint64_t>::max()}}) {
        CAPTURE(describe(value));
        CHECK(read_with(headers, "retryd-attempt", value).attempt == 0);
    }
    CHECK(read_with(headers, "retryd-attempt", number(0)).attempt == 0);
    CHECK(read_with(headers, "retryd-attempt", number(1)).attempt == 1);
}

TEST_CASE("a huge attempt is taken at its word: it parks the message, and nothing worse") {
    Headers headers;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(read_with(headers, "retryd-attempt", number(most)).attempt == most);
}

TEST_CASE("a first death that is negative or no integer is unknown") {
    Headers headers;
    for (const Value& value : {number(-1), text("1700000000"), Value{}})
        CHECK_FALSE(read_with(headers, "retryd-first-death", value).first_death.has_value());
    CHECK(read_with(headers, "retryd-first-death", number(0)).first_death == 0);
    CHECK(read_with(headers, "retryd-first-death", number(17)).first_death == 17);
}

TEST_CASE("texts of another type are as if they were not there") {
    Headers headers;
    CHECK_FALSE(read_with(headers, "retryd-exchange", number(1)).exchange.has_value());
    CHECK_FALSE(read_with(headers, "retryd-routing-key", number(1)).routing_key.has_value());
    CHECK_FALSE(read_with(headers, "retryd-user-id", number(1)).user_id.has_value());
    CHECK_FALSE(read_with(headers, "retryd-expiration", number(1)).expiration.has_value());
}

TEST_CASE("one header of a wrong type does not hide the others") {
    Headers headers;
    const Carried carried = read_with(headers, "retryd-first-death", text("yesterday"));
    CHECK(carried.attempt == 4);
    CHECK(carried.exchange.value_or("(none)") == "shop");
}

TEST_CASE("an empty exchange, the default one, is an exchange") {
    Headers headers;
    CHECK(read_with(headers, "retryd-exchange", text("")).exchange == std::optional<std::string_view>{""});
}

}  // namespace retryd::core::carried_test
