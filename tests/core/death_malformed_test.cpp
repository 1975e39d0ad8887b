#include "core/death.h"
#include "core/headers.h"
#include "core/names.h"
#include "support/catch.h"

namespace retryd::core::death_malformed_test {
namespace {

using namespace test;

constexpr std::string_view error_queue = "retryd.errors";

/// The death read from one entry whose field is replaced, or taken off.
std::optional<Death> read_with(Headers& headers, std::string_view field, std::optional<Value> value) {
    const Value deaths = headers.array({headers.death_with(field, value)});
    return read_death(headers.fields({{"x-death", deaths}}), error_queue);
}

}  // namespace

TEST_CASE("an x-death that is not an array is no death") {
    Headers headers;
    for (const Value& value : headers.one_of_each()) {
        CAPTURE(describe(value));
        CHECK_FALSE(read_death(headers.fields({{"x-death", value}}), error_queue).has_value());
    }
    CHECK_FALSE(read_death(headers.fields({{"x-death", headers.death({})}}), error_queue).has_value());
}

TEST_CASE("a newest entry that is not a table is no death, even with readable ones behind it") {
    Headers headers;
    for (const Value& value : headers.one_of_each()) {
        CAPTURE(describe(value));
        const Value deaths = headers.array({value, headers.death({})});
        CHECK_FALSE(read_death(headers.fields({{"x-death", deaths}}), error_queue).has_value());
    }
}

TEST_CASE("an unreadable entry behind a hop of ours is no death either") {
    Headers headers;
    const Value hop = headers.death({.queue = "email.retry.5s", .reason = "expired"});
    for (const Value& value : {text("email"), headers.death_with("queue", {})}) {
        const Value deaths = headers.array({hop, value, headers.death({})});
        CHECK_FALSE(read_death(headers.fields({{"x-death", deaths}}), error_queue).has_value());
    }
}

TEST_CASE("a death without a queue, or in one that cannot be, is none") {
    Headers headers;
    const std::string longest(longest_queue_name, 'q');
    const std::string longer = longest + 'q';
    CHECK_FALSE(read_with(headers, "queue", {}).has_value());
    CHECK_FALSE(read_with(headers, "queue", number(1)).has_value());
    CHECK_FALSE(read_with(headers, "queue", text("")).has_value());
    CHECK_FALSE(read_with(headers, "queue", text("e\nmail")).has_value());
    CHECK_FALSE(read_with(headers, "queue", text(longer)).has_value());
    CHECK(read_with(headers, "queue", text(longest)).has_value());
    CHECK(read_with(headers, "queue", Value{Kind::bytes, "email"})->queue == "email");
}

TEST_CASE("a death without a reason is none") {
    Headers headers;
    CHECK_FALSE(read_with(headers, "reason", {}).has_value());
    CHECK_FALSE(read_with(headers, "reason", number(1)).has_value());
    CHECK_FALSE(read_with(headers, "reason", text("")).has_value());
    CHECK(read_with(headers, "reason", Value{Kind::bytes, "rejected"})->reason == "rejected");
}

TEST_CASE("a time that is missing, negative or no integer is unknown") {
    Headers headers;
    CHECK_FALSE(read_with(headers, "time", {})->time.has_value());
    CHECK_FALSE(read_with(headers, "time", text("1700000000"))->time.has_value());
    CHECK_FALSE(read_with(headers, "time", number(-1))->time.has_value());
    CHECK(read_with(headers, "time", number(0))->time == 0);
    CHECK(read_with(headers, "time", seconds(0))->time == 0);
    CHECK(read_with(headers, "time", number(1'700'000'000))->time == 1'700'000'000);
}

TEST_CASE("an exchange that is missing or no text is empty") {
    Headers headers;
    CHECK(read_with(headers, "exchange", {})->exchange == "");
    CHECK(read_with(headers, "exchange", number(1))->exchange == "");
    CHECK(read_with(headers, "exchange", text(""))->exchange == "");
    CHECK(read_with(headers, "exchange", text("amq.topic"))->exchange == "amq.topic");
}

TEST_CASE("the routing key is the first of routing-keys, empty where there is none") {
    Headers headers;
    const auto key_from = [&](std::optional<Value> keys) {
        return read_with(headers, "routing-keys", keys)->routing_key;
    };
    CHECK(key_from(headers.array({text("first"), text("cc")})) == "first");
    CHECK(key_from({}) == "");
    CHECK(key_from(headers.array({})) == "");
    const Value behind = text("behind the end of an empty array");
    CHECK(key_from(Value{Kind::array, Array{&behind, 0}}) == "");
    CHECK(key_from(text("order.paid")) == "");
    CHECK(key_from(headers.array({number(1), text("second")})) == "");
    CHECK(key_from(headers.table({{"0", text("order.paid")}})) == "");
}

TEST_CASE("an original expiration that is missing or no text is unknown") {
    Headers headers;
    CHECK_FALSE(read_with(headers, "original-expiration", {})->original_expiration.has_value());
    CHECK_FALSE(read_with(headers, "original-expiration", number(5))->original_expiration.has_value());
    CHECK(read_with(headers, "original-expiration", text("5"))->original_expiration.value_or("(none)") == "5");
}

}  // namespace retryd::core::death_malformed_test
