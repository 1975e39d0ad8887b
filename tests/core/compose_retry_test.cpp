#include "core/compose.h"
#include "core/compose_scene.h"
#include "support/catch.h"

namespace retryd::core::compose_retry_test {
namespace {

using namespace test;

const std::string ours_of_first_round =
    "retryd-queue=S:email, retryd-attempt=l:1, retryd-reason=S:rejected, retryd-first-death=T:1700000000, "
    "retryd-exchange=S:shop, retryd-routing-key=S:order.paid";

}  // namespace

TEST_CASE("a retried message says where, how often, why and since when it died, and where it was published to") {
    ComposeScene scene;
    scene.died({});
    CHECK(headers_of(scene.retried()) == '{' + ours_of_first_round + '}');
}

TEST_CASE("other headers come back in their order, with their kinds and contents, ours behind them") {
    ComposeScene scene;
    std::vector<Field> fields;
    const std::vector<Value> values = scene.headers.one_of_each();
    const std::string_view letters = "zyxwvutsrqponmlkjihgfedcba";
    for (std::size_t i = 0; i < values.size(); ++i)
        fields.push_back({letters.substr(i, 1), values[i]});
    const std::string before = describe(scene.headers.fields(fields));
    scene.died({}, fields);
    CHECK(headers_of(scene.retried()) == before.substr(0, before.size() - 1) + ", " + ours_of_first_round + '}');
}

TEST_CASE("headers that only resemble those of the broker or of ours come back") {
    ComposeScene scene;
    const std::string_view kept =
        "x-deaths x-first-death x-last-death x-delivery-counts x-acquired-counts x-deat cc Cc CCS bcc BCCS "
        "retryd retryd- retryd-queues retryd-custom Retryd-Queue x-retries x-original-exchange x-opt-any "
        "x-amqp-1.0-app";
    std::vector<Field> fields;
    for (std::size_t at = 0; at < kept.size();) {
        const std::size_t end = std::min(kept.find(' ', at), kept.size());
        fields.push_back({kept.substr(at, end - at), text("v")});
        at = end + 1;
    }
    scene.died({}, fields);
    CHECK(names_of_headers(scene.retried()) ==
          std::string{kept} +
              " retryd-queue retryd-attempt retryd-reason retryd-first-death retryd-exchange retryd-routing-key");
}

TEST_CASE("what the broker writes at each death is taken off") {
    ComposeScene scene;
    scene.died({}, {{"x-first-death-queue", text("email")},
                    {"x-first-death-reason", text("rejected")},
                    {"x-first-death-exchange", text("shop")},
                    {"x-last-death-queue", text("email")},
                    {"x-last-death-reason", text("rejected")},
                    {"x-last-death-exchange", text("shop")},
                    {"x-delivery-count", number(3)},
                    {"x-acquired-count", number(4)},
                    {"x-death", text("again")}});
    CHECK(headers_of(scene.retried()) == '{' + ours_of_first_round + '}');
}

TEST_CASE("stale headers of ours are replaced, each once") {
    ComposeScene scene;
    std::vector<Field> stale;
    for (const std::string_view name : {"retryd-queue", "retryd-attempt", "retryd-reason", "retryd-first-death",
                                        "retryd-exchange", "retryd-routing-key", "retryd-user-id", "retryd-cc",
                                        "retryd-bcc", "retryd-expiration", "retryd-parked-reason", "retryd-parked-at"})
        stale.push_back({name, text("stale")});
    scene.died({}, stale);
    CHECK(headers_of(scene.retried()) == '{' + ours_of_first_round + '}');
}

TEST_CASE("a message that was parked and sent back by hand is no longer marked as parked") {
    ComposeScene scene;
    scene.died({}, {{"retryd-queue", text("email")},
                    {"retryd-parked-reason", text("attempts-exhausted")},
                    {"retryd-parked-at", seconds(1)}});
    CHECK(headers_of(scene.retried()) == '{' + ours_of_first_round + '}');
}

TEST_CASE("the attempt is the one decided") {
    ComposeScene scene;
    scene.died({});
    CHECK(header_of(scene.retried(7), "retryd-attempt") == "l:7");
}

TEST_CASE("a death without a time leaves the first death unsaid") {
    ComposeScene scene;
    scene.arrives_with({{"x-death", scene.headers.array({scene.headers.death_with("time", {})})}});
    CHECK(header_of(scene.retried(), "retryd-first-death") == "(absent)");
    CHECK(header_of(scene.retried(), "retryd-queue") == "S:email");
}

TEST_CASE("a default exchange is said as an empty one") {
    ComposeScene scene;
    scene.died({.exchange = "", .routing_key = "email"});
    CHECK(header_of(scene.retried(), "retryd-exchange") == "S:");
    CHECK(header_of(scene.retried(), "retryd-routing-key") == "S:email");
}

TEST_CASE("a second round keeps the facts of the first and counts on") {
    ComposeScene scene;
    scene.died({.time = 100});
    scene.retried(1);
    scene.dies_again({.reason = "delivery_limit", .time = 200, .exchange = "", .routing_key = "email"});
    CHECK(headers_of(scene.retried(2)) ==
          "{retryd-queue=S:email, retryd-attempt=l:2, retryd-reason=S:delivery_limit, retryd-first-death=T:100, "
          "retryd-exchange=S:shop, retryd-routing-key=S:order.paid}");
}

TEST_CASE("a story carried from another queue is dropped, this death is a first one") {
    ComposeScene scene;
    scene.died({.queue = "sms", .time = 100});
    scene.retried(3);
    scene.dies_again({});
    CHECK(headers_of(scene.retried()) == '{' + ours_of_first_round + '}');
}

TEST_CASE("a scratch that was used before leaves nothing behind in the next message") {
    ComposeScene first;
    first.died({.reason = "expired"}, {{"a", number(1)}, {"b", number(2)}});
    ComposeScene second;
    second.died({});
    ComposeScratch scratch;
    compose_parked(first.message, first.story(), {ParkReason::death_reason, 1}, WallTime{}, scratch);
    const Message composed = compose_retry(second.message, second.story(), {}, scratch);
    CHECK(headers_of(composed) == '{' + ours_of_first_round + '}');
}

}  // namespace retryd::core::compose_retry_test
