#include "core/death.h"

#include <limits>

#include "core/headers.h"
#include "support/catch.h"

namespace retryd::core::death_test {
namespace {

using namespace test;

constexpr std::string_view error_queue = "retryd.errors";
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::int64_t count_of(const Table& headers) {
    return read_death(headers, error_queue).value().count;
}

}  // namespace

TEST_CASE("a death tells where, why, how often, since when and what it had been published to") {
    Headers headers;
    const auto death = read_death(
        headers.deaths({{"email", "rejected", 3, 1'700'000'000, "shop", "order.paid", "60000"}}), error_queue);
    REQUIRE(death.has_value());
    CHECK(death->queue == "email");
    CHECK(death->reason == "rejected");
    CHECK(death->count == 3);
    CHECK(death->time == 1'700'000'000);
    CHECK(death->exchange == "shop");
    CHECK(death->routing_key == "order.paid");
    CHECK(death->original_expiration.value_or("(none)") == "60000");
}

TEST_CASE("x-death is found among other headers") {
    Headers headers;
    const Value deaths = headers.array({headers.death({})});
    const Table table = headers.fields({{"x", text("a")}, {"x-death", deaths}, {"x-deaths", text("b")}});
    CHECK(read_death(table, error_queue).has_value());
}

TEST_CASE("a message without x-death has no death") {
    Headers headers;
    CHECK_FALSE(read_death(Table{}, error_queue).has_value());
    CHECK_FALSE(read_death(headers.fields({{"X-Death", headers.array({headers.death({})})}}), error_queue).has_value());
    CHECK_FALSE(read_death(headers.deaths({}), error_queue).has_value());
}

TEST_CASE("the newest death is the first entry, whatever its count or time says") {
    Headers headers;
    const Table table = headers.deaths({{"newest", "expired", 1, 5}, {"older", "rejected", 9, 99}});
    CHECK(read_death(table, error_queue)->queue == "newest");
    CHECK(read_death(table, error_queue)->reason == "expired");
    CHECK(read_death(table, error_queue)->time == 5);
}

TEST_CASE("any reason is handed on, one that only a later broker knows included") {
    Headers headers;
    for (const std::string_view reason : {"rejected", "expired", "maxlen", "delivery_limit", "something_new"})
        CHECK(read_death(headers.deaths({{"email", reason}}), error_queue)->reason == reason);
}

TEST_CASE("the expiry of a rung is a hop of ours, not a death") {
    Headers headers;
    const Table table = headers.deaths(
        {{"email.retry.5s", "expired", 4}, {"email.retry.2m.high", "expired"}, {"email", "rejected", 2}});
    CHECK(read_death(table, error_queue)->queue == "email");
    CHECK(read_death(table, error_queue)->count == 2);
    CHECK_FALSE(read_death(headers.deaths({{"email.retry.5s", "expired"}}), error_queue).has_value());
}

TEST_CASE("a work queue with the name of a rung dies for any other reason like every work queue") {
    Headers headers;
    for (const std::string_view reason : {"rejected", "maxlen", "delivery_limit"})
        CHECK(read_death(headers.deaths({{"email.retry.5s", reason}}), error_queue)->queue == "email.retry.5s");
}

TEST_CASE("a death in the error queue is a hop of ours, whatever the reason") {
    Headers headers;
    for (const std::string_view reason : {"rejected", "expired", "maxlen", "delivery_limit"}) {
        const Table table = headers.deaths({{error_queue, reason}, {"email", "rejected"}});
        CHECK(read_death(table, error_queue)->queue == "email");
        CHECK_FALSE(read_death(headers.deaths({{error_queue, reason}}), error_queue).has_value());
    }
    CHECK(read_death(headers.deaths({{"retryd.errors"}}), "another.errors")->queue == "retryd.errors");
}

TEST_CASE("deaths in one queue are counted over all reasons, those in other queues are not") {
    Headers headers;
    const Table table = headers.deaths({{"email", "rejected", 3},
                                        {"email.retry.5s", "expired", 70},
                                        {"email", "expired", 2},
                                        {"sms", "rejected", 900},
                                        {"email", "delivery_limit", 1}});
    CHECK(count_of(table) == 6);
}

TEST_CASE("older entries that cannot be read are not counted, and do not hide the newest") {
    Headers headers;
    const Value deaths =
        headers.array({headers.death({.count = 2}), text("email"), headers.death_with("queue", number(5)),
                       headers.table({}), headers.death_with("queue", {}), headers.death({.reason = "expired"})});
    CHECK(count_of(headers.fields({{"x-death", deaths}})) == 3);
}

TEST_CASE("a count is read in every width of integer that a client may have made of it") {
    Headers headers;
    const auto count_from = [&](Kind kind, Value::Data data) {
        const Value deaths = headers.array({headers.death_with("count", Value{kind, data})});
        return count_of(headers.fields({{"x-death", deaths}}));
    };
    for (const Kind kind : {Kind::int8, Kind::int16, Kind::int32, Kind::int64})
        CHECK(count_from(kind, std::int64_t{7}) == 7);
    for (const Kind kind : {Kind::uint8, Kind::uint16, Kind::uint32, Kind::uint64})
        CHECK(count_from(kind, std::uint64_t{7}) == 7);
}

TEST_CASE("a count that is missing, no integer, zero or negative is one") {
    Headers headers;
    const auto count_from = [&](std::optional<Value> count) {
        const Value deaths = headers.array({headers.death_with("count", count)});
        return count_of(headers.fields({{"x-death", deaths}}));
    };
    CHECK(count_from({}) == 1);
    CHECK(count_from(text("7")) == 1);
    CHECK(count_from(Value{Kind::float64, 7.0}) == 1);
    CHECK(count_from(Value{Kind::boolean, true}) == 1);
    CHECK(count_from(Value{Kind::nothing, {}}) == 1);
    CHECK(count_from(number(0)) == 1);
    CHECK(count_from(number(-1)) == 1);
    CHECK(count_from(number(std::numeric_limits<std::int64_t>::min())) == 1);
    CHECK(count_from(Value{Kind::uint64, std::numeric_limits<std::uint64_t>::max()}) == 1);
    CHECK(count_from(number(2)) == 2);
}

TEST_CASE("a sum of huge counts stops at the largest number") {
    Headers headers;
    CHECK(count_of(headers.deaths({{"email", "rejected", most}})) == most);
    CHECK(count_of(headers.deaths({{"email", "rejected", most}, {"email", "expired", 1}})) == most);
    CHECK(count_of(headers.deaths({{"email", "rejected", 1}, {"email", "expired", most}})) == most);
    CHECK(count_of(headers.deaths({{"email", "rejected", most}, {"email", "expired", most}})) == most);
    CHECK(count_of(headers.deaths({{"email", "rejected", most - 5}, {"email", "expired", 4}})) == most - 1);
    CHECK(count_of(headers.deaths({{"email", "rejected", most - 5}, {"email", "expired", 5}})) == most);
}

}  // namespace retryd::core::death_test
