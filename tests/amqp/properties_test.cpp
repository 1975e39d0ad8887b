#include <string>

#include "amqp/over_the_wire.h"
#include "amqp/tables.h"
#include "support/catch.h"

namespace retryd::amqp::properties_test {

using core::Properties;

namespace {

const core::Field one_header{"x", core::Value::of_longstr("y")};

Properties full() {
    Properties all;
    all.content_type = "text/plain";
    all.content_encoding = "gzip";
    all.headers = core::Table{&one_header, 1};
    all.delivery_mode = std::uint8_t{2};
    all.priority = std::uint8_t{255};
    all.correlation_id = "correlation";
    all.reply_to = "reply";
    all.expiration = "60000";
    all.message_id = "message";
    all.timestamp = 1'700'000'000;
    all.type = "type";
    all.user_id = "guest";
    all.app_id = "app";
    all.cluster_id = "cluster";
    return all;
}

void check_same(const Properties& left, const Properties& right) {
    CHECK(left.content_type == right.content_type);
    CHECK(left.content_encoding == right.content_encoding);
    REQUIRE(left.headers.has_value() == right.headers.has_value());
    CHECK(core::equal(left.header_table(), right.header_table()));
    CHECK(left.delivery_mode == right.delivery_mode);
    CHECK(left.priority == right.priority);
    CHECK(left.correlation_id == right.correlation_id);
    CHECK(left.reply_to == right.reply_to);
    CHECK(left.expiration == right.expiration);
    CHECK(left.message_id == right.message_id);
    CHECK(left.timestamp == right.timestamp);
    CHECK(left.type == right.type);
    CHECK(left.user_id == right.user_id);
    CHECK(left.app_id == right.app_id);
    CHECK(left.cluster_id == right.cluster_id);
}

void check_survives(const Properties& properties) {
    test::OverTheWire over_the_wire;
    const auto arrived = over_the_wire(properties);
    REQUIRE(arrived);
    check_same(*arrived, properties);
}

}  // namespace

TEST_CASE("properties: all of them survive together") {
    check_survives(full());
}

TEST_CASE("properties: what is absent stays absent") {
    check_survives({});
}

TEST_CASE("properties: what is there but empty or zero stays there") {
    Properties empty;
    empty.content_type = "";
    empty.headers = core::Table{};
    empty.delivery_mode = std::uint8_t{0};
    empty.priority = std::uint8_t{0};
    empty.timestamp = 0;
    empty.cluster_id = "";
    check_survives(empty);
}

TEST_CASE("properties: left out after a message that had them, they do not come back from reused memory") {
    test::OverTheWire over_the_wire;
    REQUIRE(over_the_wire(full()));
    const auto second = over_the_wire(Properties{});
    REQUIRE(second);
    check_same(*second, {});
}

TEST_CASE("properties: what fits to the byte fits, and with one byte less it does not") {
    const std::string text(1000, 't');
    const core::Field field{"name", core::Value::of_longstr(text)};
    Properties properties = full();
    properties.headers = core::Table{&field, 1};
    amqp::Arena arena;
    amqp_basic_properties_t written = amqp::write_properties(properties, arena);
    std::vector<char> room(4096);
    const int size = amqp_encode_properties(AMQP_BASIC_CLASS, &written, {room.size(), room.data()});
    REQUIRE(size > 1000);
    const auto exactly = static_cast<std::size_t>(size);
    CHECK(amqp::fits(written, std::span(room).first(exactly)));
    CHECK_FALSE(amqp::fits(written, std::span(room).first(exactly - 1)));
}

}  // namespace retryd::amqp::properties_test
