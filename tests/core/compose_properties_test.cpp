// What happens to the properties, and to what would send copies, be refused or cut the delay short.
#include "core/compose.h"
#include "core/compose_scene.h"
#include "support/catch.h"

namespace retryd::core::compose_properties_test {
namespace {

using namespace test;

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

}  // namespace retryd::core::compose_properties_test
