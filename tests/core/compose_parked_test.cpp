#include "core/compose.h"
#include "core/compose_scene.h"
#include "support/catch.h"

namespace retryd::core::compose_parked_test {
namespace {

using namespace test;

const std::string death_of_first_round =
    "x-death=A:[F:{count=l:1, reason=S:rejected, queue=S:email, time=T:1700000000, exchange=S:shop, "
    "routing-keys=A:[S:order.paid]}]";

}  // namespace

TEST_CASE("a parked message keeps its x-death and says why and when it was parked") {
    ComposeScene scene;
    scene.died({}, {{"order", number(1)}});
    CHECK(headers_of(scene.parked({ParkReason::attempts_exhausted, 4})) ==
          '{' + death_of_first_round +
              ", order=l:1, retryd-queue=S:email, retryd-attempt=l:4, retryd-reason=S:rejected, "
              "retryd-first-death=T:1700000000, retryd-exchange=S:shop, retryd-routing-key=S:order.paid, "
              "retryd-parked-reason=S:attempts-exhausted, retryd-parked-at=T:1800000000}");
}

TEST_CASE("the reason of the death stands in the reason of the parking") {
    ComposeScene scene;
    scene.died({.reason = "expired"});
    CHECK(header_of(scene.parked({ParkReason::death_reason, 1}), "retryd-parked-reason") == "S:reason-expired");
    CHECK(header_of(scene.parked({ParkReason::no_entry, 1}), "retryd-parked-reason") == "S:no-entry");
    CHECK(header_of(scene.parked({ParkReason::queue_gone, 1}), "retryd-parked-reason") == "S:queue-gone");
    CHECK(header_of(scene.parked({ParkReason::unpublishable, 1}), "retryd-parked-reason") == "S:unpublishable");
}

TEST_CASE("the time of the parking is in whole seconds") {
    ComposeScene scene;
    scene.died({});
    const WallTime now{std::chrono::milliseconds{1'800'000'000'999}};
    CHECK(header_of(scene.parked({}, now), "retryd-parked-at") == "T:1800000000");
}

TEST_CASE("a parked message loses the broker's other marks, as a retried one does") {
    ComposeScene scene;
    scene.died({}, {{"x-first-death-queue", text("email")},
                    {"x-last-death-queue", text("email")},
                    {"x-delivery-count", number(3)},
                    {"x-acquired-count", number(4)}});
    CHECK(names_of_headers(scene.parked()) ==
          "x-death retryd-queue retryd-attempt retryd-reason retryd-first-death retryd-exchange retryd-routing-key "
          "retryd-parked-reason retryd-parked-at");
}

TEST_CASE("a message parked after several rounds tells the facts of the first") {
    ComposeScene scene;
    scene.died({.time = 100});
    scene.retried(1);
    scene.dies_again({.time = 200, .exchange = "", .routing_key = "email"});
    const Message parked = scene.parked({ParkReason::attempts_exhausted, 2});
    CHECK(header_of(parked, "retryd-first-death") == "T:100");
    CHECK(header_of(parked, "retryd-exchange") == "S:shop");
    CHECK(header_of(parked, "retryd-routing-key") == "S:order.paid");
    CHECK(header_of(parked, "retryd-attempt") == "l:2");
}

TEST_CASE("a message parked a second time says the second reason, once") {
    ComposeScene scene;
    scene.died({}, {{"retryd-queue", text("email")},
                    {"retryd-parked-reason", text("no-entry")},
                    {"retryd-parked-at", seconds(1)}});
    CHECK(names_of_headers(scene.parked()) ==
          "x-death retryd-queue retryd-attempt retryd-reason retryd-first-death retryd-exchange retryd-routing-key "
          "retryd-parked-reason retryd-parked-at");
    CHECK(header_of(scene.parked(), "retryd-parked-reason") == "S:attempts-exhausted");
    CHECK(header_of(scene.parked(), "retryd-parked-at") == "T:1800000000");
}

TEST_CASE("a message without a header table is parked with the two facts there are") {
    ComposeScene scene;
    CHECK(headers_of(scene.parked({ParkReason::no_death})) ==
          "{retryd-parked-reason=S:no-death, retryd-parked-at=T:1800000000}");
}

TEST_CASE("a message without a readable death keeps what it came with, the unreadable x-death included") {
    ComposeScene scene;
    scene.arrives_with({{"x-death", text("what?")}, {"order", number(1)}});
    CHECK(headers_of(scene.parked({ParkReason::no_death})) ==
          "{x-death=S:what?, order=l:1, retryd-parked-reason=S:no-death, retryd-parked-at=T:1800000000}");
}

TEST_CASE("a message without a readable death keeps an earlier story, the only one there is") {
    ComposeScene scene;
    scene.arrives_with({{"retryd-queue", text("email")},
                        {"retryd-attempt", number(3)},
                        {"retryd-cc", scene.headers.array({text("audit")})},
                        {"retryd-parked-reason", text("no-entry")},
                        {"retryd-parked-at", seconds(1)}});
    CHECK(headers_of(scene.parked({ParkReason::no_death})) ==
          "{retryd-queue=S:email, retryd-attempt=l:3, retryd-cc=A:[S:audit], retryd-parked-reason=S:no-death, "
          "retryd-parked-at=T:1800000000}");
}

TEST_CASE("a message without a readable death has what would harm it set aside all the same") {
    ComposeScene scene;
    scene.message.properties.user_id = "alice";
    scene.message.properties.expiration = "60000";
    scene.arrives_with({{"CC", scene.headers.array({text("audit")})}, {"BCC", scene.headers.array({text("spy")})}});
    const Message parked = scene.parked({ParkReason::no_death});
    CHECK_FALSE(parked.properties.user_id.has_value());
    CHECK_FALSE(parked.properties.expiration.has_value());
    CHECK(headers_of(parked) ==
          "{retryd-user-id=S:alice, retryd-cc=A:[S:audit], retryd-bcc=A:[S:spy], retryd-expiration=S:60000, "
          "retryd-parked-reason=S:no-death, retryd-parked-at=T:1800000000}");
}

TEST_CASE("without a readable death, too, what is set aside now wins over an earlier story") {
    ComposeScene scene;
    scene.message.properties.user_id = "bob";
    scene.message.properties.expiration = "5";
    scene.arrives_with({{"CC", scene.headers.array({text("new")})},
                        {"BCC", scene.headers.array({text("newer")})},
                        {"retryd-user-id", text("alice")},
                        {"retryd-cc", scene.headers.array({text("old")})},
                        {"retryd-bcc", scene.headers.array({text("old")})},
                        {"retryd-expiration", text("60000")}});
    CHECK(headers_of(scene.parked({ParkReason::no_death})) ==
          "{retryd-user-id=S:bob, retryd-cc=A:[S:new], retryd-bcc=A:[S:newer], retryd-expiration=S:5, "
          "retryd-parked-reason=S:no-death, retryd-parked-at=T:1800000000}");
}

}  // namespace retryd::core::compose_parked_test
