#include <string>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "amqp/peer.h"
#include "amqp/recorder.h"
#include "support/catch.h"

namespace retryd::amqp::receive_test {

using Lines = std::vector<std::string>;

namespace {

constexpr std::size_t all = 1000;

struct Fixture {
    test::Peer peer;
    amqp::FrameSocket wire{peer.take_connection(), "broker:5672"};
    amqp::Dispatcher dispatcher{wire};
    test::Recorder events;

    bool drain(std::size_t limit = all) { return dispatcher.drain(events, limit); }

    amqp::Error failure() {
        try {
            drain();
        } catch (const amqp::Error& error) {
            return error;
        }
        FAIL("no error");
        throw std::logic_error("unreachable");
    }
};

core::Properties some_properties() {
    static const core::Field field{"x-death", core::Value::of_longstr("why")};
    core::Properties properties;
    properties.message_id = "id";
    properties.headers = core::Table{&field, 1};
    return properties;
}

}  // namespace

TEST_CASE("dispatcher: nothing there is no event") {
    Fixture f;
    CHECK_FALSE(f.drain());
    CHECK(f.events.lines.empty());
}

TEST_CASE("dispatcher: deliveries of no byte, one frame and several frames come whole") {
    Fixture f;
    const std::size_t payload = f.peer.frame_max() - 8;
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, payload, payload + 1, 3 * payload, std::size_t{5}}) {
        CAPTURE(size);
        std::string body(size, 'b');
        if (size > 1) body.back() = 'e';
        bool same = false;
        f.events.with_delivery = [&](const core::Delivery& delivery) {
            const auto& properties = delivery.message.properties;
            same = delivery.message.body == body && properties.message_id == "id" && !properties.content_type &&
                   core::equal(properties.header_table(), some_properties().header_table());
        };
        f.peer.deliver(1, 7, body, some_properties());
        f.events.lines.clear();
        CHECK_FALSE(f.drain());
        CHECK(f.events.lines == Lines{"delivery 7 of " + std::to_string(size)});
        CHECK(same);
    }
}

TEST_CASE("dispatcher: a message that comes piece by piece is handed over with its last piece") {
    Fixture f;
    f.peer.begin_delivery(1, 1, true);
    f.drain();
    f.peer.send_header(1, {}, 4);
    f.drain();
    f.peer.send_body(1, "ab");
    f.drain();
    CHECK(f.events.lines.empty());
    f.peer.send_body(1, "cd");
    f.drain();
    CHECK(f.events.lines == Lines{"delivery 1 again of 4"});
}

TEST_CASE("dispatcher: messages on two channels may interleave") {
    Fixture f;
    f.peer.begin_delivery(1, 1);
    f.peer.begin_delivery(2, 9);
    f.peer.send_header(2, {}, 3);
    f.peer.send_header(1, {}, 2);
    f.peer.send_body(2, "xy");
    f.peer.send_body(1, "ab");
    f.peer.send_body(2, "z");
    f.drain();
    CHECK(f.events.lines == Lines{"delivery 1 of 2", "delivery 9 of 3"});
}

TEST_CASE("dispatcher: it stops at the limit and says so, and goes on where it stopped") {
    Fixture f;
    for (std::uint64_t tag = 1; tag <= 3; ++tag)
        f.peer.deliver(1, tag, "b");
    CHECK(f.drain(2));
    CHECK(f.events.lines == Lines{"delivery 1 of 1", "delivery 2 of 1"});
    CHECK_FALSE(f.drain(2));
    CHECK(f.events.lines.size() == 3);
}

TEST_CASE("dispatcher: with a limit of nothing it reads nothing, but sends a heartbeat when one is due") {
    test::Peer peer;
    amqp::RawConnection connection = peer.take_connection();
    amqp_tune_connection(connection.get(), 0, static_cast<int>(peer.frame_max()), 30);
    amqp::FrameSocket wire(std::move(connection), "broker");
    amqp::Dispatcher dispatcher(wire);
    test::Recorder events;
    peer.deliver(1, 1, "b");
    CHECK(dispatcher.drain(events, 0));
    CHECK(events.lines.empty());
    CHECK(peer.received_raw() == std::string("\x08\0\0\0\0\0\0\xce", 8));
    CHECK(dispatcher.drain(events, 0));
    CHECK(peer.received_raw().empty());
}

TEST_CASE("dispatcher: what a handler sends goes out") {
    Fixture f;
    f.events.with_delivery = [&](const core::Delivery& delivery) {
        f.wire.send(1, AMQP_BASIC_ACK_METHOD, amqp_basic_ack_t{delivery.tag, 0});
    };
    f.peer.deliver(1, 5, "b");
    f.drain();
    const auto received = f.peer.received();
    REQUIRE(received);
    REQUIRE(received->id == AMQP_BASIC_ACK_METHOD);
    CHECK(received->as<amqp_basic_ack_t>().delivery_tag == 5);
}

TEST_CASE("dispatcher: a returned message is told once, and its content is no delivery") {
    Fixture f;
    f.peer.send(1, AMQP_BASIC_RETURN_METHOD,
                amqp_basic_return_t{312, amqp::bytes_of("NO_ROUTE"), amqp::bytes_of(""), amqp::bytes_of("gone")});
    f.peer.send_header(1, {}, 4);
    f.peer.send_body(1, "ab");
    f.peer.send_body(1, "cd");
    f.peer.send(1, AMQP_BASIC_ACK_METHOD, amqp_basic_ack_t{1, 0});
    f.drain();
    CHECK(f.events.lines == Lines{"returned 312 from '' key 'gone'", "ack 1"});
}

TEST_CASE("dispatcher: confirms, both ways and coalesced") {
    Fixture f;
    f.peer.send(1, AMQP_BASIC_ACK_METHOD, amqp_basic_ack_t{3, 1});
    f.peer.send(1, AMQP_BASIC_NACK_METHOD, amqp_basic_nack_t{4, 0, 0});
    f.peer.send(1, AMQP_BASIC_NACK_METHOD, amqp_basic_nack_t{6, 1, 0});
    f.drain();
    CHECK(f.events.lines == Lines{"ack 3 and before", "nack 4", "nack 6 and before"});
}

TEST_CASE("dispatcher: answers to what was asked") {
    Fixture f;
    f.peer.send(1, AMQP_CHANNEL_OPEN_OK_METHOD, amqp_channel_open_ok_t{});
    f.peer.send(1, AMQP_CONFIRM_SELECT_OK_METHOD, amqp_confirm_select_ok_t{});
    f.peer.send(1, AMQP_BASIC_QOS_OK_METHOD, amqp_basic_qos_ok_t{});
    f.peer.send(2, AMQP_EXCHANGE_DECLARE_OK_METHOD, amqp_exchange_declare_ok_t{});
    f.peer.send(2, AMQP_QUEUE_DECLARE_OK_METHOD, amqp_queue_declare_ok_t{amqp::bytes_of("q"), 7, 2});
    f.peer.send(2, AMQP_QUEUE_BIND_OK_METHOD, amqp_queue_bind_ok_t{});
    f.peer.send(2, AMQP_QUEUE_DELETE_OK_METHOD, amqp_queue_delete_ok_t{7});
    f.peer.send(2, AMQP_EXCHANGE_DELETE_OK_METHOD, amqp_exchange_delete_ok_t{});
    f.peer.send(1, AMQP_BASIC_CONSUME_OK_METHOD, amqp_basic_consume_ok_t{});
    f.peer.send(1, AMQP_BASIC_CANCEL_OK_METHOD, amqp_basic_cancel_ok_t{});
    f.drain();
    CHECK(f.events.lines == Lines{"open 1", "declared 2", "declared 2 messages 7 consumers 2", "declared 2",
                                  "declared 2", "declared 2", "consume-ok", "cancel-ok"});
}

TEST_CASE("dispatcher: an alarm and its end") {
    Fixture f;
    f.peer.send(0, AMQP_CONNECTION_BLOCKED_METHOD, amqp_connection_blocked_t{amqp::bytes_of("low on disk")});
    f.peer.send(0, AMQP_CONNECTION_UNBLOCKED_METHOD, amqp_connection_unblocked_t{});
    f.drain();
    CHECK(f.events.lines == Lines{"blocked: low on disk", "unblocked"});
}

TEST_CASE("dispatcher: a consumer cancelled by the broker is answered only where an answer is wanted") {
    Fixture f;
    f.peer.send(1, AMQP_BASIC_CANCEL_METHOD, amqp_basic_cancel_t{amqp::bytes_of("retryd"), 1});
    f.drain();
    CHECK(f.events.lines == Lines{"consumer cancelled"});
    CHECK_FALSE(f.peer.received());
    f.peer.send(1, AMQP_BASIC_CANCEL_METHOD, amqp_basic_cancel_t{amqp::bytes_of("retryd"), 0});
    f.drain();
    const auto received = f.peer.received();
    REQUIRE(received);
    REQUIRE(received->id == AMQP_BASIC_CANCEL_OK_METHOD);
    CHECK(amqp::view_of(received->as<amqp_basic_cancel_ok_t>().consumer_tag) == "retryd");
}

TEST_CASE("dispatcher: a closed channel is answered and told, and what was half there is forgotten") {
    Fixture f;
    f.peer.begin_delivery(1, 1);
    f.peer.send_header(1, {}, 4);
    f.peer.send_body(1, "ab");
    f.peer.send(1, AMQP_CHANNEL_CLOSE_METHOD,
                amqp_channel_close_t{406, amqp::bytes_of("PRECONDITION_FAILED - unknown delivery tag 3"), 60, 80});
    f.drain();
    CHECK(f.events.lines == Lines{"closed 1: 406 PRECONDITION_FAILED - unknown delivery tag 3"});
    const auto received = f.peer.received();
    REQUIRE(received);
    CHECK(received->channel == 1);
    CHECK(received->id == AMQP_CHANNEL_CLOSE_OK_METHOD);

    f.peer.deliver(1, 1, "new");
    f.drain();
    CHECK(f.events.lines.back() == "delivery 1 of 3");
}

TEST_CASE("dispatcher: a closed connection is answered, and the error has the broker's words") {
    Fixture f;
    f.peer.send(0, AMQP_CONNECTION_CLOSE_METHOD,
                amqp_connection_close_t{501, amqp::bytes_of("FRAME_ERROR - too large"), 0, 0});
    const amqp::Error error = f.failure();
    CHECK(error.kind() == amqp::Error::Kind::refused);
    CHECK(std::string{error.what()} == "the broker at broker:5672 closed the connection: 501 FRAME_ERROR - too large");
    const auto received = f.peer.received();
    REQUIRE(received);
    CHECK(received->id == AMQP_CONNECTION_CLOSE_OK_METHOD);
}

TEST_CASE("dispatcher: a broker that shuts down is a lost connection") {
    Fixture f;
    f.peer.send(0, AMQP_CONNECTION_CLOSE_METHOD,
                amqp_connection_close_t{320, amqp::bytes_of("CONNECTION_FORCED - shutdown"), 0, 0});
    CHECK(f.failure().kind() == amqp::Error::Kind::lost);
}

TEST_CASE("dispatcher: a connection that ends without a word is lost") {
    Fixture f;
    f.peer.vanish();
    const amqp::Error error = f.failure();
    CHECK(error.kind() == amqp::Error::Kind::lost);
    CHECK(std::string{error.what()}.find("broker:5672") != std::string::npos);
}

TEST_CASE("dispatcher: the broker's last words are found even when a send is what fails") {
    Fixture f;
    f.peer.send(0, AMQP_CONNECTION_CLOSE_METHOD,
                amqp_connection_close_t{320, amqp::bytes_of("CONNECTION_FORCED - shutdown"), 0, 0});
    f.peer.vanish();
    try {
        f.wire.send(1, AMQP_BASIC_ACK_METHOD, amqp_basic_ack_t{1, 0});
        FAIL("sent");
    } catch (const amqp::Error& error) {
        CHECK(std::string{error.what()}.find("320 CONNECTION_FORCED - shutdown") != std::string::npos);
    }
}

TEST_CASE("dispatcher: frames that do not belong together are an error, not a message") {
    Fixture f;
    SECTION("a body without a delivery") {
        f.peer.send_body(1, "b");
    }
    SECTION("a header without a delivery") {
        f.peer.send_header(1, {}, 1);
    }
    SECTION("a body without a header") {
        f.peer.begin_delivery(1, 1);
        f.peer.send_body(1, "b");
    }
    SECTION("more body than the header says") {
        f.peer.begin_delivery(1, 1);
        f.peer.send_header(1, {}, 1);
        f.peer.send_body(1, "bb");
    }
    SECTION("more body in the second frame than the header says") {
        f.peer.begin_delivery(1, 1);
        f.peer.send_header(1, {}, 3);
        f.peer.send_body(1, "bb");
        f.peer.send_body(1, "bb");
    }
    SECTION("a delivery within a delivery") {
        f.peer.begin_delivery(1, 1);
        f.peer.begin_delivery(1, 2);
    }
    SECTION("a body of a size that nobody has") {
        f.peer.begin_delivery(1, 1);
        f.peer.send_header(1, {}, std::uint64_t{1} << 60);
    }
    CHECK(f.failure().kind() == amqp::Error::Kind::protocol);
    CHECK(f.events.lines.empty());
}

}  // namespace retryd::amqp::receive_test
