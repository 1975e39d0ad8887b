#include "amqp/connection.h"

#include <cstdint>
#include <deque>
#include <string>

#include "amqp/codec.h"
#include "amqp/error.h"
#include "amqp/peer.h"
#include "amqp/recorder.h"
#include "support/catch.h"

namespace retryd::amqp::connection_test {
namespace {

using relay::PublishResult;
using Lines = std::vector<std::string>;

struct Fixture {
    test::Peer peer;
    amqp::Connection connection{peer.take_connection(), "broker"};

    /// Sends one header field of that many bytes.
    PublishResult publish_with_header_of(std::size_t size) {
        const std::string text(size, 't');
        const core::Field field{"", core::Value::of_longstr(text)};
        core::Publication publication{"", "q", {}};
        publication.message.properties.headers = core::Table{&field, 1};
        return connection.publish(1, publication);
    }
};

/// A header frame whose only field has a type that does not exist.
std::string nonsense_header() {
    const std::string table{"\0\0\0\x04\x01k?\0", 8};
    const std::string properties = std::string{"\x20\0", 2} + table;
    const std::string payload = std::string{"\0\x3c\0\0\0\0\0\0\0\0\0\0", 12} + properties;
    const auto size = static_cast<char>(payload.size());
    return std::string{"\x02\0\x01\0\0\0", 6} + size + payload + '\xce';
}

std::string big_endian(std::uint32_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes.push_back(static_cast<char>(number >> shift));
    return bytes;
}

/// A header frame of a message without a body, with a text of that many bytes in its table.
std::string large_header(std::uint32_t size) {
    const std::string field = "\x01kS" + big_endian(size) + std::string(size, 'v');
    const std::string table = big_endian(static_cast<std::uint32_t>(field.size())) + field;
    const std::string payload = std::string{"\0\x3c\0\0\0\0\0\0\0\0\0\0\x20\0", 14} + table;
    return std::string{"\x02\0\x01", 3} + big_endian(static_cast<std::uint32_t>(payload.size())) + payload + '\xce';
}

struct UnreadableFixture {
    UnreadableFixture() {
        events.with_unreadable = [this](core::DeliveryTag tag) {
            wire.send(1, AMQP_BASIC_REJECT_METHOD, amqp_basic_reject_t{tag, 0});
        };
    }

    test::Peer peer;
    amqp::FrameSocket wire{peer.take_connection(), "broker"};
    amqp::Dispatcher dispatcher{wire};
    test::Recorder events;

    void check_settled_and_closed() {
        peer.end();
        try {
            dispatcher.drain(events, 1000);
            FAIL("no error");
        } catch (const amqp::Error& error) {
            CHECK(error.kind() == amqp::Error::Kind::set_aside_unread);
        }
        CHECK(events.lines == Lines{"delivery 1 of 1", "unreadable 2"});
        const auto settled = peer.received();
        REQUIRE(settled);
        REQUIRE(settled->id == AMQP_BASIC_REJECT_METHOD);
        CHECK(settled->as<amqp_basic_reject_t>().delivery_tag == 2);
        const auto closed = peer.received();
        REQUIRE(closed);
        CHECK(closed->id == AMQP_CONNECTION_CLOSE_METHOD);
    }
};

}  // namespace

// ── One connection ─────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("connection: a publication is mandatory and goes where it should") {
    Fixture f;
    CHECK(f.connection.publish(3, {"errors", "key", {{}, ""}}) == PublishResult::sent);
    CHECK(f.connection.flush());
    const auto received = f.peer.received();
    REQUIRE(received);
    CHECK(received->channel == 3);
    REQUIRE(received->id == AMQP_BASIC_PUBLISH_METHOD);
    const auto& publish = received->as<amqp_basic_publish_t>();
    CHECK(amqp::view_of(publish.exchange) == "errors");
    CHECK(amqp::view_of(publish.routing_key) == "key");
    CHECK(publish.mandatory == 1);
    CHECK(publish.immediate == 0);
}

TEST_CASE("connection: headers may fill a frame to the last byte; one more, and nothing at all is sent") {
    Fixture f;
    // frame: 8; class, weight and body size: 12; flags: 2; table: 4; a field without a name: 1 + 1 + 4
    const std::size_t most = f.peer.frame_max() - 8 - 12 - 2 - 4 - 6;
    CHECK(f.publish_with_header_of(most + 1) == PublishResult::header_too_large);
    CHECK(f.connection.flush());
    CHECK(f.peer.received_raw().empty());
    CHECK(f.publish_with_header_of(most) == PublishResult::sent);
    CHECK(f.connection.flush());
    CHECK_FALSE(f.peer.received_raw().empty());
}

TEST_CASE("connection: settling a delivery") {
    Fixture f;
    f.connection.ack(1, 4, true);
    f.connection.nack_requeue(1, 5);
    f.connection.reject(1, 6);
    const auto ack = f.peer.received();
    REQUIRE(ack);
    REQUIRE(ack->id == AMQP_BASIC_ACK_METHOD);
    CHECK(ack->as<amqp_basic_ack_t>().delivery_tag == 4);
    CHECK(ack->as<amqp_basic_ack_t>().multiple == 1);
    const auto nack = f.peer.received();
    REQUIRE(nack);
    REQUIRE(nack->id == AMQP_BASIC_NACK_METHOD);
    CHECK(nack->as<amqp_basic_nack_t>().delivery_tag == 5);
    CHECK(nack->as<amqp_basic_nack_t>().requeue == 1);
    CHECK(nack->as<amqp_basic_nack_t>().multiple == 0);
    const auto reject = f.peer.received();
    REQUIRE(reject);
    REQUIRE(reject->id == AMQP_BASIC_REJECT_METHOD);
    CHECK(reject->as<amqp_basic_reject_t>().delivery_tag == 6);
    CHECK(reject->as<amqp_basic_reject_t>().requeue == 0);
}

TEST_CASE("connection: a queue is declared durable with its arguments, and a check only looks") {
    Fixture f;
    f.connection.declare_queue(2, {"q", {{"x-queue-type", "quorum"}, {"x-message-ttl", std::int64_t{5000}}}, {}});
    f.connection.check_queue(2, "q");
    const auto declared = f.peer.received();
    REQUIRE(declared);
    REQUIRE(declared->id == AMQP_QUEUE_DECLARE_METHOD);
    const auto& declare = declared->as<amqp_queue_declare_t>();
    CHECK(amqp::view_of(declare.queue) == "q");
    CHECK(declare.durable == 1);
    CHECK((declare.passive | declare.exclusive | declare.auto_delete | declare.nowait) == 0);
    REQUIRE(declare.arguments.num_entries == 2);
    const auto& type = declare.arguments.entries[0];
    CHECK(type.value.kind == AMQP_FIELD_KIND_UTF8);
    CHECK(amqp::view_of(type.value.value.bytes) == "quorum");
    const auto& ttl = declare.arguments.entries[1];
    CHECK(amqp::view_of(ttl.key) == "x-message-ttl");
    CHECK(ttl.value.kind == AMQP_FIELD_KIND_I64);
    CHECK(ttl.value.value.i64 == 5000);
    const auto checked = f.peer.received();
    REQUIRE(checked);
    CHECK(checked->as<amqp_queue_declare_t>().passive == 1);
}

TEST_CASE("connection: an exchange is declared durable with type and arguments, and a check only looks") {
    Fixture f;
    f.connection.declare_exchange(2, {"x", "headers", {{"alternate-exchange", "errors"}}});
    f.connection.check_exchange(2, "x");
    const auto declared = f.peer.received();
    REQUIRE(declared);
    REQUIRE(declared->id == AMQP_EXCHANGE_DECLARE_METHOD);
    const auto& declare = declared->as<amqp_exchange_declare_t>();
    CHECK(amqp::view_of(declare.exchange) == "x");
    CHECK(amqp::view_of(declare.type) == "headers");
    CHECK(declare.durable == 1);
    CHECK((declare.passive | declare.internal | declare.auto_delete | declare.nowait) == 0);
    REQUIRE(declare.arguments.num_entries == 1);
    CHECK(amqp::view_of(declare.arguments.entries[0].value.value.bytes) == "errors");
    const auto checked = f.peer.received();
    REQUIRE(checked);
    REQUIRE(checked->id == AMQP_EXCHANGE_DECLARE_METHOD);
    CHECK(checked->as<amqp_exchange_declare_t>().passive == 1);
}

TEST_CASE("connection: a binding has its key and its arguments as text") {
    Fixture f;
    f.connection.bind(2, {"q", "x", "a.#", {{"x-match", "all"}, {"retryd-queue", "q"}}});
    const auto received = f.peer.received();
    REQUIRE(received);
    REQUIRE(received->id == AMQP_QUEUE_BIND_METHOD);
    const auto& bind = received->as<amqp_queue_bind_t>();
    CHECK(amqp::view_of(bind.queue) == "q");
    CHECK(amqp::view_of(bind.exchange) == "x");
    CHECK(amqp::view_of(bind.routing_key) == "a.#");
    REQUIRE(bind.arguments.num_entries == 2);
    const auto& header = bind.arguments.entries[1];
    CHECK(amqp::view_of(header.key) == "retryd-queue");
    CHECK(header.value.kind == AMQP_FIELD_KIND_UTF8);
    CHECK(amqp::view_of(header.value.value.bytes) == "q");
}

TEST_CASE("connection: a queue is deleted whatever it holds only where that is said") {
    Fixture f;
    f.connection.delete_queue(2, "classic", true);
    f.connection.delete_queue(2, "quorum", false);
    f.connection.delete_exchange(2, "x");
    const auto careful = f.peer.received();
    REQUIRE(careful);
    REQUIRE(careful->id == AMQP_QUEUE_DELETE_METHOD);
    CHECK(amqp::view_of(careful->as<amqp_queue_delete_t>().queue) == "classic");
    CHECK(careful->as<amqp_queue_delete_t>().if_unused == 1);
    CHECK(careful->as<amqp_queue_delete_t>().if_empty == 1);
    const auto plain = f.peer.received();
    REQUIRE(plain);
    CHECK((plain->as<amqp_queue_delete_t>().if_unused | plain->as<amqp_queue_delete_t>().if_empty) == 0);
    const auto exchange = f.peer.received();
    REQUIRE(exchange);
    REQUIRE(exchange->id == AMQP_EXCHANGE_DELETE_METHOD);
    CHECK(exchange->as<amqp_exchange_delete_t>().if_unused == 1);
}

TEST_CASE("connection: a close that nobody answers ends when the other side does") {
    Fixture f;
    f.peer.end();
    f.connection.close(core::Milliseconds{1000});
    const auto received = f.peer.received();
    REQUIRE(received);
    CHECK(received->id == AMQP_CONNECTION_CLOSE_METHOD);
}

// ── Deliveries that cannot be read ──────────────────────────────────────────────────────────────────────────────

// What matters is that they are settled, else the broker delivers them again for ever.

TEST_CASE("unreadable: a header that cannot be decoded is settled before the connection is given up") {
    UnreadableFixture f;
    f.peer.deliver(1, 1, "b");
    f.peer.begin_delivery(1, 2);
    f.peer.send_raw(nonsense_header());
    f.check_settled_and_closed();
}

TEST_CASE("unreadable: so is one larger than a frame may be") {
    UnreadableFixture f;
    f.peer.deliver(1, 1, "b");
    f.peer.begin_delivery(1, 2);
    f.peer.send_raw({"\x02\0\x01\x7f\0\0\0\0\x3c\0\0\0\0", 13});
    f.check_settled_and_closed();
}

TEST_CASE("unreadable: a connection that only consumes reads a header larger than a frame may be, and goes on") {
    UnreadableFixture f;
    f.wire.receive_large_frames();
    f.peer.begin_delivery(1, 1);
    f.peer.send_raw(large_header(static_cast<std::uint32_t>(f.peer.frame_max())));
    f.peer.deliver(1, 2, "b");
    f.dispatcher.drain(f.events, 1000);
    CHECK(f.events.lines == Lines{"delivery 1 of 0", "delivery 2 of 1"});
}

TEST_CASE("unreadable: a frame that is no part of a delivery settles nothing") {
    UnreadableFixture f;
    f.peer.send_raw({"\x01\0\x01\0\0\0\x04\0\0\0\0\0", 12});  // a method frame without its end mark
    f.peer.end();
    CHECK_THROWS_AS(f.dispatcher.drain(f.events, 1000), amqp::Error);
    CHECK(f.events.lines.empty());
}

TEST_CASE("unreadable: a header of too many levels is settled, and others go on where rabbitmq-c could decode it") {
    UnreadableFixture f;
    std::deque<core::Field> fields{{"innermost", core::Value::of_long(1)}};
    for (int level = 0; level < 2000; ++level)
        fields.push_back({"in", {core::Kind::table, core::Table{&fields.back(), 1}}});
    core::Properties properties;
    properties.headers = core::Table{&fields.back(), 1};
    f.peer.deliver(1, 1, "b");
    f.peer.deliver(1, 2, "b", properties);
    if (amqp_version_number() >= AMQP_VERSION_CODE(0, 14, 0, 0)) return f.check_settled_and_closed();
    f.peer.deliver(1, 3, "b");
    f.dispatcher.drain(f.events, 1000);
    CHECK(f.events.lines == Lines{"delivery 1 of 1", "unreadable 2", "delivery 3 of 1"});
}

}  // namespace retryd::amqp::connection_test
