#include "core/death.h"

#include <limits>

#include "core/compose.h"
#include "core/compose_scene.h"
#include "core/decide.h"
#include "core/headers.h"
#include "core/names.h"
#include "support/catch.h"

namespace retryd::core::death_test {
namespace {

using namespace test;

constexpr std::string_view error_queue = "retryd.errors";
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::int64_t count_of(const Table& headers) {
    return read_death(headers, error_queue).value().count;
}

/// The death read from one entry whose field is replaced, or taken off.
std::optional<Death> read_with(Headers& headers, std::string_view field, std::optional<Value> value) {
    const Value deaths = headers.array({headers.death_with(field, value)});
    return read_death(headers.fields({{"x-death", deaths}}), error_queue);
}

Table arrived(Headers& headers, const DeathEntry& newest, std::optional<Value> queue) {
    std::vector<Field> fields{{"x-death", headers.array({headers.death(newest)})}};
    if (queue) fields.push_back({"retryd-queue", *queue});
    return headers.fields(fields);
}

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
RetryHistory history_with(Headers& headers, std::string_view name, const Value& value) {
    auto fields = all_of_ours(headers);
    for (Field& field : fields) {
        if (field.name == name) field.value = value;
    }
    return read_claimed_history(headers.fields(std::move(fields)), "email");
}

bool carries_nothing(const RetryHistory& carried) {
    return carried.attempt == 0 && !carried.first_death && !carried.exchange && !carried.routing_key &&
           !carried.user_id && !carried.expiration && carried.cc == nullptr && carried.bcc == nullptr;
}

}  // namespace

// ── The death ──────────────────────────────────────────────────────────────────────────────────────────────────────

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

TEST_CASE("the expiry of a rung is no death, and what stands behind it may be anybody's word") {
    Headers headers;
    CHECK_FALSE(read_death(headers.deaths({{"email.retry.5s", "expired", 4}, {"email", "rejected", 2}}), error_queue));
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
        for (const auto& rest : {std::vector<DeathEntry>{{"email", "rejected"}},
                                 {{"email", "rejected"}, {"email.retry.5s", "expired"}, {"email", "expired"}},
                                 {{"retryd.shared.5s", "expired"}, {"email", "rejected"}}}) {
            std::vector<DeathEntry> entries{{error_queue, reason}};
            entries.insert(entries.end(), rest.begin(), rest.end());
            const auto death = read_death(headers.deaths(entries), error_queue);
            REQUIRE(death);
            CHECK(death->queue == "email");
        }
        CHECK_FALSE(read_death(headers.deaths({{error_queue, reason}}), error_queue).has_value());
    }
    CHECK(read_death(headers.deaths({{"retryd.errors"}}), "another.errors")->queue == "retryd.errors");
}

TEST_CASE(
    "behind a death in the error queue deaths of two queues leave open which is the newer one, as 3.x turns them") {
    Headers headers;
    const DeathEntry last{error_queue, "rejected"};
    CHECK_FALSE(read_death(headers.deaths({last, {"victim"}, {"own"}}), error_queue));
    CHECK_FALSE(read_death(headers.deaths({last, {"victim"}, {"own.retry.5s", "expired"}}), error_queue));
    CHECK_FALSE(read_death(headers.deaths({last, {"own.retry.5s", "expired"}, {"victim"}}), error_queue));
    CHECK_FALSE(read_death(headers.deaths({last, {"victim"}, {"victims.retry.5s", "expired"}}), error_queue));
    CHECK(read_death(headers.deaths({{"own"}, {"victim"}}), error_queue)->queue == "own");
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

// ── What comes from a detour ───────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("what comes from a detour died where our headers say, and its death is counted already") {
    Headers headers;
    auto fields = all_of_ours(headers);
    fields[2].value = text("delivery_limit");
    fields.push_back({"x-death", headers.array({headers.death({"retryd.detour.30s", "expired", 7})})});
    const Table table = headers.fields(fields);
    const auto death = read_death(table, error_queue);
    REQUIRE(death.has_value());
    CHECK(death->queue == "email");
    CHECK(death->reason == "delivery_limit");
    CHECK(death->count == 0);
    CHECK_FALSE(death->time.has_value());
    CHECK(attempt_of(*death, read_claimed_history(table, "email")) == 4);
    CHECK_FALSE(read_returned_by_rung(table).has_value());
}

TEST_CASE("what comes from a detour without a usable queue of ours has no death") {
    Headers headers;
    const DeathEntry detour{"retryd.detour.2s", "expired"};
    CHECK_FALSE(read_death(arrived(headers, detour, std::nullopt), error_queue).has_value());
    CHECK_FALSE(read_death(arrived(headers, detour, number(1)), error_queue).has_value());
    CHECK_FALSE(read_death(arrived(headers, detour, text("")), error_queue).has_value());
    CHECK_FALSE(read_death(arrived(headers, detour, text("two\nlines")), error_queue).has_value());
    CHECK_FALSE(read_death(arrived(headers, detour, text(error_queue)), error_queue).has_value());
    CHECK_FALSE(read_returned_by_rung(arrived(headers, detour, text("email"))).has_value());
}

TEST_CASE("what comes from a detour without a reason of ours was rejected") {
    Headers headers;
    const DeathEntry detour{"retryd.detour.2s", "expired"};
    CHECK(read_death(arrived(headers, detour, text("email")), error_queue)->reason == "rejected");
    for (const Value& odd : {text(""), number(1)}) {
        const Table table = headers.fields({{"x-death", headers.array({headers.death(detour)})},
                                            {"retryd-queue", text("email")},
                                            {"retryd-reason", odd}});
        CHECK(read_death(table, error_queue)->reason == "rejected");
    }
}

TEST_CASE("what is thrown out of a detour died in its work queue, of that") {
    Headers headers;
    const auto death = read_death(arrived(headers, {"retryd.detour.2s", "maxlen"}, text("email")), error_queue);
    REQUIRE(death.has_value());
    CHECK(death->queue == "email");
    CHECK(death->reason == "maxlen");
    CHECK(death->count == 0);
}

TEST_CASE("a detour is found behind the error queue, where the broker has set the message aside, if alone there") {
    Headers headers;
    const DeathEntry detour{"retryd.detour.2s", "expired"};
    const Value alone = headers.array({headers.death({error_queue}), headers.death(detour)});
    const Table table = headers.fields({{"x-death", alone}, {"retryd-queue", text("email")}});
    CHECK(read_death(table, error_queue)->queue == "email");
    const Value forged = headers.array({headers.death({error_queue}), headers.death(detour), headers.death({"own"})});
    CHECK_FALSE(read_death(headers.fields({{"x-death", forged}, {"retryd-queue", text("victim")}}), error_queue));
    CHECK(read_death(headers.deaths({{"sms"}, {"retryd.detour.2s", "expired"}}), error_queue)->queue == "sms");
}

TEST_CASE("the detour that a message comes from is told by its newest death, or by the one behind the error queue") {
    Headers headers;
    const DeathEntry detour{"retryd.detour.5m", "expired"};
    CHECK(detour_of(headers.deaths({detour}), error_queue) == "retryd.detour.5m");
    CHECK(detour_of(headers.deaths({{"retryd.detour.2s", "maxlen"}}), error_queue) == "retryd.detour.2s");
    CHECK(detour_of(headers.deaths({{error_queue}, detour}), error_queue) == "retryd.detour.5m");
    CHECK_FALSE(detour_of(headers.deaths({{"sms"}, detour}), error_queue));
    CHECK_FALSE(detour_of(headers.deaths({{"retryd.detour.7s", "expired"}}), error_queue));
    CHECK_FALSE(detour_of(headers.deaths({{error_queue}}), error_queue));
    CHECK_FALSE(detour_of(headers.fields({}), error_queue));
}

// ── An x-death that cannot be read ─────────────────────────────────────────────────────────────────────────────────

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

// ── What a shared rung could not return: how it is known, and how it is composed for its second try ─────────────

TEST_CASE("the expiry of a shared rung and the queue's name in our header make an undelivered message") {
    Headers headers;
    CHECK(read_returned_by_rung(arrived(headers, {"retryd.shared.5s", "expired"}, text("email")))->queue == "email");
    CHECK(read_returned_by_rung(arrived(headers, {"retryd.shared.2m.high", "expired"}, text("email")))->queue ==
          "email");
}

TEST_CASE("without a usable name, of another queue or for another reason it is none") {
    Headers headers;
    const DeathEntry expired{"retryd.shared.5s", "expired"};
    CHECK_FALSE(read_returned_by_rung(arrived(headers, expired, std::nullopt)));
    CHECK_FALSE(read_returned_by_rung(arrived(headers, expired, text(""))));
    CHECK_FALSE(read_returned_by_rung(arrived(headers, expired, text("two\nlines"))));
    CHECK_FALSE(read_returned_by_rung(arrived(headers, expired, number(1))));
    CHECK_FALSE(read_returned_by_rung(arrived(headers, {"retryd.shared.5s", "rejected"}, text("email"))));
    CHECK_FALSE(read_returned_by_rung(arrived(headers, {"email.retry.5s", "expired"}, text("email"))));
    CHECK_FALSE(read_returned_by_rung(arrived(headers, {"email", "rejected"}, text("email"))));
    CHECK_FALSE(
        read_returned_by_rung(headers.fields({{"x-death", headers.array({})}, {"retryd-queue", text("email")}})));
    CHECK_FALSE(read_returned_by_rung(headers.fields({{"retryd-queue", text("email")}})));
}

TEST_CASE("only the newest death counts: a message that came back and died again is no undelivered one") {
    Headers headers;
    const Table table = headers.fields(
        {{"x-death", headers.array({headers.death({"email"}), headers.death({"retryd.shared.5s", "expired"})})},
         {"retryd-queue", text("email")}});
    CHECK_FALSE(read_returned_by_rung(table));
    CHECK(read_death(table, "retryd.errors")->queue == "email");
}

TEST_CASE("the expiry of a shared rung alone is a hop of ours, not a death") {
    Headers headers;
    CHECK_FALSE(read_death(headers.deaths({{"retryd.shared.5s", "expired"}}), "retryd.errors"));
    CHECK(read_death(headers.deaths({{"retryd.shared.5s", "rejected"}}), "retryd.errors")->queue == "retryd.shared.5s");
}

TEST_CASE("it returns as it left its rung: with our headers, without what the broker wrote") {
    ComposeScene scene;
    scene.died({"retryd.shared.5s", "expired"}, {{"x-first-death-queue", text("retryd.shared.5s")},
                                                 {"mine", number(7)},
                                                 {"retryd-queue", text("email")},
                                                 {"retryd-attempt", number(3)},
                                                 {"retryd-cc", text("audit")}});
    const ComposeContext context{
        {}, read_claimed_history(scene.message.properties.header_table(), "email"), connection_user};
    ComposeScratch scratch;
    const Message returned = compose_return(scene.message, context, scratch);
    CHECK(headers_of(returned) == "{mine=l:7, retryd-queue=S:email, retryd-attempt=l:3, retryd-cc=S:audit}");
    CHECK(returned.properties.delivery_mode == 2);
}

TEST_CASE("the producer's routing key is the carried one, else that of the death, and never longer than can be") {
    Death death;
    death.routing_key = "order.paid";
    CHECK(producer_routing_key({death, {}, ""}) == "order.paid");
    RetryHistory carried;
    carried.routing_key = "order.new";
    CHECK(producer_routing_key({death, carried, ""}) == "order.new");
    CHECK(producer_routing_key({{}, {}, ""}).empty());
    const std::string long_key(256, 'k');
    carried.routing_key = long_key;
    CHECK(producer_routing_key({death, carried, ""}).empty());
    carried.routing_key = std::string_view{long_key}.substr(1);
    CHECK(producer_routing_key({death, carried, ""}).size() == 255);
    carried.routing_key = "\xff\xfe";
    CHECK(producer_routing_key({death, carried, ""}).empty());
}

// ── The history of earlier rounds ──────────────────────────────────────────────────────────────────────────────────

TEST_CASE("a message carries its story back from the rung") {
    Headers headers;
    const Table table = headers.fields(all_of_ours(headers));
    const RetryHistory carried = read_claimed_history(table, "email");
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
    CHECK(carries_nothing(read_claimed_history(Table{}, "email")));
    CHECK(carries_nothing(read_claimed_history(headers.fields({{"retryd-queue", text("email")}}), "email")));
    CHECK(carries_nothing(
        read_claimed_history(headers.fields({{"attempt", number(4)}, {"queue", text("email")}}), "email")));
}

TEST_CASE("headers copied into a message for another queue hand on nothing") {
    Headers headers;
    const Table table = headers.fields(all_of_ours(headers));
    for (const std::string_view other : {"sms", "emai", "emails", "Email", ""}) {
        CAPTURE(other);
        CHECK(carries_nothing(read_claimed_history(table, other)));
    }
}

TEST_CASE("headers that name no queue, or not as text, hand on nothing") {
    Headers headers;
    auto fields = all_of_ours(headers);
    fields.erase(fields.begin());
    CHECK(carries_nothing(read_claimed_history(headers.fields(fields), "email")));
    CHECK(carries_nothing(read_claimed_history(headers.fields(fields), "")));
    CHECK(carries_nothing(history_with(headers, "retryd-queue", number(1))));
    CHECK(carries_nothing(history_with(headers, "retryd-queue", headers.array({text("email")}))));
}

TEST_CASE("an attempt is read in every width of integer") {
    Headers headers;
    for (const Kind kind : {Kind::int8, Kind::int16, Kind::int32, Kind::int64})
        CHECK(history_with(headers, "retryd-attempt", {kind, std::int64_t{9}}).attempt == 9);
    for (const Kind kind : {Kind::uint8, Kind::uint16, Kind::uint32, Kind::uint64})
        CHECK(history_with(headers, "retryd-attempt", {kind, std::uint64_t{9}}).attempt == 9);
}

TEST_CASE("an attempt that is negative or no integer is none") {
    Headers headers;
    for (const Value& value :
         {number(-1), number(std::numeric_limits<std::int64_t>::min()), text("4"), Value{Kind::float64, 4.0},
          Value{Kind::boolean, true}, Value{}, Value{Kind::uint64, std::numeric_limits<std::uint64_t>::max()}}) {
        CAPTURE(describe(value));
        CHECK(history_with(headers, "retryd-attempt", value).attempt == 0);
    }
    CHECK(history_with(headers, "retryd-attempt", number(0)).attempt == 0);
    CHECK(history_with(headers, "retryd-attempt", number(1)).attempt == 1);
}

TEST_CASE("a huge attempt is taken at its word: it parks the message, and nothing worse") {
    Headers headers;
    CHECK(history_with(headers, "retryd-attempt", number(most)).attempt == most);
}

TEST_CASE("a first death that is negative or no integer is unknown") {
    Headers headers;
    for (const Value& value : {number(-1), text("1700000000"), Value{}})
        CHECK_FALSE(history_with(headers, "retryd-first-death", value).first_death.has_value());
    CHECK(history_with(headers, "retryd-first-death", number(0)).first_death == 0);
    CHECK(history_with(headers, "retryd-first-death", number(17)).first_death == 17);
}

TEST_CASE("texts of another type are as if they were not there") {
    Headers headers;
    CHECK_FALSE(history_with(headers, "retryd-exchange", number(1)).exchange.has_value());
    CHECK_FALSE(history_with(headers, "retryd-routing-key", number(1)).routing_key.has_value());
    CHECK_FALSE(history_with(headers, "retryd-user-id", number(1)).user_id.has_value());
    CHECK_FALSE(history_with(headers, "retryd-expiration", number(1)).expiration.has_value());
}

TEST_CASE("one header of a wrong type does not hide the others") {
    Headers headers;
    const RetryHistory carried = history_with(headers, "retryd-first-death", text("yesterday"));
    CHECK(carried.attempt == 4);
    CHECK(carried.exchange.value_or("(none)") == "shop");
}

TEST_CASE("an empty exchange, the default one, is an exchange") {
    Headers headers;
    CHECK(history_with(headers, "retryd-exchange", text("")).exchange == std::optional<std::string_view>{""});
}

TEST_CASE("what is parked already comes from a detour that leads to the catch-all, whatever else its headers say") {
    Headers headers;
    const auto parked_detour = [&](std::initializer_list<DeathEntry> deaths, const std::optional<Value>& reason) {
        std::vector<Value> entries;
        for (const DeathEntry& death : deaths)
            entries.push_back(headers.death(death));
        std::vector<Field> fields{{"retryd-queue", text("email")}};
        if (!entries.empty()) fields.push_back({"x-death", headers.array(entries)});
        if (reason) fields.push_back({"retryd-parked-reason", *reason});
        return is_parked_detour(headers.fields(fields), error_queue);
    };
    const DeathEntry detour{"retryd.detour.2s", "expired"};
    CHECK(parked_detour({detour}, text("no-death")));
    CHECK(parked_detour({{"retryd.detour.5m", "maxlen"}}, text("too-old")));
    CHECK(parked_detour({{error_queue}, detour, {"sms"}}, text("no-death")));
    CHECK_FALSE(parked_detour({detour}, std::nullopt));
    CHECK_FALSE(parked_detour({{"sms"}, detour}, text("no-death")));
    CHECK_FALSE(parked_detour({{error_queue}}, text("no-death")));
    CHECK_FALSE(parked_detour({}, text("no-death")));
}

// ── What of it is believed ─────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("a history with retryd's proof is believed, wherever the message comes from") {
    Headers headers;
    const RetryHistory history = read_retry_history(headers.proven(all_of_ours(headers)), "email", proof_keys);
    CHECK(history.proven);
    CHECK(history.attempt == 4);
    CHECK(history.routing_key == "order.paid");
    CHECK(history.user_id == "alice");
    CHECK(carries_nothing(read_retry_history(headers.proven(all_of_ours(headers)), "sms", proof_keys)));
}

TEST_CASE("a history that anybody may have written is none: the message is new") {
    Headers headers;
    auto fields = all_of_ours(headers);
    fields.push_back({"retryd-proof", text("0123456789abcdef")});
    fields.push_back({"x-death", headers.array({headers.death({})})});
    const RetryHistory history = read_retry_history(headers.fields(fields), "email", proof_keys);
    CHECK(carries_nothing(history));
    CHECK_FALSE(history.proven);
    CHECK(carries_nothing(read_retry_history(headers.proven(all_of_ours(headers)), "email", {})));
}

TEST_CASE("without a proof, of what came from a rung or a detour, attempts and age are believed and nothing else") {
    Headers headers;
    const DeathEntry died{};
    for (const auto& deaths : {std::vector<DeathEntry>{died, {"email.retry.5s", "expired"}},
                               {died, {"retryd.shared.5s", "expired"}},
                               {{"retryd.shared.5s", "expired"}},
                               {{"retryd.detour.2s", "maxlen"}}}) {
        auto fields = all_of_ours(headers);
        const Table x_death = headers.deaths(deaths);
        fields.push_back(*x_death.begin());
        RetryHistory history = read_retry_history(headers.fields(fields), "email", proof_keys);
        CHECK_FALSE(history.proven);
        CHECK(history.attempt == 4);
        CHECK(history.first_death == 1'700'000'000);
        history.attempt = 0;
        history.first_death.reset();
        CHECK(carries_nothing(history));
    }
    for (const auto& deaths : {std::vector<DeathEntry>{died, {"email.retry.5s", "rejected"}},
                               {died, {"other", "expired"}, {"email.retry.5s", "expired"}}}) {
        auto fields = all_of_ours(headers);
        const Table x_death = headers.deaths(deaths);
        fields.push_back(*x_death.begin());
        CHECK(carries_nothing(read_retry_history(headers.fields(fields), "email", proof_keys)));
    }
}

TEST_CASE("the first death is what a proven history says, else the older one of what it and x-death say") {
    Death death;
    RetryHistory history;
    CHECK_FALSE(first_death_of(death, history));
    death.time = 100;
    CHECK(first_death_of(death, history) == 100);
    history.first_death = 4'000'000'000;
    CHECK(first_death_of(death, history) == 100);
    history.proven = true;
    CHECK(first_death_of(death, history) == 4'000'000'000);
    history.first_death = 50;
    CHECK(first_death_of(death, history) == 50);
    death.time.reset();
    CHECK(first_death_of(death, history) == 50);
}

TEST_CASE("no death is later than now, and where x-death can be forged the key is the one of the delivery") {
    const WallTime now{std::chrono::seconds{1'000}};
    Death death;
    death.routing_key = "theirs";
    death.time = 5'000;
    sanitise_forgeable_fields(death, false, "mine", now);
    CHECK(death.time == 1'000);
    CHECK(death.routing_key == "theirs");
    death.time = 500;
    sanitise_forgeable_fields(death, true, std::nullopt, now);
    CHECK(death.time == 500);
    CHECK(death.routing_key == "theirs");
    sanitise_forgeable_fields(death, true, "mine", now);
    CHECK(death.routing_key == "mine");
}

}  // namespace retryd::core::death_test
