#include "core/own_headers.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/compose_scene.h"
#include "core/names.h"
#include "support/catch.h"

// Which headers are retryd's own, and whether retryd wrote them.

namespace retryd::core::own_headers_test {
namespace {

using namespace test;

std::vector<Field> as_retryd_writes_them(Headers& headers) {
    return {{"tenant", text("acme")},
            {"retryd-queue", text("email")},
            {"retryd-attempt", number(2)},
            {"retryd-reason", text("rejected")},
            {"retryd-first-death", seconds(1'700'000'000)},
            {"retryd-exchange", text("shop")},
            {"retryd-routing-key", text("order.paid")},
            {"retryd-user-id", text("alice")},
            {"retryd-cc", headers.array({text("audit"), text("archive")})},
            {"retryd-bcc", headers.array({text("b")})},
            {"retryd-expiration", text("60000")},
            {"retryd-reply-to", text("amq.rabbitmq.reply-to")},
            {"retryd-parked-reason", text("too-old")},
            {"retryd-parked-at", seconds(1'700'000'100)},
            {"retryd-held-since", seconds(1'700'000'050)},
            {"retryd-delivery-time", seconds(1'700'000'200)},
            {"retryd-deferral-token", text("later")}};
}

bool proven(const Table& headers) {
    return OwnHeaders(headers).proven(proof_keys);
}

std::uint64_t digest_of(Headers& headers, std::vector<Field> fields) {
    return OwnHeaders(headers.fields(std::move(fields))).digest(proof_keys.front());
}

}  // namespace

TEST_CASE("own headers: each name is known, and no other one") {
    std::set<OwnHeader> found;
    Headers headers;
    for (const Field& field : as_retryd_writes_them(headers)) {
        if (field.name != "tenant") found.insert(own_header_of(field.name));
    }
    found.insert(own_header_of("retryd-proof"));
    CHECK(found.size() == 17);
    CHECK(found.count(OwnHeader::none) == 0);
    for (const std::string_view other :
         {"", "retryd-", "retryd-replays", "retryd-queux", "Retryd-queue", "retryd-prooF", "retryd-attempts",
          "retryd-user-ie", "retryd-held-sincx", "retryd-reply-tx", "retryd-routing-kex", "retryd-xx",
          "retryd-delivery-timf", "retryd-deferral-tokem"}) {
        CAPTURE(other);
        CHECK(own_header_of(other) == OwnHeader::none);
    }
}

TEST_CASE("own headers: what retryd has written is proven, in any order, whatever else the message carries") {
    Headers headers;
    const Table written = headers.proven(as_retryd_writes_them(headers));
    CHECK(proven(written));
    std::vector<Field> fields(written.begin(), written.end());
    std::sort(fields.begin(), fields.end(), [](const Field& one, const Field& other) { return one.name < other.name; });
    fields.push_back({"x-death", headers.array({headers.death({})})});
    fields.push_back({"retryd-replays", text("anything")});
    CHECK(proven(headers.fields(fields)));
}

TEST_CASE("own headers: a header that is changed, added or taken away leaves no proof") {
    Headers headers;
    const Table written = headers.proven(as_retryd_writes_them(headers));
    for (std::size_t i = 1; i < written.size(); ++i) {
        std::vector<Field> fields(written.begin(), written.end());
        CAPTURE(fields[i].name);
        for (const Value& other : {text("other"), number(3), headers.array({text("audit")})}) {
            fields[i].value = other;
            CHECK_FALSE(proven(headers.fields(fields)));
        }
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK_FALSE(proven(headers.fields(fields)));
    }
    const Table short_one = headers.proven({{"retryd-queue", text("email")}});
    std::vector<Field> more(short_one.begin(), short_one.end());
    more.push_back({"retryd-routing-key", text("order.paid")});
    CHECK_FALSE(proven(headers.fields(more)));
}

TEST_CASE("own headers: of two with one name the first counts, for the proof as for everything else") {
    Headers headers;
    const Table written = headers.proven({{"retryd-queue", text("email")}});
    std::vector<Field> fields(written.begin(), written.end());
    fields.push_back({"retryd-queue", text("victim")});
    CHECK(proven(headers.fields(fields)));
    CHECK(text_of(OwnHeaders(headers.fields(fields))[OwnHeader::queue]) == "email");
    std::rotate(fields.begin(), fields.end() - 1, fields.end());
    CHECK_FALSE(proven(headers.fields(fields)));
}

TEST_CASE("own headers: texts run into one another in no way") {
    Headers headers;
    const auto pair = [&](std::string_view exchange, std::string_view key) {
        return digest_of(headers, {{"retryd-exchange", text(exchange)}, {"retryd-routing-key", text(key)}});
    };
    std::set<std::uint64_t> found{pair("ab", "c"),
                                  pair("a", "bc"),
                                  pair("", "abc"),
                                  pair("abc", ""),
                                  digest_of(headers, {{"retryd-exchange", text("abc")}}),
                                  digest_of(headers, {{"retryd-routing-key", text("abc")}}),
                                  digest_of(headers, {{"retryd-attempt", number(0)}}),
                                  digest_of(headers, {})};
    CHECK(found.size() == 8);
    // Of every length around those of the words that are hashed.
    std::set<std::uint64_t> lengths;
    for (std::size_t length = 0; length < 40; ++length) {
        lengths.insert(digest_of(headers, {{"retryd-queue", text(std::string(length, 'x'))}}));
        std::string other(length + 1, 'x');
        other.front() = 'y';
        lengths.insert(digest_of(headers, {{"retryd-queue", text(other)}}));
    }
    CHECK(lengths.size() == 80);
}

TEST_CASE("own headers: a value of every type is part of the proof") {
    Headers headers;
    std::set<std::uint64_t> found;
    const auto values = headers.one_of_each();
    for (const Value& value : values)
        found.insert(digest_of(headers, {{"retryd-cc", value}}));
    CHECK(found.size() >= values.size() - 9);  // the width of an integer is none of its business
    CHECK(digest_of(headers, {{"retryd-attempt", {Kind::int32, std::int64_t{2}}}}) ==
          digest_of(headers, {{"retryd-attempt", {Kind::uint8, std::uint64_t{2}}}}));
    CHECK(digest_of(headers, {{"retryd-cc", {Kind::float64, 1.5}}}) !=
          digest_of(headers, {{"retryd-cc", {Kind::float64, 2.5}}}));
    CHECK(digest_of(headers, {{"retryd-cc", {Kind::boolean, true}}}) !=
          digest_of(headers, {{"retryd-cc", {Kind::boolean, false}}}));
}

TEST_CASE("own headers: only a proof by one of the keys is one") {
    Headers headers;
    const OwnHeaders written(headers.proven(as_retryd_writes_them(headers)));
    CHECK(written.proven(proof_keys));
    CHECK(written.proven({{1, 2}, proof_keys.front()}));
    CHECK_FALSE(written.proven({{1, 2}}));
    CHECK_FALSE(written.proven({}));
    for (const Value& proof : {text(""), text("0123456789abcdef"), text(std::string(17, '0')), number(1), Value{}}) {
        std::vector<Field> fields{{"retryd-queue", text("email")}, {"retryd-proof", proof}};
        CHECK_FALSE(proven(headers.fields(fields)));
    }
}

// ── Where it is written ────────────────────────────────────────────────────────────────────────────────────────────

namespace {

ComposeContext with_keys(ComposeContext context) {
    context.keys = &proof_keys;
    return context;
}

}  // namespace

TEST_CASE("own headers: what goes to a rung, or is parked, is proven, with claims of its producer left out") {
    ComposeScene scene;
    scene.died({}, {{"retryd-queue", text("email")}, {"retryd-user-id", text("admin")}, {"retryd-proof", text("x")}});
    ComposeContext context = with_keys(scene.context());
    context.history = read_retry_history(scene.message.properties.header_table(), "email", proof_keys);
    ComposeScratch scratch;
    const Message retried = compose_retry(scene.message, context, {1, Milliseconds{5000}}, scratch);
    CHECK(proven(retried.properties.header_table()));
    CHECK(header_of(retried, "retryd-user-id") == "(absent)");
    const RetryHistory history = read_retry_history(retried.properties.header_table(), "email", proof_keys);
    CHECK(history.proven);
    CHECK(history.attempt == 1);
    CHECK(history.routing_key == "order.paid");
    const Message parked =
        compose_parked(scene.message, context, {ParkReason::attempts_exhausted, 2}, WallTime{}, scratch);
    CHECK(proven(parked.properties.header_table()));
}

TEST_CASE("own headers: a fresh copy for the error queue is read there as the message was, in its second round too") {
    ComposeScene scene;
    const Table earlier = scene.headers.proven({{"retryd-queue", text("email")},
                                                {"retryd-attempt", number(2)},
                                                {"retryd-first-death", seconds(1'600'000'000)},
                                                {"retryd-exchange", text("shop")},
                                                {"retryd-routing-key", text("order.first")},
                                                {"retryd-reply-to", text("amq.rabbitmq.reply-to")}});
    scene.died({}, {earlier.begin(), earlier.end()});
    ComposeContext context = with_keys(scene.context());
    context.history = read_retry_history(scene.message.properties.header_table(), "email", proof_keys);
    ComposeScratch scratch;
    const Message renewed = compose_republished(scene.message, context, scratch);
    const Table headers = renewed.properties.header_table();
    const auto death = read_death(headers, "retryd.errors");
    REQUIRE(death);
    const RetryHistory history = read_retry_history(headers, death->queue, proof_keys);
    CHECK(history.proven);
    CHECK(attempt_of(*death, history) == attempt_of(*context.death, context.history));
    CHECK(history.first_death == 1'600'000'000U);
    CHECK(history.routing_key == "order.first");
    CHECK(history.reply_to == "amq.rabbitmq.reply-to");
}

TEST_CASE("own headers: what is held is proven, and still so when it is sent home") {
    ComposeScene scene;
    scene.died({});
    ComposeScratch scratch;
    const WallTime now{std::chrono::seconds{1'800'000'000}};
    const Message held = compose_held(scene.message, with_keys(scene.context()), {2}, now, scratch);
    CHECK(proven(held.properties.header_table()));
    ComposeScratch other;
    ComposeContext context = with_keys({{}, {}, connection_user});
    context.history = read_retry_history(held.properties.header_table(), "email", proof_keys);
    const Message released = compose_released(held, context, other);
    CHECK(proven(released.properties.header_table()));
    const RetryHistory history = read_retry_history(released.properties.header_table(), "email", proof_keys);
    CHECK(history.was_held);
    CHECK(history.attempt == 2);
}

TEST_CASE("own headers: what is sent home without what the broker would refuse is still proven") {
    ComposeScene scene;
    scene.died({});
    ComposeScratch scratch;
    Message held = compose_held(scene.message, with_keys(scene.context()), {2}, WallTime{}, scratch);
    held.properties.user_id = "the user that retryd had";
    held.properties.reply_to = "amq.rabbitmq.reply-to";
    ComposeContext context = with_keys({{}, {}, connection_user});
    context.history = read_retry_history(held.properties.header_table(), "email", proof_keys);
    ComposeScratch other;
    const Message released = compose_released(held, context, other);
    CHECK_FALSE(released.properties.user_id);
    CHECK_FALSE(released.properties.reply_to);
    const RetryHistory history = read_retry_history(released.properties.header_table(), "email", proof_keys);
    CHECK(history.proven);
    CHECK(history.was_held);
    CHECK(history.user_id == "the user that retryd had");
    CHECK(history.reply_to == "amq.rabbitmq.reply-to");
}

TEST_CASE("own headers: what a message of unknown death claims stays as it is, and is not proven") {
    ComposeScene scene;
    scene.arrives_with({{"retryd-queue", text("victim")}, {"retryd-routing-key", text("order.paid")}});
    ComposeScratch scratch;
    const ComposeContext context = with_keys({{}, {}, connection_user});
    const Message parked = compose_parked(scene.message, context, {ParkReason::no_death, 0}, WallTime{}, scratch);
    CHECK(header_of(parked, "retryd-queue") == "S:victim");
    CHECK_FALSE(proven(parked.properties.header_table()));
    const Message again = compose_parked_again(scene.message, context, true, WallTime{}, scratch);
    CHECK_FALSE(proven(again.properties.header_table()));
}

TEST_CASE("own headers: what is proven and parked once more stays proven, with what is added") {
    ComposeScene scene;
    scene.message.properties.headers = scene.headers.proven({{"retryd-queue", text("email")}});
    scene.message.properties.user_id = "stranger";
    ComposeScratch scratch;
    const Message again =
        compose_parked_again(scene.message, with_keys({{}, {}, connection_user}), true, WallTime{}, scratch);
    CHECK(header_of(again, "retryd-user-id") == "S:stranger");
    CHECK(proven(again.properties.header_table()));
    ComposeContext context = with_keys({{}, {}, connection_user});
    context.history = read_retry_history(scene.message.properties.header_table(), "email", proof_keys);
    const Message returned = compose_return(scene.message, context, scratch);
    CHECK(proven(returned.properties.header_table()));
}

}  // namespace retryd::core::own_headers_test
