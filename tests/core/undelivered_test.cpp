// What a shared rung could not send home: how it is known, and how it is composed for its second try.
#include "core/compose.h"
#include "core/compose_scene.h"
#include "core/death.h"
#include "support/catch.h"

namespace retryd::core::undelivered_test {
namespace {

using namespace test;

Table arrived(Headers& headers, const DeathEntry& newest, std::optional<Value> queue) {
    std::vector<Field> fields{{"x-death", headers.array({headers.death(newest)})}};
    if (queue) fields.push_back({"retryd-queue", *queue});
    return headers.fields(fields);
}

}  // namespace

TEST_CASE("the expiry of a shared rung and the queue's name in our header make an undelivered message") {
    Headers headers;
    CHECK(read_undelivered(arrived(headers, {"retryd.shared.5s", "expired"}, text("email"))) == "email");
    CHECK(read_undelivered(arrived(headers, {"retryd.shared.2m.high", "expired"}, text("email"))) == "email");
}

TEST_CASE("without a usable name, of another queue or for another reason it is none") {
    Headers headers;
    const DeathEntry expired{"retryd.shared.5s", "expired"};
    CHECK_FALSE(read_undelivered(arrived(headers, expired, std::nullopt)));
    CHECK_FALSE(read_undelivered(arrived(headers, expired, text(""))));
    CHECK_FALSE(read_undelivered(arrived(headers, expired, text("two\nlines"))));
    CHECK_FALSE(read_undelivered(arrived(headers, expired, number(1))));
    CHECK_FALSE(read_undelivered(arrived(headers, {"retryd.shared.5s", "rejected"}, text("email"))));
    CHECK_FALSE(read_undelivered(arrived(headers, {"email.retry.5s", "expired"}, text("email"))));
    CHECK_FALSE(read_undelivered(arrived(headers, {"email", "rejected"}, text("email"))));
    CHECK_FALSE(read_undelivered(headers.fields({{"x-death", headers.array({})}, {"retryd-queue", text("email")}})));
    CHECK_FALSE(read_undelivered(headers.fields({{"retryd-queue", text("email")}})));
}

TEST_CASE("only the newest death counts: a message that came home and died again is no undelivered one") {
    Headers headers;
    const Table table = headers.fields(
        {{"x-death", headers.array({headers.death({"email"}), headers.death({"retryd.shared.5s", "expired"})})},
         {"retryd-queue", text("email")}});
    CHECK_FALSE(read_undelivered(table));
    CHECK(read_death(table, "retryd.errors")->queue == "email");
}

TEST_CASE("the expiry of a shared rung alone is a hop of ours, not a death") {
    Headers headers;
    CHECK_FALSE(read_death(headers.deaths({{"retryd.shared.5s", "expired"}}), "retryd.errors"));
    CHECK(read_death(headers.deaths({{"retryd.shared.5s", "rejected"}}), "retryd.errors")->queue == "retryd.shared.5s");
}

TEST_CASE("it goes home as it left its rung: with our headers, without what the broker wrote") {
    ComposeScene scene;
    scene.died({"retryd.shared.5s", "expired"}, {{"x-first-death-queue", text("retryd.shared.5s")},
                                                 {"mine", number(7)},
                                                 {"retryd-queue", text("email")},
                                                 {"retryd-attempt", number(3)},
                                                 {"retryd-cc", text("audit")}});
    const Story story{{}, read_carried(scene.message.properties.header_table(), "email"), connection_user};
    ComposeScratch scratch;
    const Message home = compose_home(scene.message, story, scratch);
    CHECK(headers_of(home) == "{mine=l:7, retryd-queue=S:email, retryd-attempt=l:3, retryd-cc=S:audit}");
    CHECK(home.properties.delivery_mode == 2);
}

TEST_CASE("the producer's routing key is the carried one, else that of the death, and never longer than can be") {
    Death death;
    death.routing_key = "order.paid";
    CHECK(producer_routing_key({death, {}, ""}) == "order.paid");
    Carried carried;
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

}  // namespace retryd::core::undelivered_test
