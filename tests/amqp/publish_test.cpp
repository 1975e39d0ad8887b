// Publications are gathered and sent together; on a plain socket nothing is read in vain.
#include <string>

#include "amqp/connection.h"
#include "amqp/peer.h"
#include "amqp/recorder.h"
#include "support/catch.h"

namespace retryd::amqp::publish_test {

using relay::PublishResult;

namespace {

struct Fixture {
    PublishResult publish(std::string_view body, const core::Properties& properties = {}) {
        return connection.publish(1, {"errors", "key", {properties, body}});
    }

    PublishResult publish_with_header_of(std::size_t size) {
        const std::string text(size, 't');
        const core::Field field{"", core::Value::of_longstr(text)};
        core::Properties properties;
        properties.headers = core::Table{&field, 1};
        return publish("", properties);
    }

    /// All that has arrived, at least so many bytes of it.
    std::string received(std::size_t at_least = 0) {
        std::string all;
        for (std::string part = peer.received_raw(); !part.empty() || all.size() < at_least; part = peer.received_raw())
            all += part;
        return all;
    }

    test::Peer peer;
    test::Recorder events;
    amqp::Connection connection{peer.take_connection(), "broker", amqp::Socket::plain};
};

/// What rabbitmq-c itself puts on the wire for it.
std::string as_rabbitmq_c_sends(std::string_view body, const core::Properties& properties = {}) {
    test::Peer peer;
    const RawConnection connection = peer.take_connection();
    Arena arena;
    const amqp_basic_properties_t written = write_properties(properties, arena);
    REQUIRE(amqp_basic_publish(connection.get(), 1, bytes_of("errors"), bytes_of("key"), 1, 0, &written,
                               bytes_of(body)) == AMQP_STATUS_OK);
    std::string all;
    for (std::string part = peer.received_raw(); !part.empty(); part = peer.received_raw())
        all += part;
    return all;
}

core::Properties some_properties(const core::Table& headers) {
    core::Properties properties;
    properties.content_type = "text/plain";
    properties.priority = std::uint8_t{3};
    properties.headers = headers;
    return properties;
}

}  // namespace

TEST_CASE("gathering: publications go out together, byte for byte as rabbitmq-c sends them") {
    const core::Field field{"retryd-attempt", core::Value::of_long(2)};
    const core::Properties properties = some_properties({&field, 1});
    Fixture f;
    std::string expected;
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1024}, std::size_t{16 * 1024}}) {
        const std::string body(size, 'b');
        CHECK(f.publish(body, properties) == PublishResult::sent);
        expected += as_rabbitmq_c_sends(body, properties);
    }
    CHECK(f.received().empty());
    CHECK(f.connection.gathered());
    CHECK(f.connection.flush());
    CHECK_FALSE(f.connection.gathered());
    CHECK((f.received() == expected));
}

TEST_CASE("gathering: a large body goes out at once with what was gathered before, in as many frames as it takes") {
    Fixture f;
    const std::size_t largest_fragment = f.peer.frame_max() - 8;
    for (const std::size_t size : {largest_fragment + 100, 2 * largest_fragment, 2 * largest_fragment + 1}) {
        CAPTURE(size);
        const std::string large(size, 'b');
        const std::string expected = as_rabbitmq_c_sends("first") + as_rabbitmq_c_sends(large);
        f.publish("first");
        f.publish(large);
        CHECK_FALSE(f.connection.gathered());
        CHECK((f.received() == expected));
    }
}

TEST_CASE("gathering: before a method, and with every drain, what is gathered goes out") {
    Fixture f;
    f.publish("first");
    f.connection.ack(1, 7, true);
    const std::string with_ack = f.received();
    CHECK(with_ack.starts_with(as_rabbitmq_c_sends("first")));
    CHECK(with_ack.size() > as_rabbitmq_c_sends("first").size());
    f.publish("second");
    CHECK(f.received().empty());
    f.connection.drain(f.events, 1);
    CHECK(f.received() == as_rabbitmq_c_sends("second"));
}

TEST_CASE("gathering: what is gathered when the broker closes the channel goes out before the answer to that") {
    constexpr std::size_t close_ok = 12;
    Fixture f;
    f.events.with_delivery = [&](const core::Delivery&) { f.publish("late"); };
    f.peer.deliver(1, 1, "b");
    f.peer.send(1, AMQP_CHANNEL_CLOSE_METHOD, amqp_channel_close_t{404, amqp::bytes_of("gone"), 60, 40});
    f.connection.drain(f.events, 10);
    CHECK(f.events.lines.back() == "closed 1: 404 gone");
    CHECK_FALSE(f.connection.gathered());
    const std::string late = as_rabbitmq_c_sends("late");
    const std::string all = f.received();
    CHECK(all.starts_with(late));
    CHECK(all.size() == late.size() + close_ok);
}

TEST_CASE("gathering: headers may fill a frame to the last byte; with one more nothing is added to what is gathered") {
    Fixture f;
    // frame: 8; class, weight and body size: 12; flags: 2; table: 4; a field without a name: 1 + 1 + 4
    const std::size_t most = f.peer.frame_max() - 8 - 12 - 2 - 4 - 6;
    f.publish("before");
    CHECK(f.publish_with_header_of(most + 1) == PublishResult::header_too_large);
    f.connection.flush();
    CHECK(f.received() == as_rabbitmq_c_sends("before"));
    CHECK(f.publish_with_header_of(most) == PublishResult::sent);
    f.connection.flush();
    CHECK(f.received().size() > most);
}

TEST_CASE("gathering: a full socket takes no more, and goes on when there is room: nothing is lost or sent twice") {
    Fixture f;
    const std::string body(1024, 'b');
    std::size_t sent = 0;
    while (f.publish(body) == PublishResult::sent)
        ++sent;
    CHECK_FALSE(f.connection.flush());
    CHECK(f.connection.gathered());
    std::string all = f.received();
    CHECK(f.publish("last") == PublishResult::sent);
    CHECK(f.connection.flush());
    all += f.received();
    CHECK(all.size() == sent * as_rabbitmq_c_sends(body).size() + as_rabbitmq_c_sends("last").size());
    CHECK(all.ends_with(as_rabbitmq_c_sends("last")));
}

TEST_CASE("gathering: a connection that is gone is noticed when what is gathered is sent") {
    Fixture f;
    f.peer.vanish();
    CHECK(f.publish("body") == PublishResult::sent);
    CHECK_THROWS_AS(f.connection.flush(), amqp::Error);
}

TEST_CASE("connection: on a plain socket one drain reads what is there, and leaves what comes meanwhile to the next") {
    Fixture f;
    f.events.with_delivery = [&](const core::Delivery& delivery) {
        if (delivery.tag == 1) f.peer.deliver(1, 2, "second");
    };
    f.peer.deliver(1, 1, "first");
    CHECK_FALSE(f.connection.drain(f.events, 10));
    CHECK(f.events.lines.size() == 1);
    CHECK_FALSE(f.connection.drain(f.events, 10));
    CHECK(f.events.lines.size() == 2);
}

TEST_CASE("connection: on a plain socket a drain that stops at its limit says whether there is more") {
    Fixture f;
    for (std::uint64_t tag = 1; tag <= 2; ++tag)
        f.peer.deliver(1, tag, "b");
    CHECK(f.connection.drain(f.events, 1));
    CHECK_FALSE(f.connection.drain(f.events, 1));
    CHECK(f.events.lines.size() == 2);
}

}  // namespace retryd::amqp::publish_test
