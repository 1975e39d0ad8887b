#include "core/compose.h"

#include "core/compose_scene.h"
#include "support/catch.h"

namespace retryd::core::compose_test {
namespace {

using namespace test;

const std::string ours_of_first_round =
    "retryd-queue=S:email, retryd-attempt=l:1, retryd-reason=S:rejected, retryd-first-death=T:1700000000, "
    "retryd-exchange=S:shop, retryd-routing-key=S:order.paid";

const std::string death_of_first_round =
    "x-death=A:[F:{count=l:1, reason=S:rejected, queue=S:email, time=T:1700000000, exchange=S:shop, "
    "routing-keys=A:[S:order.paid]}]";

Properties full_properties() {
    Properties properties;
    properties.content_type = "application/json";
    properties.content_encoding = "gzip";
    properties.priority = std::uint8_t{7};
    properties.correlation_id = "c-1";
    properties.reply_to = "answers";
    properties.message_id = "m-1";
    properties.timestamp = 1'600'000'000;
    properties.type = "amqp-1.0";
    properties.app_id = "shop";
    properties.cluster_id = "";
    return properties;
}

/// Those that retryd never touches.
bool same_untouched(const Properties& a, const Properties& b) {
    return a.content_type == b.content_type && a.content_encoding == b.content_encoding && a.priority == b.priority &&
           a.correlation_id == b.correlation_id && a.reply_to == b.reply_to && a.message_id == b.message_id &&
           a.timestamp == b.timestamp && a.type == b.type && a.app_id == b.app_id && a.cluster_id == b.cluster_id;
}

}  // namespace

// ── Retried ────────────────────────────────────────────────────────────────────────────────────────────────────────

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
    for (const std::string_view name :
         {"retryd-queue", "retryd-attempt", "retryd-reason", "retryd-first-death", "retryd-exchange",
          "retryd-routing-key", "retryd-user-id", "retryd-cc", "retryd-bcc", "retryd-expiration", "retryd-reply-to",
          "retryd-delivery-time", "retryd-deferral-token", "retryd-parked-reason", "retryd-parked-at"})
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
    compose_parked(first.message, first.context(), {ParkReason::death_reason, 1}, WallTime{}, scratch);
    const Message composed = compose_retry(second.message, second.context(), {}, scratch);
    CHECK(headers_of(composed) == '{' + ours_of_first_round + '}');
}

// ── Parked ─────────────────────────────────────────────────────────────────────────────────────────────────────────

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

// ── Properties, and what would send copies, be refused or cut the delay short ──────────────────────────────────────

TEST_CASE("body and properties come back as they were") {
    ComposeScene scene;
    scene.message.properties = full_properties();
    scene.message.body = "body";
    scene.died({});
    for (const Message& composed : {scene.retried(), scene.parked()}) {
        CHECK(composed.body == "body");
        CHECK(composed.body.data() == scene.message.body.data());
        CHECK(same_untouched(composed.properties, full_properties()));
    }
}

TEST_CASE("properties that are absent stay absent") {
    ComposeScene scene;
    scene.died({});
    for (const Message& composed : {scene.retried(), scene.parked()}) {
        CHECK(same_untouched(composed.properties, Properties{}));
        CHECK_FALSE(composed.properties.user_id.has_value());
        CHECK_FALSE(composed.properties.expiration.has_value());
        CHECK(composed.body.empty());
    }
}

TEST_CASE("whatever the delivery mode was, it is persistent now") {
    ComposeScene scene;
    scene.died({});
    for (const auto mode : {std::optional<std::uint8_t>{}, std::optional<std::uint8_t>{std::uint8_t{1}},
                            std::optional<std::uint8_t>{std::uint8_t{2}}}) {
        scene.message.properties.delivery_mode = mode;
        CHECK(scene.retried().properties.delivery_mode == 2);
        CHECK(scene.parked().properties.delivery_mode == 2);
    }
}

TEST_CASE("a foreign user-id is set aside, since the broker would refuse it") {
    ComposeScene scene;
    scene.message.properties.user_id = "alice";
    scene.died({});
    for (const Message& composed : {scene.retried(), scene.parked()})
        CHECK_FALSE(composed.properties.user_id.has_value());
    CHECK(header_of(scene.retried(), "retryd-user-id") == "S:alice");
    CHECK(header_of(scene.parked(), "retryd-user-id") == "S:alice");
}

TEST_CASE("our own user-id stays where it is") {
    ComposeScene scene;
    scene.message.properties.user_id = connection_user;
    scene.died({});
    CHECK(scene.retried().properties.user_id.value_or("(none)") == connection_user);
    CHECK(header_of(scene.retried(), "retryd-user-id") == "(absent)");
}

TEST_CASE("an empty user-id is a foreign one") {
    ComposeScene scene;
    scene.message.properties.user_id = "";
    scene.died({});
    CHECK_FALSE(scene.retried().properties.user_id.has_value());
    CHECK(header_of(scene.retried(), "retryd-user-id") == "S:");
}

TEST_CASE("CC and BCC are set aside as they were, since they would send copies") {
    ComposeScene scene;
    scene.died({}, {{"CC", scene.headers.array({text("audit"), text("copy")})},
                    {"other", number(1)},
                    {"BCC", scene.headers.array({text("spy")})}});
    for (const Message& composed : {scene.retried(), scene.parked()}) {
        CHECK(header_of(composed, "CC") == "(absent)");
        CHECK(header_of(composed, "BCC") == "(absent)");
        CHECK(header_of(composed, "retryd-cc") == "A:[S:audit, S:copy]");
        CHECK(header_of(composed, "retryd-bcc") == "A:[S:spy]");
    }
}

TEST_CASE("an expiration is set aside, since it would cut the delay short") {
    ComposeScene scene;
    scene.message.properties.expiration = "60000";
    scene.died({});
    for (const Message& composed : {scene.retried(), scene.parked()}) {
        CHECK_FALSE(composed.properties.expiration.has_value());
        CHECK(header_of(composed, "retryd-expiration") == "S:60000");
    }
}

TEST_CASE("a reply-to that only its requester may publish with is set aside, since it would be refused") {
    ComposeScene scene;
    scene.message.properties.reply_to = "amq.rabbitmq.reply-to";
    scene.died({});
    for (const Message& composed : {scene.retried(), scene.parked()}) {
        CHECK_FALSE(composed.properties.reply_to.has_value());
        CHECK(header_of(composed, "retryd-reply-to") == "S:amq.rabbitmq.reply-to");
    }
    scene.retried(1);
    scene.message.properties.reply_to.reset();
    scene.dies_again({});
    CHECK(header_of(scene.retried(2), "retryd-reply-to") == "S:amq.rabbitmq.reply-to");
}

TEST_CASE("annotations that would delay or defer the message on its way are set aside, round after round") {
    ComposeScene scene;
    scene.died({}, {{"x-opt-delivery-time", seconds(1'800'000'000)}, {"x-opt-deferral-token", text("later")}});
    for (const Message& composed : {scene.retried(), scene.parked()}) {
        CHECK(header_of(composed, "x-opt-delivery-time") == "(absent)");
        CHECK(header_of(composed, "x-opt-deferral-token") == "(absent)");
        CHECK(header_of(composed, "retryd-delivery-time") == "T:1800000000");
        CHECK(header_of(composed, "retryd-deferral-token") == "S:later");
    }
    scene.retried(1);
    scene.dies_again({});
    CHECK(header_of(scene.retried(2), "retryd-delivery-time") == "T:1800000000");
    CHECK(header_of(scene.retried(2), "retryd-deferral-token") == "S:later");
}

TEST_CASE("every other reply-to stays: also the one that the broker has made of it") {
    for (const char* reply_to : {"amq.rabbitmq.reply-to.g1h2AA5yZXBseUAxMjM", "answers", ""}) {
        ComposeScene scene;
        scene.message.properties.reply_to = reply_to;
        scene.died({});
        CHECK(scene.retried().properties.reply_to == reply_to);
        CHECK(header_of(scene.retried(), "retryd-reply-to") == "(absent)");
    }
}

TEST_CASE("the expiration that the broker took off at the death is known from x-death") {
    ComposeScene scene;
    scene.died({.original_expiration = "60000"});
    CHECK(header_of(scene.retried(), "retryd-expiration") == "S:60000");
    scene.message.properties.expiration = "5";
    CHECK(header_of(scene.retried(), "retryd-expiration") == "S:5");
}

TEST_CASE("what was set aside in the first round is carried through the second") {
    ComposeScene scene;
    scene.message.properties.user_id = "alice";
    scene.died({.original_expiration = "60000"},
               {{"CC", scene.headers.array({text("audit")})}, {"BCC", scene.headers.array({text("spy")})}});
    scene.retried(1);
    scene.dies_again({});
    CHECK(names_of_headers(scene.retried(2)) ==
          "retryd-queue retryd-attempt retryd-reason retryd-first-death retryd-exchange retryd-routing-key "
          "retryd-user-id retryd-cc retryd-bcc retryd-expiration");
    CHECK(header_of(scene.retried(2), "retryd-user-id") == "S:alice");
    CHECK(header_of(scene.retried(2), "retryd-cc") == "A:[S:audit]");
    CHECK(header_of(scene.retried(2), "retryd-bcc") == "A:[S:spy]");
    CHECK(header_of(scene.retried(2), "retryd-expiration") == "S:60000");
}

TEST_CASE("what is set aside now wins over what an earlier round set aside") {
    ComposeScene scene;
    scene.message.properties.user_id = "bob";
    scene.died({.original_expiration = "5"}, {{"retryd-queue", text("email")},
                                              {"retryd-user-id", text("alice")},
                                              {"retryd-cc", scene.headers.array({text("old")})},
                                              {"retryd-bcc", scene.headers.array({text("old")})},
                                              {"retryd-expiration", text("60000")},
                                              {"CC", scene.headers.array({text("new")})},
                                              {"BCC", scene.headers.array({text("newer")})}});
    CHECK(header_of(scene.retried(), "retryd-user-id") == "S:bob");
    CHECK(header_of(scene.retried(), "retryd-cc") == "A:[S:new]");
    CHECK(header_of(scene.retried(), "retryd-bcc") == "A:[S:newer]");
    CHECK(header_of(scene.retried(), "retryd-expiration") == "S:5");
}

// ── On a detour that leads to the catch-all ──────────────────────────────────────────────────────────────────────────

TEST_CASE(
    "what nothing is known of keeps all of its headers on a detour but the broker's, and says that it is parked") {
    ComposeScene scene;
    ComposeScratch scratch;
    const WallTime time{Milliseconds{1'800'000'000'000}};
    const Field fields[] = {{"a", Value::of_longstr("1")},
                            {"x-death", Value::of_longstr("odd")},
                            {"retryd-queue", Value::of_longstr("email")},
                            {"retryd-parked-reason", Value::of_longstr("forged")},
                            {"x-delivery-count", Value::of_long(3)}};
    Message message;
    message.properties.headers = Table{fields, 5};
    const ComposeContext unknown{{}, {}, "retryd"};
    const std::string parked =
        "{a=S:1, retryd-queue=S:email, retryd-parked-reason=S:no-death, "
        "retryd-parked-at=T:1800000000}";
    const Message on_its_way = compose_parked_detour(message, unknown, {ParkReason::no_death, 0}, time, scratch);
    CHECK(headers_of(on_its_way) == parked);
    CHECK(on_its_way.properties.delivery_mode == 2);

    // The broker adds where it has been.
    const Field back[] = {{"a", Value::of_longstr("1")},
                          {"retryd-queue", Value::of_longstr("email")},
                          {"retryd-parked-reason", Value::of_longstr("no-death")},
                          {"retryd-parked-at", Value::of_timestamp(1'800'000'000)},
                          {"x-death", Value::of_longstr("the detour")},
                          {"x-first-death-queue", Value::of_longstr("retryd.detour.2s")}};
    message.properties.headers = Table{back, 6};
    ComposeScratch other;
    CHECK(headers_of(compose_parked_again(message, unknown, false, time, other)) == parked);
    const std::string with_death = headers_of(compose_parked_again(message, unknown, true, time, other));
    CHECK(with_death.find("x-death=S:the detour") != std::string::npos);
}

// ── Held ───────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("a held message is as one on a rung, with the attempts of before, and says since when") {
    ComposeScene scene;
    scene.died({});
    ComposeScratch scratch;
    const ComposeContext context = scene.context();
    const Message held =
        compose_held(scene.message, context, {0}, WallTime{std::chrono::seconds{1'800'000'000}}, scratch);
    CHECK(header_of(held, "retryd-attempt") == "l:0");
    CHECK(header_of(held, "retryd-queue") == "S:email");
    CHECK(header_of(held, "retryd-first-death") == "T:1700000000");
    CHECK(header_of(held, "retryd-held-since") == "T:1800000000");
    CHECK(header_of(held, "x-death") == "(absent)");
}

TEST_CASE("a released message keeps all that it has; its next failure takes off that it was held") {
    ComposeScene scene;
    scene.arrives_with({{"retryd-queue", text("email")},
                        {"retryd-held-since", Value::of_timestamp(1'800'000'000)},
                        {"x-delivery-count", Value::of_long(2)}});
    ComposeScratch scratch;
    CHECK(headers_of(compose_released(scene.message, {{}, {}, connection_user}, scratch)) ==
          "{retryd-queue=S:email, retryd-held-since=T:1800000000}");
    ComposeScene again;
    again.died({}, {{"retryd-queue", text("email")}, {"retryd-held-since", Value::of_timestamp(1'800'000'000)}});
    CHECK(again.context().history.was_held);
    CHECK(header_of(again.retried(), "retryd-held-since") == "(absent)");
}

}  // namespace retryd::core::compose_test
