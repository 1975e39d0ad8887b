
#include <string>

#include "amqp/amqp10/receiver.h"
#include "support/catch.h"

// The little of AMQP 1.0 that retryd speaks.

namespace retryd::amqp::amqp10::encoding_test {

TEST_CASE("AMQP 1.0: what is written is read again") {
    const std::string written =
        list(Code::attach, {text("name"), number(7), boolean(true), boolean(false), byte(3), null(), binary("\x01\x02"),
                            symbol("s"), list(Code::source, {text("/queues/q")})}) +
        "payload";
    std::string_view rest = written;
    const auto attach = take_item(rest);
    REQUIRE(attach);
    CHECK(attach->code == 0x12);
    CHECK(rest == "payload");
    const auto fields = attach->items();
    REQUIRE(fields.size() == 9);
    CHECK(fields[0].text() == "name");
    CHECK(fields[1].number() == 7);
    CHECK(fields[2].is_true());
    CHECK_FALSE(fields[3].is_true());
    CHECK(fields[4].number() == 3);
    CHECK_FALSE(fields[5].text());
    CHECK_FALSE(fields[5].number());
    CHECK(fields[6].text() == "\x01\x02");
    CHECK(fields[7].text() == "s");
    CHECK(fields[8].code == 0x28);
    CHECK(fields[8].items().front().text() == "/queues/q");
}

TEST_CASE("AMQP 1.0: the short forms that brokers write are read, too") {
    const std::string written("\0\x53\x15\xc0\x0a\x05\x41\x43\x52\xff\x44\x56\x01", 14);
    std::string_view rest = written;
    // The size says 10, and nine bytes follow: it makes no sense.
    CHECK_FALSE(take_item(rest));
    const std::string right("\0\x53\x15\xc0\x08\x05\x41\x43\x52\xff\x44\x56\x01", 13);
    rest = right;
    const auto item = take_item(rest);
    REQUIRE(item);
    const auto fields = item->items();
    REQUIRE(fields.size() == 5);
    CHECK(fields[1].number() == 0);
    CHECK(fields[2].number() == 255);
    CHECK(fields[3].number() == 0);
    CHECK(fields[4].is_true());
    const std::string empty("\0\x53\x24\x45", 4);
    rest = empty;
    CHECK(take_item(rest)->items().empty());
}

TEST_CASE("AMQP 1.0: what makes no sense is nothing") {
    for (const std::string& broken :
         {std::string(), std::string("\0", 1), std::string("\0\0\x53\x10\x45", 5), std::string("\x30\x00", 2),
          std::string("\xb1\xff\xff\xff\xff", 5), std::string("\x70\x01", 2), std::string("\0\x53", 2)}) {
        std::string_view rest = broken;
        CAPTURE(broken);
        CHECK_FALSE(take_item(rest));
    }
    // It claims more parts than there are.
    const std::string list_of_many("\xd0\0\0\0\x05\xff\xff\xff\xff\x40", 10);
    std::string_view rest = list_of_many;
    const auto item = take_item(rest);
    REQUIRE(item);
    CHECK(item->items().empty());
}

TEST_CASE("AMQP 1.0: a message tells where it comes from, as far as it does") {
    const std::string message =
        list(Code::message_annotations, {symbol("x-first-death-queue"), text("attackers")}) +
        list(Code::properties, {text("id"), binary("guest"), null(), null(), null(), null(), symbol("text/plain")});
    // Annotations are a map: the constructor of a list in its place is of no use to anybody, but does no harm.
    const Description description = describe(message);
    CHECK(description.queue == "attackers");
    CHECK(description.message_id == "id");
    CHECK(description.user_id == "guest");
    CHECK(description.content_type == "text/plain");
    CHECK(description.exchange.empty());
    CHECK(describe("").message_id.empty());
}

TEST_CASE(
    "AMQP 1.0: deliveries of one message have the same digest, whatever was counted meanwhile, and others do not") {
    const auto map = [](const std::vector<std::string>& items) {
        std::string all = list(Code::message_annotations, items);
        all[all.find('\xd0')] = '\xd1';
        return all;
    };
    const std::string properties = list(Code::properties, {text("id")});
    const auto counted = [&](std::uint32_t deliveries) {
        const std::string header = std::string("\0\x53\x70", 3) + list(Code::source, {number(deliveries)}).substr(3);
        return header + map({symbol("x-delivery-count"), number(deliveries), symbol("x-a"), text("one")}) + properties;
    };
    CHECK(digest(counted(1)) == digest(counted(2)));
    CHECK(digest(counted(1)) != digest(map({symbol("x-a"), text("two")}) + properties));
    CHECK(digest(counted(1)) != digest(counted(1) + "body"));
    CHECK(digest(counted(1)) != digest(map({symbol("x-b"), text("one")}) + properties));
    CHECK(digest(map({symbol("x-a"), text("one")}) + properties) == digest(counted(7)));
    CHECK(digest("") == digest("\x40"));
}

}  // namespace retryd::amqp::amqp10::encoding_test
