// Deliveries that cannot be read: what matters is that they are settled, else the broker gives them again for ever.
#include <cstdint>
#include <deque>
#include <string>

#include "amqp/dispatcher.h"
#include "amqp/error.h"
#include "amqp/peer.h"
#include "amqp/recorder.h"
#include "amqp/tables.h"
#include "support/catch.h"

namespace retryd::amqp::unreadable_test {

using Lines = std::vector<std::string>;

namespace {

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

struct Fixture {
    Fixture() {
        events.with_unreadable = [this](core::DeliveryTag tag) {
            wire.send(1, AMQP_BASIC_REJECT_METHOD, amqp_basic_reject_t{tag, 0});
        };
    }

    test::Peer peer;
    amqp::Wire wire{peer.take_state(), "broker"};
    amqp::Dispatcher dispatcher{wire};
    test::Recorder events;

    void check_settled_and_closed() {
        peer.end();
        try {
            dispatcher.drain(events, 1000);
            FAIL("no error");
        } catch (const amqp::Error& error) {
            CHECK(error.kind() == amqp::Error::Kind::protocol);
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

TEST_CASE("unreadable: a header that cannot be decoded is settled before the connection is given up") {
    Fixture f;
    f.peer.deliver(1, 1, "b");
    f.peer.begin_delivery(1, 2);
    f.peer.send_raw(nonsense_header());
    f.check_settled_and_closed();
}

TEST_CASE("unreadable: so is one larger than a frame may be") {
    Fixture f;
    f.peer.deliver(1, 1, "b");
    f.peer.begin_delivery(1, 2);
    f.peer.send_raw({"\x02\0\x01\x7f\0\0\0\0\x3c\0\0\0\0", 13});
    f.check_settled_and_closed();
}

TEST_CASE("unreadable: a connection that only consumes reads a header larger than a frame may be, and goes on") {
    Fixture f;
    f.wire.receive_large_frames();
    f.peer.begin_delivery(1, 1);
    f.peer.send_raw(large_header(static_cast<std::uint32_t>(f.peer.frame_max())));
    f.peer.deliver(1, 2, "b");
    f.dispatcher.drain(f.events, 1000);
    CHECK(f.events.lines == Lines{"delivery 1 of 0", "delivery 2 of 1"});
}

TEST_CASE("unreadable: a frame that is no part of a delivery settles nothing") {
    Fixture f;
    f.peer.send_raw({"\x01\0\x01\0\0\0\x04\0\0\0\0\0", 12});  // a method frame without its end mark
    f.peer.end();
    CHECK_THROWS_AS(f.dispatcher.drain(f.events, 1000), amqp::Error);
    CHECK(f.events.lines.empty());
}

TEST_CASE("unreadable: a header of too many levels is settled, and others go on where rabbitmq-c could decode it") {
    Fixture f;
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

}  // namespace retryd::amqp::unreadable_test
