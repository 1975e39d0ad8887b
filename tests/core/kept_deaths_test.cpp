// What a consumer sees as x-death where it is kept: on brokers that count on what retryd has published with a message,
// and on those that begin anew.
#include "core/kept_deaths.h"

#include <string>
#include <vector>

#include "core/allocations.h"
#include "core/death.h"
#include "core/headers.h"
#include "support/catch.h"

namespace retryd::core::kept_deaths_test {
namespace {

using namespace test;

struct Scene {
    Headers headers;
    KeptDeaths merged;

    const Value* merge(const Table& arrived, const Value* kept, bool died = true) {
        KeptDeaths::From from{arrived, kept, "email", "retryd.errors"};
        from.exchange = exchange;
        from.routing_key = routing_key;
        return merged.merge(from, died);
    }
    std::optional<std::string_view> exchange = {};
    std::optional<std::string_view> routing_key = {};
};

/// "2 rejected email shop order.paid, …"
std::string told(const Value* deaths) {
    std::string text;
    const auto entries = array_of(deaths);
    if (!entries) return "(none)";
    for (const Value& entry : *entries) {
        const Table fields = *table_of(&entry);
        const auto keys = array_of(find(fields, "routing-keys"));
        text.append(text.empty() ? "" : ", ")
            .append(std::to_string(integer_of(find(fields, "count")).value_or(-1)))
            .append(" ")
            .append(text_of(find(fields, "reason")).value_or("?"))
            .append(" ")
            .append(text_of(find(fields, "queue")).value_or("?"))
            .append(" ")
            .append(text_of(find(fields, "exchange")).value_or("?"))
            .append(" ")
            .append(keys && !keys->empty() ? text_of(keys->begin()).value_or("?") : "-");
    }
    return text;
}

constexpr std::uint64_t first_time = 1'700'000'000;

}  // namespace

TEST_CASE("kept deaths: the first death is told as the broker tells it, without queues of retryd's") {
    Scene s;
    const Table arrived = s.headers.deaths({{"email"},
                                            {"email.retry.5s", "expired"},
                                            {"retryd.shared.5s.high", "expired"},
                                            {"email.retry.5s.x-death", "expired"},
                                            {"retryd.errors", "rejected"},
                                            {"orders", "maxlen"}});
    CHECK(told(s.merge(arrived, nullptr)) == "1 rejected email shop order.paid, 1 maxlen orders shop order.paid");
    CHECK(told(s.merge(s.headers.deaths({{"email.retry.5s", "expired"}}), nullptr, false)) == "(none)");
}

TEST_CASE("kept deaths: a broker that begins anew and one that counts on lead to the same") {
    Scene s;
    s.exchange = "shop";
    s.routing_key = "order.paid";
    const Value kept = s.headers.array({s.headers.death({"email", "rejected", 2, first_time})});
    const Table anew = s.headers.deaths({{"email", "rejected", 1, first_time + 9, "", "email"}});
    const Table on = s.headers.deaths({{"email", "rejected", 3, first_time}});
    // 3.13.3 and 3.13.4 write the time of a republished x-death divided by 1000.
    const Table on_in_thousands = s.headers.deaths({{"email", "rejected", 3, first_time / 1000}});
    for (const Table& arrived : {anew, on, on_in_thousands}) {
        CHECK(deaths_since(arrived, kept, "email") == 1);
        CHECK(told(s.merge(arrived, &kept)) == "3 rejected email shop order.paid");
    }
    const auto time = find(*table_of(array_of(s.merge(anew, &kept))->begin()), "time");
    CHECK(integer_of(time) == first_time);
}

TEST_CASE("kept deaths: several deaths in between are all counted, and each reason for itself") {
    Scene s;
    const Value kept = s.headers.array({s.headers.death({"email", "rejected", 1, first_time})});
    CHECK(deaths_since(s.headers.deaths({{"email", "rejected", 2, first_time + 9, "", ""}}), kept, "email") == 2);
    CHECK(deaths_since(s.headers.deaths({{"email", "rejected", 3, first_time}}), kept, "email") == 2);
    s.exchange = "shop";
    s.routing_key = "order.paid";
    const Table on = s.headers.deaths({{"email", "expired", 1, first_time + 9, "", "email"}, {"email", "rejected", 1}});
    const Table anew = s.headers.deaths({{"email", "expired", 1, first_time + 9, "", "email"}});
    for (const Table& arrived : {on, anew}) {
        CHECK(deaths_since(arrived, kept, "email") == 1);
        CHECK(told(s.merge(arrived, &kept)) == "1 expired email shop order.paid, 1 rejected email shop order.paid");
    }
}

TEST_CASE("kept deaths: what comes back as it was sent has died nowhere; a death within the same second still counts") {
    Scene s;
    const Value kept = s.headers.array({s.headers.death({"email", "rejected", 2, first_time})});
    CHECK(deaths_since(s.headers.deaths({{"email", "rejected", 2, first_time}}), kept, "email") == 0);
    CHECK(deaths_since(s.headers.deaths({{"email", "rejected", 1, first_time}}), kept, "email") == 1);
    CHECK(deaths_since(s.headers.deaths({{"email", "rejected", 2, first_time, "retryd.return"}}), kept, "email") == 2);
    CHECK(told(s.merge(s.headers.deaths({{"email", "rejected", 2, first_time}}), &kept)) ==
          "3 rejected email shop order.paid");
}

TEST_CASE(
    "kept deaths: a time to come, as a producer may write it on 3.x, hides no death from a broker that begins anew") {
    Scene s;
    const Value kept = s.headers.array({s.headers.death({"email", "rejected", 1, first_time + 9'000'000})});
    CHECK(deaths_since(s.headers.deaths({{"email", "rejected", 1, first_time}}), kept, "email") == 1);
}

TEST_CASE("kept deaths: a detour adds none") {
    Scene s;
    const Value kept = s.headers.array({s.headers.death({"email", "rejected", 2, first_time})});
    CHECK(told(s.merge(s.headers.deaths({{"retryd.detour.2s", "expired"}}), &kept, false)) ==
          "2 rejected email shop order.paid");
}

TEST_CASE("kept deaths: only what is formed as the broker forms it is handed on") {
    Scene s;
    std::vector<Value> entries{s.headers.death({"email"}), text("x"), number(1), s.headers.table({})};
    for (const Value& odd : s.headers.one_of_each()) {
        for (const char* field :
             {"queue", "reason", "count", "time", "exchange", "routing-keys", "original-expiration"})
            entries.push_back(s.headers.death_with(field, odd));
    }
    entries.push_back(s.headers.death_with("reason", text("a new one")));
    const Value odd = s.headers.array(entries);
    const Value* const kept = s.merge(s.headers.fields({{"x-death", odd}}), &odd);
    REQUIRE(kept != nullptr);
    const Array all = *array_of(kept);
    for (const Value& value : all) {
        const Table entry = *table_of(&value);
        CHECK(find(entry, "count")->kind == Kind::int64);
        CHECK(*integer_of(find(entry, "count")) >= 1);
        CHECK(find(entry, "reason")->kind == Kind::longstr);
        CHECK(find(entry, "queue")->kind == Kind::longstr);
        CHECK(find(entry, "exchange")->kind == Kind::longstr);
        CHECK(find(entry, "routing-keys")->kind == Kind::array);
        const Value* const time = find(entry, "time");
        CHECK((time == nullptr || time->kind == Kind::timestamp));
    }
    CHECK(deaths_since(s.headers.fields({{"x-death", odd}}), text("no list"), "email") >= 1);
    std::vector<Field> fields;
    add_kept_deaths(text("no list"), fields);
    add_kept_deaths(odd, fields);
    CHECK(fields.empty());
}

TEST_CASE("kept deaths: of more than that the oldest are left out") {
    Scene s;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < 2 * most_kept_deaths; ++i)
        names.push_back("queue" + std::to_string(i));
    std::vector<Value> entries{s.headers.death({"email"})};
    for (const std::string& name : names)
        entries.push_back(s.headers.death({name}));
    const Value* const kept = s.merge(s.headers.fields({{"x-death", s.headers.array(entries)}}), nullptr);
    CHECK(array_of(kept)->size() == most_kept_deaths);
    CHECK(told(kept).starts_with("1 rejected email"));
}

TEST_CASE("kept deaths: once warm, nothing is allocated") {
    Scene s;
    const Value kept = s.headers.array({s.headers.death({"email", "rejected", 2, first_time})});
    const Table arrived = s.headers.deaths({{"email", "expired", 1, first_time + 9}, {"orders", "maxlen"}});
    s.merge(arrived, &kept);
    const std::size_t before = retryd::test::allocations();
    s.merge(arrived, &kept);
    CHECK(retryd::test::allocations() == before);
}

TEST_CASE("kept deaths: beside x-death stand the first and the last of them, by their times") {
    Scene s;
    const Value kept = s.headers.array({s.headers.death({"email", "expired", 1, first_time + 5}),
                                        s.headers.death({"email", "rejected", 2, first_time + 1}),
                                        s.headers.death({"orders", "maxlen", 1, first_time + 1})});
    std::vector<Field> fields;
    add_kept_deaths(kept, fields);
    const Table table{fields.data(), fields.size()};
    CHECK(text_of(find(table, "x-first-death-queue")) == "orders");
    CHECK(text_of(find(table, "x-first-death-reason")) == "maxlen");
    CHECK(text_of(find(table, "x-first-death-exchange")) == "shop");
    CHECK(text_of(find(table, "x-last-death-queue")) == "email");
    CHECK(text_of(find(table, "x-last-death-reason")) == "expired");
    CHECK(equal(*find(table, x_death), kept));
}

TEST_CASE("what waited on a rung that leads to retryd is sent home by it, whatever ended its wait") {
    Headers headers;
    const auto from = [&](std::string_view rung, std::string_view reason, std::string_view queue) {
        return read_returned_by_rung(headers.fields(
            {{"x-death", headers.array({headers.death({rung, reason})})}, {"retryd-queue", text(queue)}}));
    };
    for (const char* reason : {"expired", "maxlen", "rejected"}) {
        for (const char* rung : {"email.retry.5s.x-death", "email.retry.5s.x-death.high", "retryd.shared.5s.x-death"}) {
            const auto undelivered = from(rung, reason, "email");
            REQUIRE(undelivered.has_value());
            CHECK(undelivered->queue == "email");
            CHECK(undelivered->rung == rung);
            CHECK_FALSE(undelivered->unbound);
        }
    }
    CHECK_FALSE(from("email.retry.5s.x-death", "expired", "orders").has_value());
    CHECK_FALSE(from("other.email.retry.5s.x-death", "expired", "email").has_value());
    CHECK_FALSE(from("email.retry.05s.x-death", "expired", "email").has_value());
    CHECK_FALSE(from("email.x-death", "expired", "email").has_value());
    CHECK(from("retryd.shared.5s", "expired", "email")->unbound);
}

}  // namespace retryd::core::kept_deaths_test
